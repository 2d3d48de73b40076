"""What a soul thinks about unasked: goals that are due, and what came otherwise than expected.

A tick becomes a perception in its conversation's inbox, so that it has the claim, the fence and the commit of all
others. Nothing of it is posted but words that were promised. One is under way at once for each soul, over all daemons,
and none while anything else waits to be answered.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, get_args

from daemon.core.initiative import EARLY, PROMISED, QuietHours
from daemon.core.inner_room import is_inner
from daemon.core.perception import ConversationKey, Modality, Readers
from daemon.core.ports.clock import Clock
from daemon.core.tempo import (
    AGAIN_MS,
    KINDS,
    LASTS_MS,
    OCCASION,
    REFLECTING,
    RESULTS,
    STALE_AFTER_MS,
    Skipped,
    next_pause,
)
from daemon.memory.database import Database, Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.goals_in_force import IN_FORCE, OWED
from daemon.memory.queues.awakenings import settle_awakening
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.initiatives import quiet_to_speak
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.queues.next_tick import (
    ALL_WAIT,
    GOALS,
    ONE_LEADS_TO_THE_NEXT,
    OWED_ALONE,
    SCOPE,
    SURPRISES,
    when_next,
)
from daemon.memory.queues.occasions import drop_what_is_over, note_results, note_tick
from daemon.memory.queues.promises import Due, is_promised, promises_due
from daemon.memory.queues.sense_ticks import STILL_WAITS, note_readings
from daemon.memory.records import Claim, Dismissal, InboxMessage, Worker
from daemon.memory.thought_readability import came_before
from daemon.memory.worker_store import WorkerStore

NO_LONGER_IDLE: Final = "no longer idle"
"""Why a silence or a tick is dismissed where something else came first."""

_AGAIN_AFTER_MS: Final = {"words": 0, "breaker": 60_000}  # where words about it were promised, and are still owed
_STILL_DUE: Final = f"due_ms <= :now AND (({OWED}) OR ({IN_FORCE}))"
"""A condition, of `goals`: it is worth a thought at the moment `now`; one that is stale leaves the prompts as well."""

_AT_ONCE: Final = 100  # noted in one transaction, which has to be short


class Ticks(WorkerStore):
    """The ticks of one worker's soul. Each call may raise StoreError."""

    def __init__(self, database: Database, clock: Clock, worker: Worker, conversations: Conversations) -> None:
        super().__init__(database, clock, worker)
        self._conversations = conversations

    async def next_due_ms(self, *, owed_alone: bool = False) -> int | None:
        """When the soul has something to think about next; None without anything, and while something else waits.

        `owed_alone`: it thinks by itself no more, but what it promised before is kept.
        """
        return await self._due_ms(when_next(owed_alone=owed_alone))

    async def claim_next(self, quiet: QuietHours, *, owed_alone: bool = False) -> Claim | None:
        """Claim the conversation in which something is to be thought about, with a perception of it; None without any.

        All that is due there by now is one thought's. What was promised to a person waits until their `quiet` hours are
        over. `owed_alone` as in `next_due_ms`.
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


@dataclass(frozen=True, slots=True)
class Settled:
    """How a cycle ended for its ticks: which messages were dismissed, and before whom it thought, if it did.

    `silenced`: words about them were ready that may not be said by now.
    """

    dismissed: Mapping[str, Dismissal]
    readers: Readers | None = None
    silenced: bool = False


async def settle_ticks(transaction: Transaction, claimed: Sequence[InboxMessage], settled: Settled, now: int) -> None:
    """In the commit of a cycle, after its thoughts and acts were stored: when its ticks are thought about again."""
    dismissed, readers = settled.dismissed, settled.readers
    for message in claimed:
        if message.perception.process != REFLECTING:
            continue
        where = message.perception.conversation
        rows = await transaction.rows("SELECT * FROM ticks WHERE inbox = :id AND inbox <> ''", id=message.id)
        skipped = _why_skipped(dismissed[message.id]) if message.id in dismissed else ""
        held = await _digest(transaction, message)
        said = "" if skipped else held
        for row in rows:
            pause = await _owed_after(transaction, row, message, "words" if settled.silenced else skipped, now)
            if pause is None and not await _is_hidden(transaction, row, readers):
                pause = await _pause(transaction, row, skipped, said, now, unseen=not held)
            if (again := await settle_awakening(transaction, row, skipped, now)) is not None:
                pause = again
            await transaction.run(
                "UPDATE ticks SET inbox = '', due_ms = :due, pause_ms = :pause, said = :said WHERE seq = :seq",
                due=None if pause is None else now + pause,
                pause=row["pause_ms"] if skipped in {"budget", "quiet"} else pause or 0,
                said=said or row["said"],
                seq=row["seq"],
            )
        if skipped == "budget":  # nothing else fits either: one look suffices for all but what the house can speak for
            await transaction.run(
                f"UPDATE ticks SET due_ms = :later WHERE {SCOPE} AND due_ms < :later AND NOT ({OWED_ALONE})",  # noqa: S608 - constants
                later=now + AGAIN_MS,
                soul=where.soul,
                workspace=where.workspace,
            )
        if skipped != "quiet":  # it is put off, and counted, by the next look
            await _count(transaction, where, skipped, now)


async def _put_into_inbox(transaction: Transaction, conversation: str, now: int, quiet: QuietHours) -> bool:
    """Make one perception of all that is due in a conversation; False where there is no person to think with.

    In an inner room there never is one.
    Where words were promised whose time isn't quite there, all of it waits.
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
                                          AND {_STILL_DUE}))
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
    """The goals of which readings that are to be thought about tell."""
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
        await _count(transaction, ConversationKey.parse(conversation), promised.why, now)


async def _owed_after(
    transaction: Transaction, row: sqlite3.Row, message: InboxMessage, skipped: str, now: int
) -> int | None:
    """After how long words are thought about that were promised and are still owed; None where none are."""
    asked = message.perception.params.get(PROMISED)
    to_another = not skipped and isinstance(asked, list) and row["about"] not in asked
    after = 0 if to_another else _AGAIN_AFTER_MS.get(skipped)
    return after if after is not None and await is_promised(transaction, row["soul"], row["about"], now) else None


async def _is_hidden(transaction: Transaction, row: sqlite3.Row, readers: Readers | None) -> bool:
    """Whether a thought before these readers wasn't shown the goal that a tick is about, nor will the next one be."""
    if readers is None or row["kind"] != "due":
        return False
    goal = await transaction.one(
        "SELECT * FROM goals WHERE soul = :soul AND id = :id", soul=row["soul"], id=row["about"]
    )
    return goal is not None and not came_before(goal, ConversationKey.parse(row["conversation"]), readers)


async def _pause(
    transaction: Transaction, row: sqlite3.Row, skipped: str, said: str, now: int, *, unseen: bool
) -> int | None:
    """After how long (ms) it is thought about again, None for never; `unseen`: no thought has answered the words."""
    if skipped == "words":  # the thought that answers them was given it; where the house does, nothing was
        return 0 if unseen or row["kind"] == "sense" else None
    if skipped in {"budget", "quiet"}:
        return AGAIN_MS if skipped == "budget" else 0
    goal = await transaction.one(
        f"SELECT 1 FROM goals WHERE soul = :soul AND id = :id AND {_STILL_DUE}",  # noqa: S608 - a constant
        soul=row["soul"],
        id=row["about"],
        now=now,
    )
    return next_pause(row["kind"], row["pause_ms"], open_=goal is not None, said=said, said_before=row["said"])


async def _digest(transaction: Transaction, message: InboxMessage) -> str:
    """What the tick's last thought held, as a digest; empty where it stored none."""
    row = await transaction.one(
        "SELECT output, at_ms FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1",
        id=str(message.perception.conversation),
    )
    if row is None or row["at_ms"] < message.received_ms:
        return ""
    return hashlib.sha256(row["output"].encode()).hexdigest()[:16]


def _why_skipped(dismissal: Dismissal) -> Skipped:
    """The reason on record; whom the gate turns away is not thought with."""
    reasons: tuple[Skipped, ...] = get_args(Skipped)
    if dismissal.reason == NO_LONGER_IDLE:
        return "words"
    return next((one for one in reasons if one == dismissal.reason), "breaker" if dismissal.stale else "not_invited")


async def _count(transaction: Transaction, key: ConversationKey, reason: str, now: int) -> None:
    await transaction.insert(
        "tick_counts",
        "ON CONFLICT (soul, day, reason) DO UPDATE SET n = n + 1",
        soul=key.soul,
        day=day_of(now),
        reason=reason,
        n=1,
    )


def day_of(now_ms: int) -> str:
    """The day (UTC) of a moment, under which ticks are counted."""
    return datetime.fromtimestamp(now_ms / 1000, UTC).date().isoformat()
