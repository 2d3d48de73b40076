"""A daemon that dies at any commit of a message: the next daemon gives one reply, and never a second."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import aiohttp
import pytest

from tests.fakes import TIMEOUT
from tests.http.births import Births, zygote_of_daemons


def _new(home: Path) -> Path:
    home.mkdir()
    return home


@pytest.fixture
async def births() -> AsyncIterator[Births]:
    async with zygote_of_daemons() as made:
        yield made


@pytest.mark.slow
async def test_death_at_any_commit_loses_nothing_and_doubles_nothing(births: Births, tmp_path: Path) -> None:
    places = await _places(births, tmp_path / "first")
    assert any(place.startswith("Inbox.accept") for place in places)
    assert any(place.startswith("Commits.commit") for place in places)
    assert any(place.startswith("Outbox") for place in places)
    for number, place in enumerate(places):
        home = _new(tmp_path / str(number))
        doomed = await births.start(home, place)
        with suppress(aiohttp.ClientError, AssertionError):
            assert await births.say() == "Echo: hello"
        await births.dead(doomed)  # it did reach that point
        await births.kill(await _answered_again(births, home, place))


async def _places(births: Births, home: Path) -> list[str]:
    """The crash points that a daemon passes between a message and its delivered reply."""
    pid = await births.start(_new(home))
    before = births.passed()
    assert await births.say() == "Echo: hello"
    async with asyncio.timeout(TIMEOUT):
        while births.count("SELECT count(*) FROM outbox WHERE state <> 'sent'"):  # noqa: ASYNC110  # a file has no events
            await asyncio.sleep(0.005)
    await births.kill(pid)
    return [place for place in births.passed() if place not in before]


async def _answered_again(births: Births, home: Path, place: str) -> int:
    pid = await births.start(home)
    assert await births.say() == "Echo: hello", place
    assert await births.say() == "Echo: hello", place
    assert births.count("SELECT count(*) FROM turns WHERE speaker = 'soul'") == 1, place
    assert births.count("SELECT count(*) FROM turns WHERE speaker = 'person'") == 1, place
    assert births.count("SELECT count(*) FROM inbox") == 1, place
    assert births.count("SELECT count(*) FROM outbox") == 1, place
    return pid
