"""Bells: a process that stored what others may wait for rings them, over datagram sockets in one folder of SOUL_HOME.

A ring says no more than of which kind the news is; who hears one looks into memory.db. Rings may be lost, and where a
socket can't be made there are none: whoever waits looks by itself every POLL_S seconds, too.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from daemon.core.bell_sockets import FOLDER, STATE, WORK, bells_in, hang, ring_all, take_in
from daemon.core.concurrency import Bell, set_within
from daemon.core.ports.clock import Clock
from daemon.memory.queues.presence import ProcessIdentity

POLL_S: Final = 2.0
"""Seconds after which one who waits looks without a ring."""

_PAUSE_S: Final = 0.02  # between two rings of one process


class Bells:
    """This process's bell, and the way to ring all others; `open_bells` makes one.

    `missed` rings when a bell refuses: a process is dead, and what it held is free.
    """

    def __init__(self, home: Path, clock: Clock, own: socket.socket | None = None, name: str = "") -> None:
        self.missed = Bell()
        self._folder = home / FOLDER
        self._clock = clock
        self._own = own
        self._name = name
        self._heard = asyncio.Event()
        self._rings = 0
        self._called = asyncio.Event()
        self._calls = 0
        self._rang = float("-inf")
        self._later: asyncio.TimerHandle | None = None
        self._words = frozenset[bytes]()
        self._refused = frozenset[str]()

    def ring(self) -> None:
        """Say to all processes, this one too, that what is shared has changed; many calls of a moment are one ring."""
        self._hear()
        self._ring_soon(STATE)

    def ring_for_work(self) -> None:
        """Say to all other processes that something waits to be done; many calls of a moment are one ring."""
        self._ring_soon(WORK)

    @property
    def folder(self) -> Path:
        """Where the bells of all hang."""
        return self._folder

    @property
    def hangs(self) -> bool:
        """Whether this process hears the others' rings; else it looks by itself, and its death is no proof."""
        return self._own is not None

    @property
    def rings(self) -> int:
        """How many rings for what is shared were heard so far."""
        return self._rings

    async def heard(self, since: int | None = None) -> None:
        """Wait for the next news of what is shared, or for POLL_S seconds.

        Not at all where more than `since` rings were heard.
        """
        if since is None or self._rings <= since:
            await set_within(self._heard, self._clock, POLL_S)

    @property
    def calls(self) -> int:
        """How many rings for work were heard so far."""
        return self._calls

    async def called(self, since: int) -> None:
        """Wait until more than `since` rings for work were heard: none that comes while one looks is lost."""
        if self._calls <= since:
            await self._called.wait()

    async def called_within(self, seconds: float, since: int) -> None:
        """Wait until more than `since` rings for work were heard, at most `seconds`."""
        if self._calls <= since:
            await set_within(self._called, self._clock, seconds)

    def listen(self) -> None:
        """Take in the rings that have arrived."""
        assert self._own is not None  # only then is it listened to
        words = take_in(self._own)
        if STATE in words:
            self._hear()
        if WORK in words:
            self._called = _set(self._called)
            self._calls += 1

    def close(self) -> None:
        """Stop a ring that waits, after ringing it."""
        if self._later is not None:
            self._later.cancel()
            self._ring_others()

    def _hear(self) -> None:
        self._heard = _set(self._heard)
        self._rings += 1

    def _ring_soon(self, word: bytes) -> None:
        self._words |= {word}
        if self._later is None:
            loop = asyncio.get_running_loop()
            self._later = loop.call_later(max(0.0, self._rang + _PAUSE_S - loop.time()), self._ring_others)

    def _ring_others(self) -> None:
        self._later, self._rang = None, asyncio.get_running_loop().time()
        words, self._words = b"".join(sorted(self._words)), frozenset()
        refused = frozenset(ring_all((one for one in bells_in(self._folder) if one.name != self._name), words))
        if refused - self._refused:
            self.missed.ring()
        self._refused = refused


def wake_all(others: Bells, own: Sequence[Bell]) -> None:
    """Have the souls of this daemon look for what waits, by their own bells, and the other daemons."""
    others.ring_for_work()
    for bell in own:
        bell.ring()


@asynccontextmanager
async def open_bells(home: Path, clock: Clock) -> AsyncIterator[Bells]:
    """The bells of the daemons and commands that share `home`; this process's own is there until the block ends."""
    hung = hang(home / FOLDER, ProcessIdentity.current().bell)
    if hung is None:
        bells = Bells(home, clock)
        try:
            yield bells
        finally:
            bells.close()
        return
    own, path = hung
    bells = Bells(home, clock, own, path.name)
    loop = asyncio.get_running_loop()
    loop.add_reader(own, bells.listen)
    try:
        yield bells
    finally:
        bells.close()
        loop.remove_reader(own)
        path.unlink(missing_ok=True)  # before it is closed: while it hangs it must not refuse
        own.close()


def _set(event: asyncio.Event) -> asyncio.Event:
    """Wake all who wait for an event; gives the one to wait for from now on."""
    event.set()
    return asyncio.Event()
