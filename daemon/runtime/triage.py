"""Sorts claimed messages: answered now, dismissed with a reason, or left for the next claim."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import field
from msgspec.structs import replace

from daemon.core.perception import Modality, Perception
from daemon.core.phrases import phrase_said
from daemon.core.ports.arrivals import Source
from daemon.core.ports.services import Clock, Emit, GateDecision
from daemon.core.questions import BoundThread, is_news
from daemon.core.tempo import REFLECTING
from daemon.core.value import Value
from daemon.memory.queues.tick_ends import NO_LONGER_IDLE
from daemon.memory.queues.typed_commands import MESSAGE, TYPED
from daemon.memory.records import Dismissal, InboxMessage

Admit = Callable[[Perception], Awaitable[GateDecision]]
"""The function that authorizes. It raises NotDelivered when the platform is unreachable."""

IDLE = ("dormant", "exiting", REFLECTING)
"""The processes that only a silence or the soul itself enters. A new message cancels them."""

_UNSAID = frozenset({Modality.TIME, Modality.SENSE})
_TOLD_WITHIN_S = 86_400.0  # a message that is older still is dismissed without a word and without asking the gate
_LATE_S = 120.0  # a message that waited longer, in Slack or here, is answered as late


class Triaged(Value):
    """Claimed messages after the gate: those to answer, with complete perceptions, and those dismissed, by row id.

    A message in neither waits for the next claim. `refusal` is the sentence for a user whom the gate turned away,
    `language` the tag of that user's language. `outsider_spoke`: the author of one of them isn't known to be a full
    member of the workspace. `unanswered` are dismissed messages that were only too old.
    """

    messages: tuple[InboxMessage, ...] = ()
    dismissed: dict[str, Dismissal] = field(default_factory=dict)
    refusal: str = ""
    language: str = ""
    outsider_spoke: bool = False
    unanswered: tuple[InboxMessage, ...] = ()


class Triage:
    """The sorter that asks the gate about each message. A message older than `stale_after` seconds is stale."""

    def __init__(self, admit: Admit, clock: Clock, emit: Emit, *, stale_after: float) -> None:
        self._admit = admit
        self._clock = clock
        self._emit = emit
        self.stale_after = stale_after

    async def sort(self, messages: Sequence[InboxMessage], bound: BoundThread | None = None) -> Triaged:
        """Sort claimed messages. `bound` is the session to which the thread belongs.

        Raises NotDelivered when the platform can't be asked about a user just now.
        """
        admitted, unanswered, dismissed, refusal, language = [], [], _no_longer_idle(messages), "", ""
        outsider_spoke = False
        for message in _of_one_kind([one for one in messages if one.id not in dismissed], bound):
            now = self._clock.now_ms()
            if (age := _age(message, now)) > self.stale_after and not is_news(message.perception):
                unanswered += await self._to_be_told(message, age)
                dismissed[message.id] = Dismissal("too old to answer", stale=True)
                self._emit("inbox.stale", id=message.id, age_s=round(age))
                continue
            late = age > _LATE_S
            perception = replace(message.perception, late=late)
            decision = await self._admit(perception)
            outsider_spoke = outsider_spoke or decision.outsider
            if decision.admitted:
                named = replace(perception, name=decision.name, zone=decision.zone, language=decision.language)
                named = replace(named, bot=decision.bot)
                admitted.append(replace(message, perception=replace(named, received_ms=now) if late else named))
            else:
                dismissed[message.id] = Dismissal(decision.reason)
                if not refusal and (perception.modality is Modality.WORDS or MESSAGE in perception.params):
                    refusal, language = decision.say, decision.language
                self._emit("gate.refused", id=message.id, reason=decision.reason)
        return Triaged(tuple(admitted), dismissed, refusal, language, outsider_spoke, tuple(unanswered))

    async def _to_be_told(self, message: InboxMessage, age: float) -> list[InboxMessage]:
        """Return a stale message if its author may learn that it is not answered. Raises NotDelivered."""
        perception = message.perception
        if perception.modality is not Modality.WORDS or age > self.stale_after + _TOLD_WITHIN_S:
            return []
        decision = await self._admit(perception)
        told = replace(message, perception=replace(perception, language=decision.language))
        return [told] if decision.admitted and not decision.bot else []


def _age(message: InboxMessage, now: int) -> float:
    """Return the seconds since a backfilled message was written, or since a live one arrived."""
    perception = message.perception
    began = float(perception.ts) if message.source is Source.BACKFILL else perception.received_ms / 1000
    return now / 1000 - began


def _no_longer_idle(messages: Sequence[InboxMessage]) -> dict[str, Dismissal]:
    perceptions = [one.perception for one in messages]
    if all(one.modality in _UNSAID for one in perceptions):
        return {}
    idle = [one for one in perceptions if one.modality in _UNSAID and one.process in IDLE]
    return {one.id: Dismissal(NO_LONGER_IDLE) for one in idle}


def before_one_alone(messages: Sequence[InboxMessage], bound: BoundThread | None) -> Sequence[InboxMessage]:
    """Return the messages before the first one that gets a separate answer without a thought of the soul.

    These are phrases that are obeyed without a model, and messages to the session of a bound thread.
    """
    alone = (
        number
        for number, one in enumerate(messages)
        if TYPED in one.perception.params
        or phrase_said(one.perception) is not None
        or (bound is not None and bound.takes(one.perception))
    )
    return messages[: next(alone, len(messages))]


def _of_one_kind(messages: Sequence[InboxMessage], bound: BoundThread | None) -> Sequence[InboxMessage]:
    """Return the messages that one reply can answer: all words, else one decision, else events of programs, else one.

    Messages that a person stopped come first, since their reply only has to be ended.
    """
    if stopped := [one for one in messages if one.stopped]:
        return stopped
    said = [one for one in messages if one.perception.modality is Modality.WORDS]
    words = before_one_alone(said, bound) or said[:1]
    decisions = [one for one in messages if one.perception.modality is Modality.DECISION]
    events = [one for one in messages if one.perception.modality is Modality.EVENT]
    return words or decisions[:1] or events or messages[:1]
