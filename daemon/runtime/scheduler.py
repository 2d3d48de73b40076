"""Scheduled work: moves due rows into the inbox, watches alarms, and decides on awakening and unasked thoughts."""

import secrets
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from typing import Final

from daemon.core.authority import Function, Level
from daemon.core.concurrency import Bell
from daemon.core.errors import ChannelError, ChannelRefused, LostLease, StoreError
from daemon.core.initiative import FEWEST_VISITS, INVITING, PROMISED, WhySilent
from daemon.core.last_line import LastLine, in_short
from daemon.core.perception import Modality, Place
from daemon.core.phrases import Command
from daemon.core.ports import DutyTurn
from daemon.core.ports.channel import Room
from daemon.core.ports.services import Clock, Emit
from daemon.core.tempo import OPS, QUIET_MS, alarm_post, sentence_of
from daemon.core.timetable import MINUTE_MS
from daemon.memory.expectations.settling import DuePredictions
from daemon.memory.queues.alarms import Addressee, Alarm, Alarms
from daemon.memory.queues.approvals import Approvals, NewApproval
from daemon.memory.queues.intentions import Intentions
from daemon.memory.queues.invitations import InvitationAskedFor
from daemon.memory.records import Delivery, Speaks
from daemon.mind.motor import Motor
from daemon.mind.process import Interrupted, ProcessContext
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.cycle_state import Cycle
from daemon.shared.asking import SessionQuestions

POLL = 2.0
"""Seconds between two looks for work that another process scheduled."""

_SHORTEST_WAIT = 0.05


class Scheduler:
    """The mover of due intentions and expired questions into the inbox, which also scores predictions that are over.

    `on_due` is called after a move, not after a score. `alarm` rings when something was scheduled. Several schedulers
    may share one memory.db: each row is moved once.
    """

    def __init__(
        self,
        intentions: Intentions,
        approvals: Approvals,
        asking: SessionQuestions,
        predictions: DuePredictions,
        *,
        clock: Clock,
        emit: Emit,
        alarm: Bell,
        on_due: Callable[[], None],
    ) -> None:
        self._intentions = intentions
        self._approvals = approvals
        self._asking = asking
        self._predictions = predictions
        self._clock = clock
        self._emit = emit
        self._last_line = LastLine(clock, emit)
        self._alarm = alarm
        self._on_due = on_due

    async def run(self) -> None:
        """Move due rows until cancelled, also after failures. A row that can't be moved is finally parked."""
        await self._last_line.keep("scheduler", self._move_all)

    def look_again(self) -> None:
        self._alarm.ring()

    async def _move_all(self) -> None:
        while True:
            dues = await self._next_dues()  # cheap; moving takes the write lock even when nothing is due
            if await self._move_due_rows(*dues):
                dues = await self._next_dues()
            await self._alarm.wait(self._clock, self._until(*dues))

    async def _next_dues(self) -> tuple[int | None, int | None, int | None]:
        planned, asked = await self._intentions.next_due_ms(), await self._approvals.next_due_ms()
        return planned, asked, await self._predictions.next_due_ms()

    async def _move_due_rows(self, planned: int | None, asked: int | None, expected: int | None) -> bool:
        """Move the due rows, and return whether there were any."""
        fired = await self._intentions.fall_due() if self._is_due(planned) else 0
        if fired:
            self._announce("schedule.due", fired)
        expired = await self._approvals.expire() if self._is_due(asked) else 0
        if expired:
            self._announce("approvals.expired", expired)
        if unanswered := await self._asking.fall_due():
            self._announce("sessions.unanswered", unanswered)
        scored = await self._predictions.fall_due() if self._is_due(expected) else 0
        if scored:
            self._emit("predictions.scored", count=scored)
        return bool(fired or expired or scored)

    def _announce(self, event: str, count: int) -> None:
        self._emit(event, count=count)
        self._on_due()

    def _is_due(self, due: int | None) -> bool:
        return due is not None and due <= self._clock.now_ms()

    def _until(self, planned: int | None, asked: int | None, expected: int | None) -> float:
        """Return the seconds until the next row falls due, at most POLL.

        A prediction whose time is over waits for open messages of its conversation, and is not urgent.
        """
        dues = (planned, asked, None if self._is_due(expected) else expected)
        due = min((one for one in dues if one is not None), default=None)
        if due is None:
            return POLL
        return min(POLL, max(_SHORTEST_WAIT, (due - self._clock.now_ms()) / 1000))


EVERY_S: Final = 60.0
_REFUSED_MS: Final = 86_400_000  # the ops channel counts as closed for this long after a refusal
_FAR_AHEAD_MS: Final = 86_400_000
_MOST_ADMINS: Final = 5

AlarmSource = Callable[[], Awaitable[Sequence[str]]]
"""A function that returns the names of its current alarms. It may raise StoreError."""


@dataclass(frozen=True, slots=True)
class Addressees:
    """The addressees of alarms: the ops channel's id, empty for none, and the admins. `find_room` asks Slack."""

    channel: str
    admins: Sequence[str]
    find_room: Callable[[str], Awaitable[Room]]

    def __bool__(self) -> bool:
        return bool(self.channel or self.admins)


class AlarmWatch:
    """The watch that asks each of `sources` once a minute. `on_due` is called when a post waits."""

    def __init__(  # noqa: PLR0917 - one of each
        self,
        alarms: Alarms,
        sources: Sequence[AlarmSource],
        to: Addressees,
        turn: DutyTurn,
        clock: Clock,
        emit: Emit,
        on_due: Callable[[], None],
    ) -> None:
        self._alarms = alarms
        self._sources = sources
        self._to = to
        self._turn = turn
        self._clock = clock
        self._emit = emit
        self._on_due = on_due
        self._watching_since = clock.monotonic()

    async def look(self) -> float:
        """Look once, and return the seconds until the next look. Raises StoreError."""
        began_ms, watched_s = self._clock.now_ms(), self._clock.monotonic() - self._watching_since
        await self._see([name for source in self._sources for name in await self._seen_by(source)])
        async with self._turn() as wait:
            if not wait:
                await self._tell()
                if watched_s * 1000 >= QUIET_MS:
                    await self._heal(began_ms)
        return min(EVERY_S, wait or EVERY_S)

    async def _seen_by(self, source: AlarmSource) -> Sequence[str]:
        """Return the alarms of one source. A source that fails does not hide the others."""
        try:
            return await source()
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - as said
            self._emit("alarm.source_failed", reason=in_short(error))
            return ()

    async def _see(self, names: Sequence[str]) -> None:
        for name in await self._alarms.see(tuple(dict.fromkeys(names))):
            self._emit("alarm.raised", name=name, says=sentence_of(name))

    async def _tell(self) -> None:
        """Post unannounced alarms. The alarm about the ops channel goes to the admins alone."""
        known = await self._alarms.open()
        unsaid = await self._alarms.unsaid(known)
        if not self._to or not (unsaid or any(one.name == OPS for one in known)):
            return
        to = await self._addressees()
        unsaid = await self._alarms.unsaid(await self._alarms.open())  # the alarm about the ops channel may be new
        if to and unsaid and await self._alarms.tell(unsaid, to, alarm_post([one.name for one in unsaid])):
            self._emit("alarm.announced", names=[one.name for one in unsaid], rooms=len(to))
            self._on_due()

    async def _heal(self, now: int) -> None:
        """Heal alarms that were not seen for a while before this look began, with a line where they were posted."""
        quiet = [one for one in await self._alarms.open() if _is_quiet(one, now)]
        healed = await self._alarms.heal(quiet) if quiet else ()
        for one in healed:
            self._emit("alarm.healed", name=one.name, after_s=round((now - one.since_ms) / 1000))
        if any(one.posts for one in healed):
            self._on_due()

    async def _addressees(self) -> list[Addressee]:
        """Return the addressees now: the ops channel if it takes posts, else each admin whom the soul can write to."""
        if self._to.channel:
            room, code = await self._room(self._to.channel)
            closed_since = self._clock.now_ms() - _REFUSED_MS
            if room is not None and not await self._alarms.is_refused(room.channel, closed_since):
                return [Addressee(room)]
            if room is None and not code:
                return []  # Slack can't say now
            await self._see([OPS])
        found = [(admin, (await self._room(admin))[0]) for admin in self._to.admins[:_MOST_ADMINS]]
        return [Addressee(room, admin) for admin, room in found if room is not None]

    async def _room(self, contact: str) -> tuple[Room | None, str]:
        """Return the room of a channel or a person, None where it is unknown now, or refused with a code."""
        try:
            return await self._to.find_room(contact), ""
        except ChannelError as error:
            self._emit("alarm.not_posted", to=contact, reason=in_short(error))
            return None, error.code if isinstance(error, ChannelRefused) else ""


def _is_quiet(alarm: Alarm, now: int) -> bool:
    """Return whether an alarm was not seen for a while, or was seen by a clock that was far ahead."""
    return now - alarm.seen_ms >= QUIET_MS or alarm.seen_ms - now >= _FAR_AHEAD_MS


AWAKENING_EVERY_S: Final = 30.0


class Awakener:
    """The awakener of one soul. `on_due` is called when it should awaken."""

    def __init__(self, services: CycleServices, on_due: Callable[[], None]) -> None:
        self._services = services
        self._on_due = on_due
        self._started = False

    async def look(self) -> None:
        """Begin the awakening, or note that the soul is awake. Raises StoreError."""
        services, awakenings = self._services, self._services.store.awakenings
        thinks, begun = services.thinks_by_itself, await awakenings.is_begun()
        first, self._started = not self._started, True
        if begun:
            await (awakenings.resume() if first and thinks else awakenings.note(thinks=thinks))
        elif thinks and services.soul().awakening and await awakenings.begin():
            self._on_due()


_ASKS_FOR_MS = 14 * 24 * 60 * MINUTE_MS


async def why_silent(cycle: Cycle, *, promised: bool) -> WhySilent:
    """Return why nothing may be said unasked now.

    Only quiet hours hold back promises and words into a silence. Raises StoreError.
    """
    newest, services = cycle.newest, cycle.services
    if not cycle.speaks_first:
        return "not_invited"
    where, quiet, invited = cycle.claim.conversation, services.quiet_hours, promised or not cycle.is_tick
    return await services.store.minds.must_be_silent(where, newest.author, quiet, promised=invited)


async def waits_for_the_day(cycle: Cycle) -> bool:
    """Return whether quiet hours have begun for an unasked thought, which is then thought after them.

    Raises StoreError.
    """
    if not cycle.is_tick or await why_silent(cycle, promised=bool(cycle.newest.params.get(PROMISED))) != "quiet":
        return False
    cycle.dismiss("quiet")
    return True


def waits_for_readers(cycle: Cycle) -> bool:
    """Return whether an unasked thought has to wait because its readers, or their private rooms, are unknown now.

    It would know less than was known when something was promised there. It is tried again a minute later.
    """
    if not cycle.is_tick or not (cycle.readers.unproven or cycle.readers.rooms_unproven):
        return False
    cycle.services.emit("tick.skipped", trace=cycle.trace_id, why="breaker", reason="it is not known who reads there")
    cycle.dismiss("breaker")
    return True


async def ask_for_invitation(cycle: Cycle, context: ProcessContext, motor: Motor) -> None:
    """Ask once below a reply in a DM whether the soul may write unasked, with two buttons.

    Raises StoreError.
    """
    if not _may_ask(cycle, context, motor):
        return
    now = cycle.services.clock.now_ms()
    found = await cycle.services.store.minds.invitation_of(cycle.claim.conversation, cycle.newest.author)
    if found.asked or found.state != "unasked" or now < found.until_ms:
        return
    motor.show_below(cycle.words.say("may_i_follow_up"))
    motor.decide(InvitationAskedFor())
    motor.ask_permission(
        NewApproval(
            id=f"{INVITING}{secrets.token_hex(8)}",
            tool=Command.FOLLOW_UP_ON.value,
            arguments={},
            asked=(cycle.newest.author,),
            expires_ms=now + _ASKS_FOR_MS,
        )
    )


def _may_ask(cycle: Cycle, context: ProcessContext, motor: Motor) -> bool:
    newest, services, where = cycle.newest, cycle.services, cycle.claim.conversation
    in_person = newest.place is Place.DM and newest.modality is Modality.WORDS and not newest.bot
    known = Speaks.of(newest.author) is Speaks.PERSON and newest.author not in cycle.paused and not cycle.tells
    below = motor.approval is not None or motor.answers or motor.cut or not motor.reply
    return (
        in_person
        and known
        and not below
        and context.visit.number > FEWEST_VISITS
        and services.tick_budget(cycle.soul) is not None
        and cycle.channel.offers(where).unasked
        and context.cycle.thoughts.authority.level(Function.INITIATIVE) >= Level.CHECKED
    )


class WordsCame(LostLease):
    """A person wrote during an unasked thought. The thought that answers them takes its place."""


def shown_thinking(cycle: Cycle) -> AbstractAsyncContextManager[Callable[[str], None]]:
    """Show people that the soul thinks, and how, except for an unasked thought."""
    return nullcontext(lambda _: None) if cycle.is_tick else cycle.channel.thinking(cycle.newest)


async def cancel_on_message(cycle: Cycle, running: Coroutine[object, object, Delivery | None]) -> Delivery | None:
    """Return the result of a cycle. Raises WordsCame if it was unasked and a person writes during it."""
    if not cycle.is_tick:
        return await running
    try:
        return await cycle.interrupt.unless_called(running)
    except Interrupted:
        raise WordsCame("words came first", hint="nothing to do: they are answered") from None
