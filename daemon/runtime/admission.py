"""Sorts what was heard: who may be answered now, what is ignored and why, what has to wait for a turn of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from daemon.core.perception import Modality, Perception
from daemon.core.ports import Clock, Emit, Gate, Source
from daemon.memory.queues.commits import STALE
from daemon.memory.records import Heard

IDLE = ("dormant", "exiting")
"""Processes that silence alone calls for; words end the silence."""

_LATE_S = 120.0  # a message that waited longer, in Slack or here, is answered as late


@dataclass(frozen=True, slots=True)
class Sorted:
    """Claimed messages after the gate: those to answer with their perceptions, those to ignore with the reason.

    What is in neither waits for the next claim.
    """

    answered: tuple[Heard, ...] = ()
    perceptions: tuple[Perception, ...] = ()
    ignored: dict[str, str] = field(default_factory=dict)
    refusal: str = ""


class Admission:
    """The gate's doorkeeper; messages older than `stale_after` seconds are not let in."""

    def __init__(self, gate: Gate, clock: Clock, emit: Emit, *, stale_after: float) -> None:
        self._gate = gate
        self._clock = clock
        self._emit = emit
        self._stale_after = stale_after

    async def sort(self, heard: Sequence[Heard]) -> Sorted:
        """Ask the gate about each. Raises NotDelivered when the platform can't be asked just now."""
        answered, perceptions, ignored, refusal = [], [], _no_longer_idle(heard), ""
        for one in _of_one_kind([one for one in heard if one.id not in ignored]):
            now = self._clock.now_ms()
            if self._age(one, now) > self._stale_after:
                ignored[one.id] = STALE
                self._emit("inbox.stale", id=one.id, age_s=round(self._age(one, now)))
                continue
            late = self._age(one, now) > _LATE_S
            admission = await self._gate.admit(one.perception(late=late))
            if admission.admitted:
                answered.append(one)
                perceived = replace(one.perception(name=admission.name, late=late), outsider=admission.outsider)
                perceptions.append(replace(perceived, received_ms=now) if late else perceived)
            else:
                ignored[one.id] = admission.reason
                refusal = refusal or (admission.say if one.modality is Modality.WORDS else "")
                self._emit("gate.refused", id=one.id, reason=admission.reason)
        return Sorted(tuple(answered), tuple(perceptions), ignored, refusal)

    def _age(self, one: Heard, now: int) -> float:
        """Seconds since it was said; live messages are young when they come, so their arrival counts."""
        return now / 1000 - (float(one.ts) if one.source is Source.BACKFILL else one.received_ms / 1000)


def _no_longer_idle(heard: Sequence[Heard]) -> dict[str, str]:
    if all(one.modality is Modality.TIME for one in heard):
        return {}
    return {one.id: "no longer idle" for one in heard if one.modality is Modality.TIME and one.process in IDLE}


def _of_one_kind(heard: Sequence[Heard]) -> Sequence[Heard]:
    """What can be answered together: all words, else one decision, else one thing that has fallen due."""
    words = [one for one in heard if one.modality is Modality.WORDS]
    decisions = [one for one in heard if one.modality is Modality.DECISION]
    return words or decisions[:1] or heard[:1]
