"""Handles one claimed conversation to a visible end: the gate, the cycle under its deadline and lease, the apology."""

import asyncio
from dataclasses import dataclass, replace

from daemon.core.concurrency import alongside
from daemon.core.errors import ConfigError, DaemonError, LostLease, ModelRefused, NotDelivered, StoreBusy, StoreError
from daemon.core.perception import Modality, Perception
from daemon.ism.permission import standing
from daemon.memory.queues.commits import Superseded
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.records import Claim, Delivery, Speaks, Turn
from daemon.mind.attention import Switchboard
from daemon.runtime.admission import Sorted
from daemon.runtime.cycle import Cycle, House, call_when_heard_elsewhere, new_trace, run_cycle
from daemon.runtime.effects import heard_turn, posted_after

_CRASHES = 3  # claims of one message that ended without a word before it is given up with an apology
_GATE_PAUSE = 5.0
_LATER = "Please try again in a while."


@dataclass(frozen=True, slots=True)
class Patience:
    """How long things may take, in seconds: one cycle, a claim without renewal."""

    deadline: float
    lease: float


class ConversationHandler:
    """Brings claims to their end; one call at a time per conversation is what the claim guarantees."""

    def __init__(self, house: House, patience: Patience, switchboard: Switchboard) -> None:
        self._house = house
        self._patience = patience
        self._switchboard = switchboard

    async def handle(self, claim: Claim) -> Delivery | None:
        """Answer, refuse or apologise, and commit; returns the first post, claimed for sending.

        None: nothing is to be sent by us (no reply is due, the claim was lost, or it was given back to be tried again).
        Raises StoreError when memory.db fails and CancelledError after giving the claim back.
        """
        trace = new_trace()
        try:
            async with alongside(self._keep_lease(claim)):
                chosen = await self._house.admission.sort(claim.heard)
        except LostLease as lost:
            await self._let_go(Cycle(self._house, claim, (), (), {}, trace), lost)
            return None
        except StoreError:
            raise
        except asyncio.CancelledError:
            await self._house.conversations.release(claim, reason="stopped")
            raise
        except Exception as error:  # noqa: BLE001 - a gate that fails lets nobody in, and takes nobody else down
            await self._ask_again_later(claim, error)
            return None
        if not chosen.perceptions:
            return await self._end_without_thought(claim, chosen, trace)
        with self._switchboard.attend(str(claim.conversation)) as attention:
            cycle = Cycle(self._house, claim, chosen.perceptions, chosen.answered, chosen.ignored, trace, attention)
            return await self._think(cycle)

    async def _ask_again_later(self, claim: Claim, error: Exception) -> None:
        """The platform can't be asked who somebody is; in the end such a message is too old and told so."""
        pause = error.retry_after if isinstance(error, NotDelivered) else 0.0
        self._house.emit("gate.failed", conversation=str(claim.conversation), **_of(error))
        await self._house.conversations.release(claim, retry_in=pause or _GATE_PAUSE, reason=_in_short(error))

    async def _think(self, cycle: Cycle) -> Delivery | None:
        house, claim = self._house, cycle.claim
        try:
            if any(one.attempts > _CRASHES for one in cycle.answered):
                return await self._apologise(cycle, "I stumbled over this message several times")
            async with (
                alongside(
                    self._end_at_the_deadline(),
                    self._keep_lease(claim),
                    call_when_heard_elsewhere(cycle.attention, claim.conversation, house),
                ),
                house.channel.thinking(cycle.newest),
            ):
                return await run_cycle(cycle)
        except LostLease as lost:
            await self._let_go(cycle, lost)
            return None
        except StoreError:
            raise
        except asyncio.CancelledError:
            await house.conversations.release(claim, reason="stopped")
            raise
        except TimeoutError:
            house.emit("cycle.failed", conversation=str(claim.conversation), trace=cycle.trace_id, reason="deadline")
            return await self._apologise(cycle, "I took too long to think about this")
        except Exception as error:  # noqa: BLE001 - the one broad except: whatever breaks in a cycle, a person gets a word
            self._tell(cycle, error)
            return await self._apologise(cycle, *_what_happened(error))

    def _tell(self, cycle: Cycle, error: Exception) -> None:
        self._house.emit(
            "cycle.failed",
            conversation=str(cycle.claim.conversation),
            trace=cycle.trace_id,
            kind=type(error).__name__,
            **_of(error),
        )

    async def _end_without_thought(self, claim: Claim, chosen: Sorted, trace: str) -> Delivery | None:
        """Nobody may be answered, or everything was withdrawn: a refusal where one is due, an end for an open draft.

        What was allowed by somebody who may not be heard (any more), or too long ago, is told as not done.
        """
        gone = "_(The message I was answering is gone.)_" if claim.draft is not None else ""
        undone = "".join([await self._decided(one.perception()) for one in claim.heard]).strip()
        cycle = Cycle(self._house, claim, (), (), chosen.ignored, trace)
        return await self._commit_words(cycle, chosen.refusal or undone or gone, ())

    async def _apologise(self, cycle: Cycle, what: str, advice: str = _LATER) -> Delivery | None:
        """Say that it went wrong; what nobody waits for just ends, and a note that fell due is at least shown."""
        newest = cycle.newest
        if newest.modality is Modality.TIME and not newest.content.strip():
            cycle.ignored = {**cycle.ignored, **{one.id: what for one in cycle.answered}}
            return await self._commit_words(cycle, "", ())
        due = f"\n\nThis had fallen due:\n\n{newest.content}" if newest.modality is Modality.TIME else ""
        say = f"I'm sorry: {what}. {advice} (Reference {cycle.trace_id}){due}{await self._decided(newest)}"
        turns = tuple(heard_turn(one) for one in cycle.perceptions if one.modality is Modality.WORDS)
        soul = self._house.soul()
        turns += (Turn(Speaks.SOUL, soul.name, soul.display_name, cycle.newest.ts, say, {"apology": True}),)
        return await self._commit_words(cycle, say, turns)

    async def _decided(self, perception: Perception) -> str:
        """What became of an act that somebody allowed, who has to know it whatever went wrong."""
        approvals = self._house.means.approvals
        if perception.modality is not Modality.DECISION or not perception.params.get("approved") or approvals is None:
            return ""
        known = await approvals.status(str(perception.params.get("approval", "")))
        return f"\n\n_({standing(known)})_" if known is not None else ""

    async def _commit_words(self, cycle: Cycle, say: str, turns: tuple[Turn, ...]) -> Delivery | None:
        """Commit words that no model made. Without a message left to answer they end the draft that is open."""
        claim = cycle.claim
        newest = claim.heard[-1].perception() if claim.heard else None
        effect = CycleEffect(
            claim=claim,
            trace_id=cycle.trace_id,
            state=claim.state,
            spell=replace(claim.spell, spoken_ms=self._house.clock.now_ms()) if turns else claim.spell,
            turns=turns,
            parts=self._house.channel.split(say) if say else (),
            reply_to=self._house.channel.reply_to(newest) if newest else "",
            recipient=newest.source if newest else "",
            posted_after=posted_after(claim.heard[0].perception()) if claim.heard else "0",
            answered=tuple(one for one in cycle.answered if one.id not in cycle.ignored),
            ignored=cycle.ignored,
            calls=tuple(cycle.calls),
            silence_ms=self._house.habits.silence_ms,
        )
        try:
            return await self._house.commits.commit(effect)
        except LostLease as lost:
            await self._let_go(cycle, lost)
            return None

    async def _let_go(self, cycle: Cycle, lost: LostLease) -> None:
        """Somebody else has the claim by now; or its messages have changed, and are to be answered anew."""
        house, claim = self._house, cycle.claim
        await house.commits.record_calls(cycle.calls)
        if isinstance(lost, Superseded):
            await house.conversations.release(claim, reason=lost.message)
        else:
            house.emit("cycle.lost", conversation=str(claim.conversation), trace=cycle.trace_id, reason=lost.message)

    async def _end_at_the_deadline(self) -> None:
        """Raises TimeoutError when a cycle has taken its time."""
        await self._house.clock.sleep(self._patience.deadline)
        raise TimeoutError

    async def _keep_lease(self, claim: Claim) -> None:
        """Renew the claim again and again. Raises LostLease when somebody else has taken it."""
        while True:
            await self._house.clock.sleep(self._patience.lease / 3)
            try:
                await self._house.conversations.renew(claim)
            except StoreBusy as busy:  # the fence holds even if the lease runs out
                self._house.emit("cycle.lease_not_renewed", reason=busy.message)


def _in_short(error: Exception) -> str:
    """What memory.db keeps of an error; a stranger's words may quote what it choked on."""
    return error.message if isinstance(error, DaemonError) else type(error).__name__


def _of(error: Exception) -> dict[str, object]:
    """An error as an event's fields: ours with its reason, a stranger's whole: the log shows what it may of it."""
    return {"reason": str(error)} if isinstance(error, DaemonError) else {"error": error}


def _what_happened(error: Exception) -> tuple[str, str]:
    """What to tell a person and what they can do; details go to the log under the reference."""
    match error:
        case ConfigError():
            return "something in my set-up is wrong", "My keeper finds the reason in my log."
        case ModelRefused():
            return "the model that I think with refused this", "Put it differently, or tell my keeper if it goes on."
        case DaemonError():
            return "I can't think clearly just now", _LATER
    return "something inside me broke while I was thinking", _LATER
