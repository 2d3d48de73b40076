"""The deletion of a person's memories in one transaction, which also stops running cycles and jobs."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from daemon.core.value import Value
from daemon.core.words import words_of
from daemon.memory.bound_threads import unbind_all
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import end_emptied, posts_waiting
from daemon.memory.knowledge.forgetting import forget_guesses_made_in, forget_heard
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.people.known import NAMES_OF_PERSON, PRIVATE, TAKES_PART
from daemon.memory.people.repeated import NO_REPEATS, Repeats, erase_repeats, repeats_since
from daemon.memory.people.taken_back import empty_thoughts_of_person
from daemon.memory.records import Speaks
from daemon.memory.retrieval.sources import Order, enqueue
from daemon.memory.row_conditions import THEIR_DMS
from daemon.memory.tables import BY_NAME, TABLES
from daemon.memory.thought_parts import WITHOUT_FREE_WORDS

_WHY: Final = "its person asked to be forgotten"
_ALL_TURNS: Final = -1  # a turn number before all turns
_AT_ONCE: Final = 500  # turns in one statement


class Spared(Value):
    """The conversation and the inbox row in which the person waits for the confirmation, or ''."""

    conversation: str = ""
    message: str = ""


class Erased(Value):
    """The counts of deleted rows by table, and the ids of deleted turns and records."""

    stores: Mapping[str, int]
    gone: tuple[str, ...]


async def turns_of(transaction: Transaction, workspace: str, person: str) -> list[int]:
    """Return the numbers of the turns to delete: the person's and their sessions', the replies, and all their DMs."""
    rows = await transaction.rows(
        f"""
        WITH theirs AS MATERIALIZED (
          SELECT t.seq, t.conversation, t.trace_id FROM turns t CROSS JOIN conversations c ON c.id = t.conversation
          WHERE t.author IN ({NAMES_OF_PERSON}) AND t.speaker <> 'soul' AND c.workspace = :workspace)
        SELECT seq FROM theirs
        UNION SELECT t.seq FROM (SELECT DISTINCT conversation, trace_id FROM theirs) s
          CROSS JOIN turns t ON t.trace_id = s.trace_id AND t.speaker = 'soul' AND t.conversation = s.conversation
        UNION SELECT t.seq FROM shared_messages m CROSS JOIN inbox i ON i.id = m.inbox
          CROSS JOIN turns t ON t.conversation = m.heard_in AND t.ts = i.ts AND t.speaker = 'soul'
          WHERE m.behalf = :person AND m.behalf <> '' AND m.workspace = :workspace
        UNION SELECT t.seq FROM ({PRIVATE}) p CROSS JOIN turns t ON t.conversation = p.id
        ORDER BY seq
        """,  # noqa: S608 - constants of this module
        person=person,
        workspace=workspace,
    )
    return [row["seq"] for row in rows]


async def erase(  # noqa: PLR0917 - one of each
    transaction: Transaction,
    workspace: str,
    person: str,
    spared: Spared,
    now: int,
    said_ms: int,
    repeats: Repeats = NO_REPEATS,
) -> Erased:
    """Delete a person's memories.

    Words of others stay. What was made of several people's words is emptied and made again. Waiting messages of the
    person sent after `said_ms` (Slack's clock) are handled as those of a new user.
    """
    who, waiting = {"person": person, "workspace": workspace}, await posts_waiting(transaction, workspace)
    names = [row[0] for row in await transaction.rows(NAMES_OF_PERSON, person=person)]  # read before the keys go
    private = [row["id"] for row in await transaction.rows(PRIVATE, **who)]
    theirs, repeated = await turns_of(transaction, workspace, person), repeats.turns
    repeated |= await repeats_since(transaction, workspace, repeats)
    found = await _among(transaction, "SELECT conversation AS id FROM turns WHERE seq IN", sorted(repeated))
    found += await transaction.rows(TAKES_PART, **who)
    shared = list({row["id"] for row in found} - set(private))
    seqs, stores = sorted({*theirs, *repeated}), Counter[str]()
    waits = await transaction.one("SELECT forgotten FROM conversations WHERE id = :id", id=spared.conversation)
    every = {**who, "names": json.dumps(names), "private": json.dumps(private), "shared": json.dumps(shared)}
    gone = await _forget_records(transaction, every, seqs, stores, now)
    stores["turns"] = len(seqs)
    for start in range(0, len(seqs), _AT_ONCE):
        await delete_these(transaction, seqs[start : start + _AT_ONCE], now, _WHY)
    await _close_conversations(transaction, private, shared, stores, now)
    await _forget_guesses(transaction, workspace, [*private, *shared], now)
    await erase_repeats(transaction, shared, repeats, now)
    await unbind_all(transaction, workspace, person, now)
    for table in TABLES:
        for statement in table.erasure():
            changed = await transaction.rows(
                f"{statement} RETURNING 1", spared=spared.message, said=said_ms, now=now, **every
            )
            stores[table.name] += len(changed)
    await end_emptied(transaction, waiting, now)
    await _fence(transaction, workspace, now)
    if waits is not None:  # its cycle is the one that waits for the outcome
        await transaction.run(
            "UPDATE conversations SET forgotten = :before WHERE id = :id",
            before=waits["forgotten"],
            id=spared.conversation,
        )
    await enqueue(transaction, [Order.RENEW])
    return Erased({name: number for name, number in stores.items() if number}, tuple(gone))


async def _forget_records(
    transaction: Transaction,
    who: Mapping[str, str],
    seqs: Sequence[int],
    stores: Counter[str],
    now: int,
) -> list[str]:
    """Forget records and claims about the person, their own claims, and all that was made of their turns alone."""
    records = {row["id"] for row in await transaction.rows(_RECORDS, **who)} | await _claims_naming(transaction, who)
    turns = [
        turn_id(Speaks(row["speaker"]), row["seq"])
        for row in await _among(transaction, "SELECT seq, speaker FROM turns WHERE seq IN", seqs)
    ]
    await empty_thoughts_of_person(transaction, who["workspace"], who["person"], turns)
    linked = {row["target"] for row in await _among(transaction, "SELECT target FROM links WHERE target IN", turns)}
    gone = await forget(transaction, [*records, *linked], now, _WHY)
    stores["records"] = len(gone)
    return [*turns, *gone]


async def _forget_guesses(transaction: Transaction, workspace: str, conversations: Sequence[str], now: int) -> None:
    audiences = dict[str, list[str]]()
    for row in await _among(transaction, "SELECT id, audience FROM conversations WHERE id IN", conversations):
        audiences.setdefault(row["audience"], []).append(row["id"])
    for audience, among in audiences.items():
        await forget_guesses_made_in(transaction, workspace, audience, among, now)


async def _close_conversations(
    transaction: Transaction,
    private: Sequence[str],
    shared: Sequence[str],
    stores: Counter[str],
    now: int,
) -> None:
    """Empty the summaries, thoughts and states of the conversations. The person's DMs restart as new ones."""
    for conversation in (*private, *shared):
        await forget_summary(transaction, conversation, _ALL_TURNS)
        await forget_heard(transaction, conversation, _ALL_TURNS, now)
        await transaction.run(
            f"UPDATE turns SET thought = {WITHOUT_FREE_WORDS} "  # noqa: S608 - a constant
            "WHERE conversation = :id AND speaker = 'soul' AND thought <> '{}'",
            id=conversation,
        )
    stores["summaries and thoughts"] = len(private) + len(shared)
    for conversation in private:
        await transaction.run(
            """
            UPDATE conversations SET process = 'engaged', previous = '', invocations = 0, params = '{}',
                   visit = 0, exchanges = 0, spoken_ms = 0, outsider_spoke = outsider_spoke WHERE id = :id
            """,
            id=conversation,
        )


async def _fence(transaction: Transaction, workspace: str, now: int) -> None:
    """Stop running cycles and jobs from committing anything they may have read. Each restarts."""
    await transaction.run(
        """
        UPDATE conversations SET forgotten = forgotten + 1
        WHERE workspace = :workspace AND lease_owner <> ''
        """,
        workspace=workspace,
    )
    running = await transaction.rows(
        """
        SELECT DISTINCT j.conversation, c.audience, c.soul FROM jobs j JOIN conversations c ON c.id = j.conversation
        WHERE j.workspace = :workspace AND j.state IN ('ready', 'running') AND j.state = 'running'
        """,
        workspace=workspace,
    )
    for row in running:
        await transaction.run(
            """
            UPDATE user_models SET version = version + 1, updated_ms = :now
            WHERE workspace = :workspace AND soul = :soul AND audience = :audience
            """,
            workspace=workspace,
            soul=row["soul"],
            audience=row["audience"],
            now=now,
        )
        await forget_summary(transaction, row["conversation"], _ALL_TURNS)
        await forget_heard(transaction, row["conversation"], _ALL_TURNS, now)


async def _among(transaction: Transaction, statement: str, keys: Sequence[object]) -> list[sqlite3.Row]:
    return await transaction.rows(f"{statement} (SELECT value FROM json_each(:keys))", keys=json.dumps(list(keys)))  # noqa: S608 - literals


async def _claims_naming(transaction: Transaction, who: Mapping[str, str]) -> set[str]:
    """Return the ids of claims whose subject, or else line, has a name of only this person."""
    names, others = set[str](), set[str]()
    for row in await transaction.rows(_CALLED, workspace=who["workspace"]):
        (names if row["person"] == who["person"] else others).update(words_of(row["name"]))
    names -= others
    rows = await transaction.rows(_CLAIMS, workspace=who["workspace"]) if names else ()
    return {row["id"] for row in rows if not names.isdisjoint(words_of(row["subject"] or row["text"]))}


_RECORDS: Final = f"""
    SELECT id FROM records WHERE {BY_NAME["records"].owned} OR conversation IN {THEIR_DMS}
    UNION SELECT id FROM facts WHERE {BY_NAME["facts"].owned}
    """  # noqa: S608 - constants
_CALLED: Final = "SELECT person, name FROM user_models WHERE workspace = :workspace AND name <> ''"
_CLAIMS: Final = """
    SELECT r.id, r.text, CASE WHEN f.subject IN (f.claimed_by, r.soul) THEN '' ELSE f.subject END AS subject
    FROM records r JOIN facts f ON f.id = r.id
    WHERE r.person = '' AND r.kind = 'fact' AND r.workspace = :workspace AND r.trust = 'claim'
    """
