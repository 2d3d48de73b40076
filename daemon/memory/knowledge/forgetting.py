"""Forgets what derives from edited or deleted messages, and narrows the audience of a channel that became private."""

import json
from collections.abc import Callable, Collection, Mapping

from daemon.core.lineage import model_id, question_id
from daemon.core.notes import SOUL_CHANNEL
from daemon.core.perception import Audience, ConversationKey, Origin, common
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.learning import store_version
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import DERIVING, common_of, links_from, links_to, turn_id
from daemon.memory.knowledge.records.store import UnreadableRecord, change, get_any
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.knowledge.turns import THOUGHT_TURNS, handed_among
from daemon.memory.knowledge.user_models import MODEL_KEY
from daemon.memory.records import Speaks
from daemon.memory.stream.emptying import empty_thoughts_on, empty_thoughts_since, narrow_thoughts
from daemon.memory.thought_parts import WITHOUT_FREE_WORDS


async def forget_derived(
    transaction: Transaction, conversation: str, person: str, seq: int, now: int, *, reworded: bool = False
) -> None:
    """Delete everything that may derive from turn `seq`, which `person` has just deleted or reworded.

    This covers the records that rest on its words and later guesses about the person. It covers the soul's topic, task,
    question and later thoughts, and the memory of its mental process. A revision under way fails. The soul may learn
    the same again from the remaining turns.
    """
    rows = await transaction.rows(
        """
        UPDATE user_models SET version = version + 1, updated_ms = :now
        WHERE person = :person AND (soul, workspace) IN (SELECT soul, workspace FROM conversations WHERE id = :id)
        RETURNING *
        """,
        id=conversation,
        person=person,
        now=now,
    )
    before = [await _lines(transaction, row) for row in rows]
    reason = "its words were edited or deleted"
    await forget(transaction, [turn_id(Speaks.PERSON, seq)], now, reason, reworded=reworded)
    for row, facts in zip(rows, before, strict=True):
        lost = facts - await _lines(transaction, row)
        await _forget_tainted(
            transaction, row, lambda change: _derives_from(change, conversation, seq), lost=lost, now=now
        )
    await forget_heard(transaction, conversation, seq, now)


async def forget_guesses_made_in(
    transaction: Transaction, workspace: str, audience: str, conversations: Collection[str], now: int
) -> None:
    """Delete guesses about users for an audience that may derive from these conversations, or have no known origin.

    A revision under way for that audience fails, because it may have read them.
    """
    rows = await transaction.rows(
        """
        UPDATE user_models SET version = version + 1, updated_ms = :now
        WHERE workspace = :workspace AND audience = :audience RETURNING *
        """,
        workspace=workspace,
        audience=audience,
        now=now,
    )

    def is_tainted(change: Mapping[str, object]) -> bool:
        return "unlearned" not in change and change.get("conversation", "") in ("", *conversations)

    for row in rows:
        await _forget_tainted(transaction, row, is_tainted, lost=0, now=now)


async def forget_heard(transaction: Transaction, conversation: str, seq: int, now: int, *, aged: bool = False) -> None:
    """Delete the state of a conversation that may derive from words of turn `seq` or later.

    The same is done for each soul that the thread was handed to. A running cycle there is not committed. If the words
    only `aged`, whole thoughts keep their words until they are as old themselves.
    """
    for one in sorted(await handed_among(transaction, conversation)):
        await _forget_heard_in(transaction, one, seq, now)
        if not aged:
            await empty_thoughts_since(transaction, one, seq)
            where = ConversationKey.parse(one)
            await empty_thoughts_on(transaction, [question_id(where.workspace, where.channel)])


async def _forget_heard_in(transaction: Transaction, conversation: str, seq: int, now: int) -> None:
    await transaction.run(
        "UPDATE conversations SET forgotten = forgotten + 1, process_memory = '{}' WHERE id = :id", id=conversation
    )
    await transaction.run(
        """
        INSERT INTO soul_state (soul, workspace, audience, version, emotional_state, felt_ms, updated_ms)
        SELECT soul, workspace, audience, 1, '', 0, :now FROM conversations c WHERE id = :id
          AND (EXISTS (SELECT 1 FROM soul_state s WHERE s.soul = c.soul AND s.workspace = c.workspace
                         AND s.audience = c.audience)
            OR EXISTS (SELECT 1 FROM jobs j WHERE j.conversation = c.id
                         AND j.state IN ('ready', 'running') AND j.state = 'running'))
        ON CONFLICT (soul, workspace, audience) DO UPDATE SET version = soul_state.version + 1,
          updated_ms = excluded.updated_ms
        """,
        id=conversation,
        now=now,
    )
    await _forget_inner_life(transaction, conversation, seq, now)


async def _forget_inner_life(transaction: Transaction, conversation: str, seq: int, now: int) -> None:
    """Delete topic and task, the question of the room, and the soul's thoughts since that turn."""
    await transaction.run(
        """
        UPDATE conversation_topics SET version = version + 1, topic = '', task = '', updated_ms = :now
        WHERE conversation = :id
        """,
        id=conversation,
        now=now,
    )
    await transaction.run(
        """
        DELETE FROM standing_questions WHERE (workspace, channel) IN (
          SELECT workspace, channel FROM conversations WHERE id = :id) -- any soul's: they hand them on
        """,
        id=conversation,
    )
    await transaction.run(
        f"""
        UPDATE turns SET thought = {WITHOUT_FREE_WORDS}
        WHERE seq IN (SELECT seq FROM turns WHERE conversation = :id AND seq > :seq ORDER BY seq DESC LIMIT :newest)
          AND speaker = 'soul' AND thought <> '{{}}'
        """,  # noqa: S608 - a constant of this module
        id=conversation,
        seq=seq,
        newest=THOUGHT_TURNS,
    )


async def _forget_tainted(
    transaction: Transaction,
    row: sqlite3.Row,
    is_tainted: Callable[[Mapping[str, object]], bool],
    *,
    lost: int,
    now: int,
) -> None:
    """Delete the guesses about a user since the first tainted version. The remaining turns may give them again."""
    key = _key(row)
    former = await transaction.rows(
        f"SELECT version, change FROM user_model_history WHERE {MODEL_KEY} ORDER BY version",  # noqa: S608 - constant
        **key,
    )
    changes = {one["version"]: json.loads(one["change"]) for one in former}
    tainted = [version for version, change in changes.items() if is_tainted(change)]
    if not tainted:
        return
    first = [found for version in tainted if isinstance(found := changes[version].get("first"), int)]
    await transaction.run(
        f"UPDATE user_model_history SET whispers = '' WHERE {MODEL_KEY} AND version >= :since",  # noqa: S608 - constant
        since=tainted[0],
        **key,
    )
    await transaction.run(
        f"UPDATE user_models SET whispers = '', modelled_to = min(modelled_to, :before) WHERE {MODEL_KEY}",  # noqa: S608 - constant
        before=min(first, default=row["modelled_to"] + 1) - 1,
        **key,
    )
    await empty_thoughts_on(transaction, [model_id(**key)])
    for version in tainted:
        await _look_through_again(transaction, row["person"], changes[version])
    await store_version(
        transaction, key, version=row["version"], whispers="", change={"unlearned": lost}, trace_id="", now=now
    )


async def _look_through_again(transaction: Transaction, person: str, change: Mapping[str, object]) -> None:
    if "first" in change and "conversation" in change:
        await transaction.run(
            """
            UPDATE looked_through SET up_to = min(up_to, CAST(:first AS INTEGER) - 1)
            WHERE conversation = :conversation AND person = :person
            """,
            first=str(change["first"]),
            conversation=str(change["conversation"]),
            person=person,
        )


async def _lines(transaction: Transaction, row: sqlite3.Row) -> int:
    counted = await transaction.one(
        f"SELECT count(*) AS n FROM records WHERE {MODEL_KEY} AND kind = 'fact'",  # noqa: S608 - constant
        **_key(row),
    )
    assert counted is not None
    number: int = counted["n"]
    return number


def _key(row: sqlite3.Row) -> dict[str, str]:
    return {name: row[name] for name in ("soul", "workspace", "person", "audience")}


def _derives_from(change: Mapping[str, object], conversation: str, seq: int) -> bool:
    if change.get("conversation") != conversation:
        return False
    first, last = change.get("first"), change.get("last")
    if not (isinstance(first, int) and isinstance(last, int)):
        return True  # what a passport brought may name no turns
    return first <= seq <= last


_REASON = "its sources are for fewer people by now"


async def make_private(transaction: Transaction, workspace: str, channel: str, audience: Audience, now: int) -> None:
    """Restrict every word of a channel to `audience`, which is narrower than the workspace, in all its conversations.

    Derived records get the narrower audience. Records that also derive from another channel are forgotten, and so are
    guesses about users, which name no sources. Words that are already for fewer people stay as they are. Nothing is
    done if no conversation of the channel was opened to the workspace since the last call.
    """
    everybody = f"workspace:{workspace}"
    changed = await transaction.rows(
        """
        UPDATE conversations SET audience = CASE audience WHEN :everybody THEN :audience ELSE audience END, opened = 0
        WHERE workspace = :workspace AND channel = :channel AND opened RETURNING id
        """,
        audience=str(audience),
        workspace=workspace,
        channel=channel,
        everybody=everybody,
    )
    if not changed:
        return
    await transaction.insert(
        "narrowings",
        "ON CONFLICT (workspace) DO UPDATE SET times = narrowings.times + 1",
        workspace=workspace,
        times=1,
    )
    rows = await transaction.rows(
        """
        SELECT DISTINCT l.target FROM links l JOIN turns t ON t.seq = CAST(substr(l.target, 4) AS INTEGER)
          JOIN conversations c ON c.id = t.conversation
        WHERE l.target >= 'TL_' AND l.target < 'TU_z' AND c.workspace = :workspace AND c.channel = :channel
        """,
        workspace=workspace,
        channel=channel,
    )
    await _narrow(transaction, [row["target"] for row in rows], now)
    await _narrow_unlinked(transaction, workspace, Origin(audience, channel), everybody, now)
    await _narrow_notes(transaction, workspace, channel, audience, now)
    await narrow_thoughts(transaction, workspace, channel, audience)
    await forget_guesses_made_in(transaction, workspace, everybody, [row["id"] for row in changed], now)


async def times_narrowed(transaction: Transaction, workspace: str) -> int:
    """Return how often words of a workspace were restricted to fewer people, to detect it during a reply."""
    row = await transaction.one("SELECT times FROM narrowings WHERE workspace = :workspace", workspace=workspace)
    return int(row["times"]) if row else 0


async def _narrow(transaction: Transaction, sources: list[str], now: int) -> None:
    """Give everything derived from these sources, directly or not, the common origin of all its sources."""
    while sources:
        for derived in dict.fromkeys([one.origin for one in await links_to(transaction, sources.pop(), *DERIVING)]):
            record = await get_any(transaction, derived)
            if record is None:
                continue
            if isinstance(record, UnreadableRecord):
                await forget(transaction, [derived], now, _REASON)
                continue
            before = Origin(record.audience, record.channel)
            made_of = [one.target for one in await links_from(transaction, derived, *DERIVING)]
            allowed = await common_of(transaction, made_of)
            origin = common((before, allowed)) if allowed else None
            if origin is None:
                await forget(transaction, [derived], now, _REASON)
            elif origin != before:
                await change(transaction, derived, now, _REASON, audience=origin.audience, channel=origin.channel)
                sources.append(derived)


async def _narrow_notes(transaction: Transaction, workspace: str, channel: str, audience: Audience, now: int) -> None:
    """Restrict notes that souls sent from the channel to its members, and delete other souls' replies to them.

    Those replies were said where notes from other channels are heard, too.
    """
    there = "(SELECT id FROM conversations WHERE workspace = :workspace AND channel = :channel)"
    await transaction.run(
        f"""
        UPDATE shared_messages SET audience = :audience
        WHERE workspace = :workspace AND audience = :everybody AND (conversation IN {there} OR heard_in IN {there})
        """,  # noqa: S608 - a constant
        audience=str(audience),
        workspace=workspace,
        channel=channel,
        everybody=f"workspace:{workspace}",
    )
    rows = await transaction.rows(
        f"""
        SELECT t.seq FROM shared_messages m CROSS JOIN inbox i ON i.id = m.inbox
          CROSS JOIN turns t ON t.conversation = m.heard_in AND t.ts = i.ts AND t.speaker = 'soul'
        WHERE m.workspace = :workspace AND m.conversation IN {there} AND i.channel = :souls
        """,  # noqa: S608 - a constant
        workspace=workspace,
        channel=channel,
        souls=SOUL_CHANNEL,
    )
    said = [row["seq"] for row in rows]
    await forget(transaction, [turn_id(Speaks.SOUL, seq) for seq in said], now, _REASON)
    await delete_these(transaction, said, now, _REASON)


async def _narrow_unlinked(transaction: Transaction, workspace: str, now_for: Origin, everybody: str, now: int) -> None:
    """Restrict records of the channel that rest on no turn, such as old notes whose history could not be read."""
    rows = await transaction.rows(
        "SELECT id FROM records WHERE workspace = :workspace AND channel = :channel AND audience = :everybody",
        workspace=workspace,
        channel=now_for.channel,
        everybody=everybody,
    )
    for row in rows:
        if isinstance(await get_any(transaction, row["id"]), UnreadableRecord):
            await forget(transaction, [row["id"]], now, _REASON)
        else:
            await change(transaction, row["id"], now, _REASON, audience=now_for.audience)
    await _narrow(transaction, [row["id"] for row in rows], now)
