"""The clock that a daemon lives by: the machine's, or that of a local workspace in another process."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

from aiohttp import ClientError, ClientSession, ClientTimeout
from yarl import URL

from daemon.core.clock import SystemClock
from daemon.core.concurrency import alongside
from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.core.network import is_loopback
from daemon.core.ports.clock import Clock
from daemon.local_slack.clock import WorkspaceClock

_ANSWERS_S: Final = 5.0
_AGAIN_S: Final = 0.5  # real seconds between two tries to reach the workspace
_NO_TIME: Final = (ClientError, TimeoutError, ValueError, KeyError, TypeError, StopAsyncIteration)


@asynccontextmanager
async def clock_of(settings: Settings) -> AsyncIterator[Clock]:
    """The machine's clock; with `SOUL_REHEARSAL_CLOCK` one that is moved forward with the local workspace's.

    The workspace keeps its time, so that a daemon that starts again goes on from there. Raises ConfigError where
    Slack's address isn't on this machine, or is none of a local workspace.
    """
    if not settings.rehearsal_clock:
        yield SystemClock()
        return
    url = URL(settings.slack_api_url)
    if not is_loopback(url.host or ""):
        raise ConfigError(
            f"SOUL_REHEARSAL_CLOCK moves time with a local workspace, and {url.host} is not on this machine",
            hint="unset SOUL_REHEARSAL_CLOCK, or let SLACK_API_URL name a local workspace",
        )
    clock, known = WorkspaceClock(SystemClock()), asyncio.Event()
    forever = ClientTimeout(total=None, sock_connect=_ANSWERS_S)
    async with (
        ClientSession(headers=_headers(settings), timeout=forever) as session,
        alongside(clock.run(), _follow(session, url.with_path("/clock"), clock, known)),
    ):
        try:
            async with asyncio.timeout(_ANSWERS_S):
                await known.wait()
        except TimeoutError:
            raise ConfigError(
                f"no local workspace says its time at {url.origin()}",
                hint="start it before the daemon and give the daemon its tokens, or unset SOUL_REHEARSAL_CLOCK",
            ) from None
        yield clock


async def clock_at_hand(settings: Settings) -> Clock | None:
    """The clock of `clock_of` for what ends soon, moved to the time of now; None where no local workspace says it."""
    url, clock = URL(settings.slack_api_url), WorkspaceClock(SystemClock())
    if is_loopback(url.host or ""):
        with suppress(*_NO_TIME):
            once = ClientTimeout(total=_ANSWERS_S)
            async with (
                ClientSession(headers=_headers(settings), timeout=once) as session,
                aclosing(_times(session, url.with_path("/clock"))) as times,
            ):
                clock.advance(max(0.0, await anext(times) - clock.now()))
                return clock
    return None


def _headers(settings: Settings) -> dict[str, str]:
    token = settings.slack_bot_token.get_secret_value() if settings.slack_bot_token else ""
    return {"Authorization": f"Bearer {token}"}


async def _times(session: ClientSession, url: URL) -> AsyncGenerator[float, None]:
    """The time of the workspace (seconds since the epoch), at once and whenever it was moved. Raises `_NO_TIME`."""
    async with session.get(url) as response:
        response.raise_for_status()
        async for line in response.content:
            if line.startswith(b"data: "):
                yield float(json.loads(line[6:])["now"])


async def _follow(session: ClientSession, url: URL, clock: WorkspaceClock, known: asyncio.Event) -> None:
    """Move the clock forward whenever the workspace's is ahead of it; a connection that ends is made again."""
    while True:
        with suppress(*_NO_TIME):
            async for now in _times(session, url):
                clock.advance(max(0.0, now - clock.now()))
                known.set()
        await SystemClock().sleep(_AGAIN_S)
