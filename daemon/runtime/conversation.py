"""Handles one claimed conversation to its end: the gate, the cycle under its deadline and lease, the apology."""

import asyncio
from contextlib import nullcontext
from functools import partial

from daemon.core.concurrency import alongside, time_limit
from daemon.core.errors import (
    CapMet,
    DaemonError,
    LostLease,
    ModelUnavailable,
    NotDelivered,
    StoreError,
    TickBudgetMet,
    of_machine,
)
from daemon.core.last_line import FAULTS, in_short, keep_lease
from daemon.core.perception import Modality, Perception, Place
from daemon.core.ports.arrivals import Source
from daemon.core.questions import is_news
from daemon.core.sentences import Sentence
from daemon.core.tempo import Skipped
from daemon.ism.permission import status_sentence
from daemon.memory.queues.claims import ReadersChanged
from daemon.memory.queues.commits import Superseded
from daemon.memory.queues.invitations import AskedBefore
from daemon.memory.queues.promises import TooManyPromises
from daemon.memory.queues.stops import Stopped
from daemon.memory.records import Claim, Delivery, InboxMessage, Turn, TurnKind
from daemon.mind.process import Interrupts
from daemon.runtime.away import away_note
from daemon.runtime.cycle import run_cycle
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.cycle_state import Cycle, ReadersUnknown, new_trace
from daemon.runtime.effects import LATER, apology_for, cap_words, effect_of_words, turns_of
from daemon.runtime.passing_on import pass_on
from daemon.runtime.people.answers import commit_answer
from daemon.runtime.people.reminders import pause_refused
from daemon.runtime.sensing import dismiss_unreadable_note, tell_others
from daemon.runtime.slots import Slots, end_stopped, is_stopped, watch_for_stop
from daemon.runtime.triage import Triaged
from daemon.runtime.unasked import (
    WordsCame,
    cancel_on_message,
    shown_thinking,
    waits_for_readers,
    waits_for_the_day,
    words_for_promises,
)

_CRASHES = 3  # claims of one message that ended without a reply before it gets an apology
_GATE_PAUSE = 5.0
_TO_TELL = 0.05  # of the deadline: an apology must be out in time, too
_RESTLESS = 3  # cycles that an edit voided, after which a message is not thought about in the last third of its time


class ConversationHandler:
    """The handler of claims. A claim guarantees that one conversation is handled by one call at a time."""

    def __init__(self, services: CycleServices, interrupts: Interrupts, slots: Slots) -> None:
        self._services = services
        self._interrupts = interrupts
        self.slots = slots
        self.deadline = (1 - _TO_TELL) * services.settings.deadline  # seconds from a message's arrival to its end
        self._began_ms = services.clock.now_ms()
        self._refusing = asyncio.Lock()  # or two refusals at once would each be the first of the day

    async def handle(self, claim: Claim) -> Delivery | None:
        """Answer, refuse or apologise, and commit. Return the first post, claimed for sending.

        Return None for nothing to send: no reply is due, the claim was lost, or it was given back for a retry. Raises
        StoreError when memory.db fails and CancelledError after giving the claim back.
        """
        cycle = Cycle(self._services, claim, new_trace())
        try:
            return await self._handle(cycle)
        except LostLease as lost:
            await self._let_go(cycle, lost)
        except asyncio.CancelledError:
            await self._services.store.conversations.release(cycle.claim, reason="stopped")
            raise
        return None

    async def _handle(self, cycle: Cycle) -> Delivery | None:
        try:
            triaged = await self._triage(cycle)
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - a failing gate admits no user and ends no other conversation
            await self._ask_gate_later(cycle.claim, error)
            return None
        if not cycle.messages:
            return await self._end_without_thought(cycle, triaged)
        return await self._answer(cycle)

    async def _answer(self, cycle: Cycle) -> Delivery | None:
        """Answer messages that the gate let in."""
        if is_stopped(cycle):
            return await self._end_stopped(cycle)
        if is_news(cycle.newest):
            return await self._pass_on(cycle)
        crowded = {one.perception.author for one in cycle.messages if one.crowded}
        if crowded.issuperset(one.perception.author for one in cycle.messages):  # another user's is thought about
            return await self._put_off(cycle)
        if await waits_for_the_day(cycle) or waits_for_readers(cycle):
            return await self._commit_words(cycle, "", ())
        with (
            self._interrupts.attend(str(cycle.claim.conversation)) as cycle.interrupt,
            self._services.at_work.works(cycle.claim.conversation, cycle.readers.audience) as cycle.does,
        ):
            if await self._services.store.conversations.has_new_messages(cycle.claim.conversation):
                cycle.interrupt.call()  # it came after the claim, and before this work was listed
            return await self._think(cycle)

    async def _pass_on(self, cycle: Cycle) -> Delivery | None:
        """Report on a question to a session. Give the claim back while the readers are unknown."""
        try:
            return await pass_on(cycle)
        except NotDelivered as error:
            await self._ask_gate_later(cycle.claim, error)
            return None

    async def _triage(self, cycle: Cycle) -> Triaged:
        """Ask the gate about the messages, and find the readers of the reply. Raises what they raise, and LostLease."""
        claim = cycle.claim
        for row in claim.unreadable:
            self._services.emit("inbox.dead", row=row, reason="the row can't be read")
        async with alongside(self._keep_lease(cycle)):
            triaged = await self._services.triage.sort(claim.messages, claim.bound)
            cycle.messages, cycle.dismissed, cycle.unanswered = triaged.messages, triaged.dismissed, triaged.unanswered
            cycle.outsider_spoke = claim.outsider_spoke or triaged.outsider_spoke
            if cycle.messages:
                await cycle.find_readers()
                await dismiss_unreadable_note(cycle)
        return triaged

    async def park(self, claim: Claim, error: Exception) -> None:
        """Give a claim back whose handling failed unexpectedly, and finally park its messages.

        A fault of the machine counts against no message.
        """
        services = self._services
        if of_machine(error):
            await services.store.conversations.release(claim, retry_in=_GATE_PAUSE, reason=in_short(error))
            return
        try:
            reply_to = services.channels.of(claim.conversation).reply_to(claim.messages[-1].perception)
        except Exception:  # noqa: BLE001 - the message itself may be what can't be handled
            reply_to = claim.conversation.posted_in
        attempts = max((one.attempts for one in claim.messages), default=1)
        retry_in = _GATE_PAUSE * 2 ** min(attempts, FAULTS)
        parked = await services.store.conversations.park(claim, in_short(error), reply_to=reply_to, retry_in=retry_in)
        event = "inbox.dead" if parked else "inbox.failed"
        services.emit(event, conversation=str(claim.conversation), **_as_fields(error))

    async def _ask_gate_later(self, claim: Claim, error: Exception) -> None:
        if not isinstance(error, DaemonError):
            await self.park(claim, error)
            return
        pause = error.retry_after if isinstance(error, NotDelivered) else 0.0
        event = "gate.waits" if isinstance(error, NotDelivered) else "gate.failed"
        self._services.emit(event, conversation=str(claim.conversation), **_as_fields(error))
        await self._services.store.conversations.release(claim, retry_in=pause or _GATE_PAUSE, reason=in_short(error))

    async def _think(self, cycle: Cycle) -> Delivery | None:
        services, claim = self._services, cycle.claim
        try:
            left = self._seconds_left(cycle)
            if (why := self._why_not_think(cycle, left)) is not None:
                services.emit("cycle.given_up", conversation=str(claim.conversation), trace=cycle.trace_id, why=why[0])
                return await self._apologise(cycle, *why)
            return await self._think_in_time(cycle, left)
        except Stopped:
            return await self._end_stopped(cycle)
        except ReadersUnknown as error:
            await self._ask_gate_later(claim, error)
            return None
        except StoreError:
            raise
        except Exception as error:
            if of_machine(error):
                raise
            return await self._end_failed(cycle, error)

    async def _end_failed(self, cycle: Cycle, error: Exception) -> Delivery | None:
        if cycle.is_tick:
            return await self._skip_tick(cycle, "budget" if isinstance(error, CapMet) else "breaker", error)
        if isinstance(error, CapMet):
            return await self._end_unanswered(cycle, cap_words(cycle, error), "a cap is met")
        where = {"conversation": str(cycle.claim.conversation), "trace": cycle.trace_id}
        if isinstance(error, TimeoutError):
            self._services.emit("cycle.failed", **where, reason="deadline")
            return await self._apologise(cycle, Sentence("what_too_slow"))
        self._services.emit("cycle.failed", **where, kind=type(error).__name__, **_as_fields(error))
        return await self._apologise(cycle, *apology_for(error))

    async def _skip_tick(self, cycle: Cycle, why: Skipped, error: Exception) -> Delivery | None:
        fields = {"kind": type(error).__name__, **_as_fields(error)}
        self._services.emit("tick.skipped", trace=cycle.trace_id, why=why, **fields)
        cycle.dismiss(why, alone=isinstance(error, TickBudgetMet) and error.alone)
        return await self._commit_words(cycle, *await words_for_promises(cycle))

    async def _think_in_time(self, cycle: Cycle, left: float) -> Delivery | None:
        """Run the cycle for at most `left` seconds, and report the model's health to the slots."""
        try:
            async with (
                time_limit(self._services.clock, left),
                alongside(self._keep_lease(cycle), watch_for_stop(cycle)),
                shown_thinking(cycle) as cycle.show_status,
            ):
                delivery = await cancel_on_message(cycle, run_cycle(cycle))
        except (ModelUnavailable, TimeoutError):
            if left > self.deadline / 2:  # with less time it is the queue that was too slow
                self.slots.struggled()
            raise
        self.slots.went_well()
        return delivery

    def _why_not_think(self, cycle: Cycle, left: float) -> tuple[Sentence, ...] | None:
        """Return the apology for messages that are not thought about (again), None when there is time to."""
        if any(one.attempts > _CRASHES for one in cycle.messages):
            return (Sentence("what_stumbled"),)
        if left < self.deadline / 3 and any(one.voided >= _RESTLESS for one in cycle.messages):
            return Sentence("what_changing"), Sentence("advice_write_anew")
        return (Sentence("what_too_much"),) if left <= 0 else None

    def _seconds_left(self, cycle: Cycle) -> float:
        """Return the seconds until the oldest message's deadline.

        They count from the message's arrival, the end of a pause of the gate, or the start of this daemon. A message
        read after a gap counts from now, since its author has waited long anyway. If edits voided its cycles it counts
        as the others, to end some day.
        """
        now = self._services.clock.now_ms()
        waited = [0] + [now - self._counts_from(one) for one in cycle.messages if _counts_at_all(one)]
        return self.deadline - max(waited) / 1000

    def _counts_from(self, message: InboxMessage) -> int:
        paused_until = 0 if message.voided else message.not_before
        return max(message.received_ms, paused_until, self._began_ms)

    async def _end_stopped(self, cycle: Cycle) -> Delivery | None:
        return await end_stopped(cycle, await self._approval_outcome(cycle.newest))

    async def _put_off(self, cycle: Cycle) -> Delivery | None:
        """Say, without a model call, that too many conversations of the user wait already."""
        cycle.dismiss("too many conversations of the user waited")
        self._services.emit("inbox.crowded", conversation=str(cycle.claim.conversation), author=cycle.newest.author)
        return await self._commit_words(cycle, cycle.words.say("crowded"), ())

    async def _end_without_thought(self, cycle: Cycle, triaged: Triaged) -> Delivery | None:
        """Commit a refusal where one is due, and an end for an open draft: no message may be answered.

        An approved action is reported as not done if its approver may not be answered, or it is too old.
        """
        if (paused := await pause_refused(cycle)) is not None:
            return await commit_answer(cycle, paused)
        is_gone = cycle.claim.draft is not None and away_note(cycle) is None
        gone = f"_{cycle.words.say('gone')}_" if is_gone else ""
        outcomes = [await self._approval_outcome(one.perception) for one in cycle.claim.messages]
        async with self._refusing if triaged.refusal else nullcontext():
            said = self._services.soul().words_in(triaged.language).tell(triaged.refusal)
            refusal = "" if await self._is_refused_quietly(cycle.claim, triaged, said) else said
            return await self._commit_words(cycle, refusal or "".join(outcomes).strip() or gone, ())

    async def _is_refused_quietly(self, claim: Claim, triaged: Triaged, said: str) -> bool:
        """Show a refusal to its user alone, and in a room only once a day, to spare other users."""
        refused = [one for one in claim.messages if one.id in triaged.dismissed]
        if not triaged.refusal or not refused or claim.draft is not None:
            return False
        message = refused[-1]
        if message.perception.place is Place.DM:
            return False
        reason = triaged.dismissed[message.id].reason
        if await self._services.store.conversations.was_refused_lately(message, reason):
            return True
        asked = message.perception
        key = asked.conversation
        channel = self._services.channels.of(key)
        thread = channel.reply_to(asked)
        thread = thread if thread != asked.ts else ""
        return await channel.whisper(key, asked.author, said, thread=thread)

    async def _apologise(self, cycle: Cycle, what: Sentence, advice: Sentence = LATER) -> Delivery | None:
        words = cycle.words
        apology = words.say("apology", what=words.tell(what), advice=words.tell(advice), reference=cycle.trace_id)
        return await self._end_unanswered(cycle, apology, what)

    async def _end_unanswered(self, cycle: Cycle, sorry: str, why: str) -> Delivery | None:
        """Reply with these words and the text of a due event. A silence timer and a program get no reply.

        Without words to say, the messages are kept as said.
        """
        newest, words = cycle.newest, cycle.words
        if newest.asks_nothing:
            cycle.dismiss("breaker" if cycle.is_tick else why)
            return await self._commit_words(cycle, *await words_for_promises(cycle))
        due = f"\n\n{words.say('due')}\n\n{newest.content}" if newest.modality is Modality.TIME else ""
        say = f"{sorry}{due}{await self._approval_outcome(newest)}".strip()
        if not say:
            return await self._commit_words(cycle, "", turns_of(cycle))
        return await self._commit_words(cycle, say, (*turns_of(cycle), cycle.says(say, TurnKind.APOLOGY)))

    async def _approval_outcome(self, perception: Perception) -> str:
        if perception.modality is not Modality.DECISION or not perception.params.get("approved"):
            return ""
        approvals, id_ = self._services.capabilities.approvals, str(perception.params.get("approval", ""))
        await approvals.end_cut_off_use(id_)
        known = await approvals.status(id_)
        words = self._services.soul().words_in(perception.language)
        return f"\n\n_({status_sentence(known, words)})_" if known is not None else ""

    async def _commit_words(self, cycle: Cycle, say: str, turns: tuple[Turn, ...]) -> Delivery | None:
        """Commit words of the daemon's own. Without a message left to answer they end the open draft.

        They may quote the soul's text of a scheduled event, so they are filtered as a reply is.
        """
        parts = cycle.channel.split(say, cycle.claim.conversation, cycle.hosts) if say else ()
        effect = effect_of_words(cycle, parts, turns)
        delivery = await self._services.store.commits.commit(effect)
        tell_others(cycle, effect)
        return delivery

    async def _let_go(self, cycle: Cycle, lost: LostLease) -> None:
        services, claim = self._services, cycle.claim
        await services.store.commits.record_calls(cycle.calls)
        if isinstance(lost, Superseded | ReadersChanged | Stopped | WordsCame | TooManyPromises | AskedBefore):
            text_changed = isinstance(lost, Superseded)
            await services.store.conversations.release(claim, reason=lost.message, text_changed=text_changed)
        else:
            services.emit("cycle.lost", conversation=str(claim.conversation), trace=cycle.trace_id, reason=lost.message)

    async def _keep_lease(self, cycle: Cycle) -> None:
        services = self._services

        async def renew() -> None:
            await services.store.conversations.renew(cycle.claim)

        log = partial(services.emit, "cycle.lease_not_renewed")
        await keep_lease(services.clock, services.settings.lease / 3, renew, log)


def _counts_at_all(message: InboxMessage) -> bool:
    return message.source is not Source.BACKFILL or message.voided >= _RESTLESS


def _as_fields(error: Exception) -> dict[str, object]:
    """Return an error as fields of an event: our own as its reason, any other whole, which the log shortens."""
    return {"reason": str(error)} if isinstance(error, DaemonError) else {"error": error}
