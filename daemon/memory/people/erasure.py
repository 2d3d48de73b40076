"""The deletion of a person's memories in one transaction, which also stops running cycles and jobs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.emptied_posts import end_emptied, posts_waiting
from daemon.memory.goals_in_force import OWED, WITHOUT_WORDS
from daemon.memory.knowledge.forgetting import forget_guesses_made_in, forget_heard
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.turns import forget_summary
from daemon.memory.people.known import NAMES_OF_PERSON, PRIVATE, TAKES_PART
from daemon.memory.people.readings import forget_readings
from daemon.memory.people.redacted_contexts import redact_contexts
from daemon.memory.people.repeated import EMPTIED, NO_REPEATS, Repeats, conversations_of, erase_repeats, repeats_since
from daemon.memory.people.retention import ITS_PARTS, claims_naming, forget_asked
from daemon.memory.people.taken_back import empty_thoughts_of_person
from daemon.memory.records import Speaks
from daemon.memory.retrieval.sources import Order, enqueue
from daemon.memory.spending.costs import forget_payer
from daemon.memory.thought_parts import WITHOUT_FREE_WORDS

K = TypeVar("K", int, str)
_WHY: Final = "its person asked to be forgotten"
_ALL_TURNS: Final = -1  # a turn number before all turns
_MANY: Final = 500  # keys in one statement


@dataclass(frozen=True, slots=True)
class Spared:
    """The conversation and the inbox row in which the person waits for the confirmation, or ''."""

    conversation: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Erased:
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
    private = [row["id"] for row in await transaction.rows(PRIVATE, **who)]
    shared = [row["id"] for row in await transaction.rows(TAKES_PART, **who)]
    theirs, repeated = await turns_of(transaction, workspace, person), repeats.turns
    repeated |= await repeats_since(transaction, workspace, repeats)
    shared = [one for one in {*shared, *await conversations_of(transaction, repeated)} if one not in private]
    seqs, stores = sorted({*theirs, *repeated}), Counter[str]()
    waits = await transaction.one("SELECT forgotten FROM conversations WHERE id = :id", id=spared.conversation)
    gone = await _forget_records(transaction, who, private, seqs, stores, now)
    stores["turns"] = len(seqs)
    for part in _sliced(seqs):
        await delete_these(transaction, part, now, _WHY)
    await _close_conversations(transaction, private, shared, stores, now)
    await _forget_guesses(transaction, workspace, [*private, *shared], now)
    await erase_repeats(transaction, shared, repeats, now)
    await redact_contexts(transaction, repeats, now)
    await forget_asked(transaction, workspace, person, now)
    names = [row[0] for row in await transaction.rows(NAMES_OF_PERSON, person=person)]  # read before the keys go
    for name in names:
        for table, statement in _DELETED:
            stores[table] += len(await transaction.rows(f"{statement} RETURNING 1", person=name, workspace=workspace))
        await forget_payer(transaction, workspace, name)
    stores["word_readings"] += await forget_readings(transaction, workspace, person)
    also = {"spared": spared.message, "said": said_ms, "now": now, "workspace": workspace}
    for name in names:
        for table, statement in _BLANKED:
            stores[table] += len(await transaction.rows(f"{statement} RETURNING 1", person=name, **also))
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


async def _forget_records(  # noqa: PLR0917 - one of each
    transaction: Transaction,
    who: Mapping[str, str],
    private: Sequence[str],
    seqs: Sequence[int],
    stores: Counter[str],
    now: int,
) -> list[str]:
    """Forget records and claims about the person, their own claims, and all that was made of their turns alone."""
    records = {row["id"] for row in await transaction.rows(_RECORDS, **who)}
    records |= await claims_naming(transaction, **who)
    for conversation in private:
        found = await transaction.rows("SELECT id FROM records WHERE conversation = :id", id=conversation)
        records |= {row["id"] for row in found}
    turns = [
        turn_id(Speaks(row["speaker"]), row["seq"])
        for part in _sliced(seqs)
        for row in await _among(transaction, "SELECT seq, speaker FROM turns WHERE seq IN (%s)", part)
    ]
    await empty_thoughts_of_person(transaction, **who, turns=turns)
    linked = {
        row["target"]
        for part in _sliced(turns)
        for row in await _among(transaction, "SELECT DISTINCT target FROM links WHERE target IN (%s)", part)
    }
    gone = await forget(transaction, [*records, *linked], now, _WHY)
    stores["records"] = len(gone)
    return [*turns, *gone]


async def _forget_guesses(transaction: Transaction, workspace: str, conversations: Sequence[str], now: int) -> None:
    audiences = dict[str, list[str]]()
    for part in _sliced(conversations):
        for row in await _among(transaction, "SELECT id, audience FROM conversations WHERE id IN (%s)", part):
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
        for statement in _OF_PRIVATE:
            await transaction.run(statement, id=conversation)


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
    named = {f"key{number}": key for number, key in enumerate(keys)}
    return await transaction.rows(statement % ", ".join(f":{name}" for name in named), **named)


def _sliced(keys: Sequence[K]) -> Iterable[Sequence[K]]:
    return (keys[start : start + _MANY] for start in range(0, len(keys), _MANY))


_RECORDS: Final = """
    SELECT r.id FROM records r LEFT JOIN facts f ON f.id = r.id
    WHERE r.workspace = :workspace AND (r.person = :person OR f.claimed_by = :person OR f.subject = :person)
    """

_KEPT_THERE: Final = (
    *("working_memory", "mind_documents", "conversation_topics", "transitions", "approvals", "intentions", "readings"),
    "goals",
)
_OF_PRIVATE: Final = (
    *(f"DELETE FROM {table} WHERE conversation = :id" for table in _KEPT_THERE),  # noqa: S608 - literals
    """
    DELETE FROM consolidations WHERE (soul, workspace, audience) IN
      (SELECT soul, workspace, audience FROM conversations WHERE id = :id)
    """,
    """
    DELETE FROM soul_state WHERE (soul, workspace, audience) IN
      (SELECT soul, workspace, audience FROM conversations WHERE id = :id)
    """,
    """
    UPDATE outbox SET body = '', cleared = 1, recipient = ''
    WHERE conversation = :id AND state NOT IN ('pending', 'sending')
    """,
)

_SAID_SINCE: Final = """
    {0}state IN ('new', 'claimed') AND {0}modality = 'words' AND CAST(CAST({0}ts AS REAL) * 1000 AS INTEGER) > :said
    """  # a message that waits and was sent after the one that asked

OF_THIS_WORKSPACE: Final = """
    person = :person AND person <> ''
    AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.person = keys.person AND s.key = keys.id
                      AND s.workspace <> :workspace)
    AND NOT EXISTS (SELECT 1 FROM turns t CROSS JOIN conversations c ON c.id = t.conversation
                    WHERE t.author = 'session.' || keys.id AND t.speaker = 'session' AND c.workspace <> :workspace)
    AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.author = 'session.' || keys.id AND i.workspace <> :workspace)
    """
"""A condition in SQL on rows of `keys`: a person's key that no other workspace of the file uses.

A key used elsewhere is deleted when the person is forgotten there, too.
"""

# An unreadable value that names the person is emptied as a whole: it must not stop the rest.
_DELETED: Final = (
    # Their keys go first: a later hook with one is refused, and creates no session.
    ("keys", f"DELETE FROM keys WHERE {OF_THIS_WORKSPACE}"),  # noqa: S608 - a constant of this module
    ("sessions", "DELETE FROM sessions WHERE person = :person AND workspace = :workspace"),
    (
        "looked_through",
        """
        DELETE FROM looked_through WHERE person = :person
          AND conversation IN (SELECT id FROM conversations WHERE workspace = :workspace)
        """,
    ),
    ("readings", "DELETE FROM readings WHERE instr(words, :person) > 0 AND workspace = :workspace"),
    (  # the promise was made to another person
        "goals",
        f"""
        UPDATE goals SET {WITHOUT_WORDS}
        WHERE instr(goal, :person) > 0 AND workspace = :workspace AND behalf <> :person AND {OWED}
        """,  # noqa: S608 - constants
    ),
    ("goals", "DELETE FROM goals WHERE instr(goal, :person) > 0 AND workspace = :workspace"),
    ("goals", "UPDATE goals SET why = '', changed_by = '' WHERE instr(why, :person) > 0 AND workspace = :workspace"),
    *(
        (table, f"DELETE FROM {table} WHERE {column} = :person AND workspace = :workspace")  # noqa: S608 - literals
        for column, tables in (
            ("behalf", ("goals", "intentions")),
            ("who", ("invitations",)),
            ("person", ("pairings", "wrong_codes", "user_models")),
            ("person", ("user_model_history", "person_zones", "room_ways")),
            ("person", ("room_members", "room_lists", "remembering", "shown_facts", "mind_documents", "initiatives")),
        )
        for table in tables
    ),
    (
        "approvals",
        """
        DELETE FROM approvals WHERE workspace = :workspace
          AND CASE WHEN json_valid(asked) THEN EXISTS (SELECT 1 FROM json_each(approvals.asked) WHERE value = :person)
                   ELSE instr(asked, :person) > 0 END
        """,
    ),
    (
        "feedback",
        """
        DELETE FROM feedback WHERE author = :person
          AND outbox IN (SELECT id FROM outbox WHERE workspace = :workspace)
        """,
    ),
    (
        "shared_messages",
        "DELETE FROM shared_messages WHERE behalf = :person AND behalf <> '' AND workspace = :workspace",
    ),
    (
        "transitions",
        f"""
        DELETE FROM transitions WHERE conversation IN ({TAKES_PART})
          AND trace_id NOT IN (SELECT trace_id FROM turns)
        """,  # noqa: S608 - a constant of this module
    ),
)

# Rows that stay without their words, so messages aren't taken in or sent twice. Files of messages that became
# no turn go, while the rows of these messages still name their author.
_BLANKED: Final = (
    (
        "shared_files",
        f"""
        DELETE FROM shared_files WHERE :now = :now AND seq IN (
          SELECT s.seq FROM inbox i CROSS JOIN shared_files s ON s.conversation = i.conversation AND s.ts = i.ts
          WHERE i.workspace = :workspace AND i.id <> :spared
            AND (i.author = :person OR i.conversation IN ({PRIVATE})) AND NOT ({_SAID_SINCE.format("i.")}))
        """,  # noqa: S608 - constants of this module
    ),
    (
        "outbox",
        f"""
        UPDATE outbox SET recipient = '', reason = '', {EMPTIED}
        WHERE workspace = :workspace AND :spared = :spared AND :said = :said
          AND (recipient = :person OR id IN ({ITS_PARTS} i.author = :person AND i.workspace = :workspace))
        """,  # noqa: S608 - a constant of this package
    ),
    (
        "inbox",
        f"""
        UPDATE inbox SET body = '', envelope = '{{}}', params = '{{}}', cleared = 1, aside = 0, name = '', author = '',
          message_id = '', revision = revision + 1, reason = 'its author asked to be forgotten',
          settled_ms = coalesce(settled_ms, :now),
          state = CASE WHEN state IN ('new', 'claimed', 'ignored') THEN 'withdrawn' ELSE state END
        WHERE workspace = :workspace AND id <> :spared AND (author = :person OR conversation IN ({PRIVATE}))
          AND NOT ({_SAID_SINCE.format("")})
        """,  # noqa: S608 - a constant of this module
    ),
)
