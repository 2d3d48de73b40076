"""The workspace of every journey, without and with a daemon, and a session that people ask there."""

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from daemon.app import minds as vectors
from daemon.core import extensions
from daemon.local_slack.server import serve_workspace
from tests.fakes import TIMEOUT, TurnableClock
from tests.journeys.asking import AskedSession, door
from tests.journeys.house import APP_TOKEN, BOT_TOKEN, House, settings_for
from tests.journeys.packages import install_example
from tests.journeys.souls import POETIC, write_soul
from tests.near import NearClient
from tests.programs import ends_awaited


@pytest.fixture(autouse=True)
def _searches_by_meaning_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply waits a moment for them; on a busy machine they take longer, and words alone would serve."""
    monkeypatch.setattr(vectors, "SLOW_S", TIMEOUT)


@pytest.fixture
async def empty_house(tmp_path: Path) -> AsyncIterator[House]:
    """The workspace with its people, and no daemon yet."""
    clock = TurnableClock()
    serving = serve_workspace(clock=clock, bot_token=BOT_TOKEN, app_token=APP_TOKEN)
    async with ends_awaited(), serving as workspace, NearClient(workspace) as people:
        built = House(workspace, people, clock, settings_for(workspace, tmp_path))
        try:
            yield built
        finally:
            await built.close()
            vars(built).clear()  # the object itself is never freed, for a reason not found


@pytest.fixture
async def house(empty_house: House) -> House:
    """The workspace with one running daemon."""
    await empty_house.start()
    return empty_house


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, and writes poems."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\n', modes={"poetic": POETIC})
    await empty_house.start(name="tess")
    return empty_house


@pytest.fixture
async def session(house: House, tmp_path: Path) -> AsyncIterator[AskedSession]:
    """Ada's session, just begun."""
    async with door(house) as url:
        yield await AskedSession.begun(house, tmp_path, url)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of installed packages; what a test has loaded of them is loaded in no other."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(extensions, "_loaded", {})
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith(("soul_extras", "brought")):
            del sys.modules[name]


@pytest.fixture
def extras(site: Path) -> Path:
    """The same, with the example in it."""
    install_example(site)
    return site
