"""Machines ask for keys without an admin: a code to begin with, and the key once its person has allowed it in Slack."""

from collections.abc import Awaitable, Callable

from daemon.core.pairing import Begun, NoSuchCode, Paired, PairingOver, PairingState
from daemon.core.ports.clock import Clock
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.telemetry import Emit
from daemon.memory.shared.pairings import PairingStore
from daemon.shared.news import StoreNews

_WHY = {
    PairingState.REFUSED: "the person refused it",
    PairingState.FETCHED: "its key was fetched before, and has ended now",
    PairingState.DEAD: "the code is dead: it was typed wrongly too often, by two people, or where others read",
}


class MachinePairing:
    """The codes of a workspace, for the door; `standing_of` asks the gate about a person who writes to the `soul`."""

    def __init__(
        self,
        store: PairingStore,
        clock: Clock,
        emit: Emit,
        news: StoreNews,
        *,
        standing_of: Callable[[str], Awaitable[GateDecision]],
        soul: Callable[[], str],
    ) -> None:
        self._store = store
        self._clock = clock
        self._emit = emit
        self._news = news
        self._standing_of = standing_of
        self._soul = soul

    async def begin(self, machine: str, asker: str) -> Begun:
        """A code for a machine that calls itself so; `asker` is who asks for it. Raises TooManyCodes and StoreError."""
        begun = await self._store.begin(machine, asker, self._soul())
        self._emit("pairing.begun")
        return begun

    async def fetch(self, code: str, secret: str, seconds: float) -> Paired | None:
        """The key once it is allowed, one time; None where nobody has decided within so many seconds.

        Raises NoSuchCode, PairingOver, StoreError, and NotDelivered while Slack can't say who the person is.
        """
        until = self._clock.monotonic() + seconds
        while True:
            since = self._news.count
            found = await self._store.of_machine(code, secret)
            if found.state is PairingState.FETCHED:  # by another, or its answer was lost: that key is not to be trusted
                await self._store.end(found)
                self._emit("pairing.fetched_twice", key_id=found.key)
            if (why := _WHY.get(found.state)) is not None:
                raise PairingOver(why, hint="begin again with POST /api/pair")
            if found.until_ms <= self._clock.now_ms():
                raise NoSuchCode("the code is over", hint="begin again with POST /api/pair")
            if found.state is PairingState.ALLOWED:
                standing = await self._standing_of(found.person)
                if not standing.admitted:
                    raise PairingOver("the person is not let in any more", hint="ask the soul's admin")
                paired = await self._store.hand_out(found, standing.name)
                self._emit("pairing.fetched", key_id=found.key)
                return paired
            if self._clock.monotonic() >= until:
                return None
            await self._news.heard(since)
