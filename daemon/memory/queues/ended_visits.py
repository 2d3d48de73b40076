"""The end of silent visits, the jobs that look through them, and the ticks that follow from visits and decisions."""

from collections.abc import Mapping
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.tempo import ANSWERED, LASTS_MS, PROPOSED, SURPRISING, TickKind
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Episode
from daemon.memory.knowledge.records.store import select
from daemon.memory.knowledge.visits import REMEMBERED, end_episode
from daemon.memory.queues.jobs import TRIED_AGAIN_MS, enqueue_job
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.records import conversation_columns
from daemon.memory.worker_store import WorkerStore

RESULTS: Final = (
    "soul = :soul AND workspace = :workspace AND tool GLOB 'mind.*' AND state IN ('used', 'refused') AND woken = 0"
)
"""A SQL condition on `approvals`: a decided proposal of a thought, of which no tick was made yet."""

_SAID_SINCE: Final = """
    SELECT EXISTS (
        SELECT 1 FROM turns WHERE conversation = :id AND speaker = 'person' AND passing = 0
          AND seq > coalesce((SELECT saw_to FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1), 0))
      OR EXISTS (
        SELECT 1 FROM inbox i WHERE i.conversation = :id AND i.aside = 1
          AND EXISTS (SELECT 1 FROM turns p WHERE p.conversation = :id AND p.author = i.author AND p.speaker = 'person')
          AND CAST(i.ts AS REAL) > coalesce((
          SELECT CASE WHEN t.occasion = 'words' -- what came while it answered, it has not seen
                   THEN coalesce((SELECT CAST(u.ts AS REAL) FROM turns u WHERE u.seq = t.saw_to), t.at_ms / 1000.0)
                   ELSE t.at_ms / 1000.0 END
          FROM thoughts t WHERE t.conversation = :id ORDER BY t.seq DESC LIMIT 1), 0)) AS said
    """
_ANSWERED_SINCE: Final = """
    SELECT 1 FROM turns WHERE conversation = :id AND speaker = 'session' AND passing = 0 AND body <> ''
      AND seq > coalesce((SELECT saw_to FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1), 0) LIMIT 1
    """
_PERCEIVED: Final = "EXISTS (SELECT 1 FROM thought_sources s WHERE s.source = approvals.id)"


async def note_tick(
    transaction: Transaction, where: ConversationKey, kind: TickKind, now: int, *, about: str = ""
) -> None:
    """Queue a thought about something in a conversation, once for each kind and subject."""
    await transaction.insert(
        "ticks",
        """
        ON CONFLICT (conversation, kind, about) DO UPDATE SET due_ms = excluded.due_ms, pause_ms = 0, said = '',
          noted_ms = excluded.noted_ms
        """,
        **conversation_columns(where),
        kind=kind,
        about=about,
        due_ms=now,
        noted_ms=now,
    )


async def note_end_of_visit(transaction: Transaction, where: ConversationKey, now: int) -> None:
    """Queue a thought about a visit that this transaction ends, if something was said since the last thought."""
    if await _was_said_since(transaction, str(where)):
        await note_tick(transaction, where, "visit_end", now)


async def note_results(transaction: Transaction, scope: Mapping[str, object], now: int) -> None:
    """Queue one thought for each conversation with proposals that admins decided."""
    rows = await transaction.rows(
        f"""
        UPDATE approvals SET woken = 1 WHERE {RESULTS} AND decided_ms <= :now
        RETURNING conversation, decided_ms > :since AND NOT {_PERCEIVED} AS is_news
        """,  # noqa: S608 - constants
        now=now,
        since=now - LASTS_MS,  # a soul whose inner life begins today doesn't begin with what is long decided
        **scope,
    )
    for conversation in dict.fromkeys(row["conversation"] for row in rows if row["is_news"]):
        await note_tick(transaction, ConversationKey.parse(conversation), "result", now, about=PROPOSED)


class SessionAnswered(Value):
    """The answer of a session in a conversation, about which the soul will think."""

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        await note_tick(transaction, asker.conversation, "result", now, about=ANSWERED)


async def drop_what_is_over(transaction: Transaction, conversation: str, now: int) -> None:
    """Drop the ticks of a conversation that are too old, or about something that a thought has seen since."""
    rows = await transaction.rows(
        """
        SELECT seq, kind, about, noted_ms FROM ticks
        WHERE conversation = :id AND due_ms <= :now AND kind IN ('surprise', 'visit_end', 'result')
        """,
        id=conversation,
        now=now,
    )
    for row in rows:
        is_new = _IS_NEW.get((row["kind"], row["about"]))  # None for what only another program can have written
        if is_new is None or row["noted_ms"] <= now - LASTS_MS or not await is_new(transaction, conversation):
            await transaction.run("UPDATE ticks SET due_ms = NULL WHERE seq = :seq", seq=row["seq"])


async def _was_said_since(transaction: Transaction, conversation: str) -> bool:
    """Return whether people who spoke to the soul said something there, also aside, that no thought has seen."""
    row = await transaction.one(_SAID_SINCE, id=conversation)
    return row is not None and bool(row["said"])


async def _was_surprised(transaction: Transaction, conversation: str) -> bool:
    row = await transaction.one(
        """
        SELECT 1 FROM predictions WHERE conversation = :id AND shown = 0 AND state IN ('hit', 'miss')
          AND surprise >= :surprising AND what <> '' LIMIT 1
        """,
        id=conversation,
        surprising=SURPRISING,
    )
    return row is not None


async def _was_decided(transaction: Transaction, conversation: str) -> bool:
    row = await transaction.one(
        f"""
        SELECT 1 FROM approvals WHERE conversation = :id AND tool GLOB 'mind.*' AND state IN ('used', 'refused')
          AND NOT {_PERCEIVED} LIMIT 1
        """,  # noqa: S608 - a constant
        id=conversation,
    )
    return row is not None


async def _was_answered(transaction: Transaction, conversation: str) -> bool:
    return await transaction.one(_ANSWERED_SINCE, id=conversation) is not None


_IS_NEW: Final = {
    ("surprise", ""): _was_surprised,
    ("visit_end", ""): _was_said_since,
    ("result", PROPOSED): _was_decided,
    ("result", ANSWERED): _was_answered,
}


class EndedVisits(WorkerStore):
    """The visits of one worker's soul that nothing else ends or looks through."""

    async def sweep(self, silent_ms: int, then: str, *, wakes: bool = False) -> int:
        """End each visit that is silent for `silent_ms`, queue the job `then` for it, and return how many were queued.

        This includes visits whose words went with a deleted message. `wakes`: the soul thinks by itself about the
        visits that end.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            silent = await select(
                transaction,
                Episode,
                """
                r.soul = :soul AND r.workspace = :workspace AND k.state = 'open' AND NOT EXISTS (
                  SELECT 1 FROM conversations c WHERE c.id = r.conversation AND c.spoken_ms >= :since)
                """,
                since=now - silent_ms,
                **self._worker.scope,
            )
            for one in silent:
                await end_episode(transaction, one, now)
                if wakes and one.conversation:
                    await note_end_of_visit(transaction, ConversationKey.parse(one.conversation), now)
            rows = await transaction.rows(
                f"""
                SELECT DISTINCT c.id, c.version FROM records r JOIN episodes k ON k.id = r.id
                  JOIN conversations c ON c.id = r.conversation
                WHERE r.soul = :soul AND r.workspace = :workspace AND r.kind = 'episode' AND k.state = 'closing'
                  AND {REMEMBERED} AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.conversation = c.id AND j.kind = :then
                    AND (j.state IN ('ready', 'running') OR (j.state = 'dead' AND j.settled_ms > :tried)))
                """,  # noqa: S608 - a constant of this package
                then=then,
                tried=now - TRIED_AGAIN_MS,
                **self._worker.scope,
            )
            for row in rows:
                await enqueue_job(transaction, then, ConversationKey.parse(row["id"]), row["version"], now)
            return len(rows)

        return await self._database.write(unit)
