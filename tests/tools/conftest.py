"""A toolbox of any servers, whose programs end with the test."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from daemon.core.ports.library import Toolbox
from daemon.tools.mcp.toolbox import open_toolbox
from tests.fakes import Events, FakeClock
from tests.programs import ends_awaited
from tests.tools.parts import KnownTools, listing

Opening = Callable[..., AbstractAsyncContextManager[Toolbox]]


@pytest.fixture
async def opening(tmp_path: Path, clock: FakeClock, events: Events) -> AsyncIterator[Opening]:
    def opened(**servers: object) -> AbstractAsyncContextManager[Toolbox]:
        return open_toolbox(listing(tmp_path, **servers), clock, events, KnownTools())

    async with ends_awaited():
        yield opened
