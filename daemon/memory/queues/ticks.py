"""Ticks: thoughts about due goals, surprises and readings, which no message asks for."""

from typing import Final

from daemon.core.initiative import EARLY, PROMISED, QuietHours
from daemon.core.lineage import is_inner
from daemon.core.perception import ConversationKey, Modality
from daemon.core.ports.services import Clock
from daemon.core.tempo import (
    KINDS,
    LASTS_MS,
    OCCASION,
    REFLECTING,
    RESULTS,
    STALE_AFTER_MS,
)
from daemon.memory.database import Database, Transaction
from daemon.memory.goals_in_force import OWED, STILL_DUE
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.ended_visits import drop_what_is_over, note_results, note_tick
from daemon.memory.queues.initiatives import quiet_to_speak
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.next_tick import (
    ALL_WAIT,
    GOALS,
    ONE_LEADS_TO_THE_NEXT,
    OWED_ALONE,
    SCOPE,
    STILL_WAITS,
    SURPRISES,
    note_readings,
    when_next,
)
from daemon.memory.queues.promises import Due, promises_due
from daemon.memory.queues.tick_ends import count_tick
from daemon.memory.records import Claim, Worker
from daemon.memory.worker_store import WorkerStore

_AT_ONCE: Final = 100  # noted in one transaction, which has to be short


class Ticks(WorkerStore):
    """The ticks of one worker's soul. Each call may raise StoreError.

    A tick becomes a perception in its conversation's inbox, with the claim, the fence and the commit of any message.
    One is under way at a time for each soul, over all daemons, and none while anything waits to be answered.
    """

    def __init__(self, database: Database, clock: Clock, worker: Worker, conversations: Conversations) -> None:
        super().__init__(database, clock, worker)
        self._conversations = conversations

    async def next_due_ms(self, *, owed_alone: bool = False) -> int | None:
        """Return when the soul has something to think about next (ms), or None.

        Also returns None while something else waits. `owed_alone`: the soul doesn't think by itself, but keeps earlier
        promises.
        """
        return await self._due_ms(when_next(owed_alone=owed_alone))

    async def claim_next(self, quiet: QuietHours, *, owed_alone: bool = False) -> Claim | None:
        """Claim a conversation with something to think about, with a perception of it, or return None.

        All that is due there goes into one thought. Promises wait until the person's `quiet` hours are over.
        `owed_alone` is used as in `next_due_ms`.
        """

        async def choose(transaction: Transaction, now: int) -> str | None:
            if await transaction.one(f"SELECT 1 WHERE {ALL_WAIT}", **self._worker.scope):
                return None
            await self._note(transaction, now, owed_alone=owed_alone)
            rows = await transaction.rows(
                f"""
                SELECT DISTINCT conversation FROM ticks
                WHERE {SCOPE} AND due_ms <= :now {f"AND {OWED_ALONE}" if owed_alone else ""}
                ORDER BY due_ms LIMIT :most
                """,  # noqa: S608 - a constant
                now=now,
                most=_AT_ONCE,
                **self._worker.scope,
            )
            for row in rows:
                if await _put_into_inbox(transaction, row["conversation"], now, quiet):
                    return str(row["conversation"])
            return None

        return await self._conversations.claim_chosen(choose)

    async def _note(self, transaction: Transaction, now: int, *, owed_alone: bool) -> None:
        """Note as ticks what has fallen due since, once for each due time and each surprise."""
        scope = self._worker.scope
        goals = await transaction.rows(
            f"""
            SELECT id, conversation, due_ms > :stale OR (follow_up = 1 AND said_in <> '') AS in_force FROM goals
            WHERE {GOALS} AND due_ms <= :now {f"AND {OWED}" if owed_alone else ""}
            ORDER BY due_ms LIMIT :most
            """,  # noqa: S608 - constants
            now=now,
            stale=now - STALE_AFTER_MS,
            most=_AT_ONCE,
            **scope,
        )
        for row in goals:
            await transaction.run(
                "UPDATE goals SET woken_ms = due_ms WHERE soul = :soul AND id = :id", soul=scope["soul"], id=row["id"]
            )
            if row["in_force"]:  # a soul whose inner life begins today doesn't begin with what is long stale
                where = ConversationKey.parse(row["conversation"])
                await note_tick(transaction, where, "due", now, about=row["id"])
        if owed_alone:
            return
        await note_readings(transaction, scope, now, _AT_ONCE)
        surprises = await transaction.rows(
            f"""
            SELECT seq, conversation, {ONE_LEADS_TO_THE_NEXT} OR scored_ms <= :over AS past FROM predictions
            WHERE {SURPRISES} ORDER BY scored_ms LIMIT :most
            """,  # noqa: S608 - constants
            over=now - LASTS_MS,
            most=_AT_ONCE,
            **scope,
        )
        for row in surprises:
            await transaction.run("UPDATE predictions SET woken = 1 WHERE seq = :seq", seq=row["seq"])
            if not row["past"]:
                await note_tick(transaction, ConversationKey.parse(row["conversation"]), "surprise", now)
        await note_results(transaction, scope, now)


async def _put_into_inbox(transaction: Transaction, conversation: str, now: int, quiet: QuietHours) -> bool:
    """Make one perception of all that is due in a conversation, or return False if there is nothing to perceive.

    Without a person the result is False, except in an inner room. If promised words have to wait, all of it waits.
    """
    where, inner = {"id": conversation, "now": now}, is_inner(ConversationKey.parse(conversation))
    person = await transaction.one(
        "SELECT author FROM turns WHERE conversation = :id AND speaker = 'person' ORDER BY seq DESC LIMIT 1",
        id=conversation,
    )
    room = await transaction.one("SELECT * FROM conversations WHERE id = :id", id=conversation)
    early = await _reported_goals(transaction, conversation, now)
    promised = await promises_due(transaction, conversation, now, quiet, early)
    if promised is None and room is not None and person is not None:
        over = await quiet_to_speak(transaction, room, person["author"], now, quiet)
        promised = Due(person["author"], (), over, "quiet") if over else None
    if promised is not None and promised.later_ms:
        await _put_off(transaction, conversation, promised, now)
        return False
    await drop_what_is_over(transaction, conversation, now)
    ticks = await transaction.rows(
        f"""
        UPDATE ticks SET due_ms = NULL WHERE conversation = :id AND due_ms <= :now
          AND (kind <> 'wake' OR due_ms > :now - 86400000) -- an old wish of a soul whose inner life was off meanwhile
          AND (kind <> 'due' OR EXISTS (SELECT 1 FROM goals WHERE goals.soul = ticks.soul AND goals.id = about
                                          AND {STILL_DUE}))
          AND (kind <> 'sense' OR {STILL_WAITS})
        RETURNING seq, kind, about
        """,  # noqa: S608 - constants
        **where,
    )
    await transaction.run("UPDATE ticks SET due_ms = NULL WHERE conversation = :id AND due_ms <= :now", **where)
    if not ticks or (person is None and not inner) or room is None:
        return False
    author = "" if person is None else person["author"] if promised is None else promised.person
    first = min(int(row["seq"]) for row in ticks)
    occasion = next(kind for kind in KINDS if any(row["kind"] == kind for row in ticks))
    id_ = await store_internal_event(
        transaction,
        name=f"tick {first} {now}",
        conversation=ConversationKey.parse(conversation),
        modality=Modality.SENSE if occasion == "sense" else Modality.TIME,
        author=author,
        place=room["place"],
        audience=room["audience"],
        params={
            OCCASION: occasion,
            **({RESULTS: results} if (results := [row["about"] for row in ticks if row["kind"] == "result"]) else {}),
            **({} if promised is None else {PROMISED: list(promised.goals), EARLY: list(promised.early)}),
        },
        now=now,
        process=REFLECTING,
    )
    for row in ticks:
        await transaction.run("UPDATE ticks SET inbox = :inbox WHERE seq = :seq", inbox=id_, seq=row["seq"])
    return True


async def _reported_goals(transaction: Transaction, conversation: str, now: int) -> tuple[str, ...]:
    rows = await transaction.rows(
        f"""
        SELECT about FROM ticks WHERE conversation = :id AND kind = 'sense' AND about <> '' AND due_ms <= :now
          AND {STILL_WAITS}
        """,  # noqa: S608 - a constant
        id=conversation,
        now=now,
    )
    return tuple(row["about"] for row in rows)


async def _put_off(transaction: Transaction, conversation: str, promised: Due, now: int) -> None:
    await transaction.run(
        "UPDATE ticks SET due_ms = :later WHERE conversation = :id AND due_ms <= :now",
        later=promised.later_ms,
        id=conversation,
        now=now,
    )
    if promised.why:
        await count_tick(transaction, ConversationKey.parse(conversation), promised.why, now)
