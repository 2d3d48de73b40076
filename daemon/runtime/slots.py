"""The number of conversations that a soul works on at once, and the end of a stopped reply."""

import asyncio

from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.perception import Modality
from daemon.core.phrases import means_stop
from daemon.core.ports.services import Clock
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.queues.stops import Stopped
from daemon.memory.records import Delivery, ProcessState, TurnKind
from daemon.mind.pipelines import DECISION_PROCESS
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.effects import effect_of_words, turns_of

_FEWEST = 2
_HALVED_AT_MOST_EVERY = 10.0  # seconds; a burst of failures is one sign, not many


class Slots:
    """A semaphore with at most `most` slots, and fewer while the model struggles.

    A model that is overloaded, rate limited or too slow halves the number, at most once in ten seconds. Each reply
    that succeeds gives a part of a slot back. A quarter of the slots is kept for DMs, against a flood in channels.
    """

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._fewest = min(_FEWEST, most)
        self._limit = float(most)
        self._clock = clock
        self._halved_at = -_HALVED_AT_MOST_EVERY
        self._taken = 0
        self._freed = asyncio.Event()

    @property
    def limit(self) -> int:
        return int(self._limit)

    def only_for_dms(self, *, holding: int = 0) -> bool:
        """Return whether only the slots for DMs are left, for a caller that holds so many of the taken ones."""
        kept = self.limit // 4
        return kept > 0 and self._taken - holding >= self.limit - kept

    async def acquire(self) -> None:
        while self._taken >= self.limit:
            self._freed.clear()
            await self._freed.wait()
        self._taken += 1

    def release(self) -> None:
        self._taken -= 1
        self._freed.set()

    def went_well(self) -> None:
        self._limit = min(float(self._most), self._limit + 2 / self._limit)
        self._freed.set()

    def struggled(self) -> None:
        now = self._clock.monotonic()
        if now - self._halved_at >= _HALVED_AT_MOST_EVERY:
            self._halved_at = now
            self._limit = max(float(self._fewest), self._limit / 2)


_CENT = 0.01  # US dollars; a lower cost is shown in tokens alone


async def watch_for_stop(cycle: Cycle) -> None:
    """Read memory.db at each news of the conversation, until cancelled. Raises Stopped."""
    while True:
        try:
            stopped = await cycle.services.store.conversations.stopped_messages(cycle.claim.conversation)
        except StoreError as error:
            cycle.services.emit("store.failed", reason=error.message, hint=error.hint)
            stopped = frozenset()
        if stopped:
            raise Stopped("a person stopped it", hint="nothing to do: the reply ends as it stands")
        await cycle.interrupt.news()


def is_stopped(cycle: Cycle) -> bool:
    return any(one.stopped for one in cycle.messages)


async def end_stopped(cycle: Cycle, outcome: str = "") -> Delivery | None:
    """Commit the end of a stopped cycle. Messages that came in between go back and are answered.

    `outcome` reports on an action that had been allowed. Raises StoreError and LostLease.
    """
    services = cycle.services
    stopped = await services.store.conversations.stopped_messages(cycle.claim.conversation)
    cycle.messages = tuple(one for one in cycle.messages if one.id in stopped) or cycle.messages
    shown = cycle.speech.shown.strip() if cycle.speech is not None else ""
    text = f"_{_last_words(cycle, begun=bool(shown))}_{outcome}" if _is_due(cycle, shown) else ""
    parts = cycle.channel.split(text, cycle.claim.conversation, cycle.hosts) if text else ()
    delivery = await services.store.commits.commit(_effect(cycle, parts, shown))
    services.emit("cycle.stopped", conversation=str(cycle.claim.conversation), trace=cycle.trace_id)
    return delivery


def _is_due(cycle: Cycle, shown: str) -> bool:
    """Return whether words are due: not after a mere stop, nor after an unasked thought of which nothing was shown."""
    newest = cycle.newest
    silence = newest.asks_nothing and newest.modality is not Modality.EVENT
    silence = silence or all(means_stop(one.perception.content) for one in cycle.messages)
    return bool(shown or cycle.claim.draft or not silence)


def _last_words(cycle: Cycle, *, begun: bool) -> str:
    said = cycle.words.say("stop_begun" if begun or cycle.claim.draft is not None else "stop_before")
    tokens, usd = cycle.usage()
    if not tokens:
        return said
    spent = cycle.words.say("stop_spent_usd", tokens=f"{tokens:,}", usd=f"{usd:.2f}") if usd >= _CENT else ""
    return f"{said} {spent or cycle.words.say('stop_spent', tokens=f'{tokens:,}')}"


def _effect(cycle: Cycle, parts: tuple[str, ...], shown: str) -> CycleEffect:
    state, lapses = cycle.claim.state, tuple[str, ...]()
    turns = turns_of(cycle)
    if shown:
        turns = (*turns, cycle.says(shown, TurnKind.CUT, passing=bool(cycle.paused)))
    if state.process == DECISION_PROCESS:  # a waiting problem and its question are given up, too
        lapses = tuple(filter(None, (str(state.process_memory.get("approval", "")),)))
        state = ProcessState("engaged", state.process)
    effect = effect_of_words(cycle, parts, turns)
    return replace(effect, stops=True, lapses=lapses, state=state, rooms=cycle.readers.rooms)
