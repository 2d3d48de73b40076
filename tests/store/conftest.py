"""A fresh memory.db for every test, in both journal modes where they differ, and workers on it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.library import LibraryIndex
from daemon.tools.library_folders import FolderLibrary
from tests import template
from tests.fakes import Events, FakeClock
from tests.given import DM, HERE, SOUL, new_message
from tests.store.handing import host
from tests.store.indexed import CHANNEL, EVERYBODY, Indexed
from tests.store.parts import Stores, make_rollback, make_wal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture(params=["rollback", "wal"])
def either(request: pytest.FixtureRequest, path: Path) -> Path:
    """A path whose file is in either journal mode, which an existing file keeps."""
    template.by_copy(path)
    make = make_wal if request.param == "wal" else make_rollback
    make(path)
    return path


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(auto=True)


@pytest.fixture
async def database(path: Path, clock: FakeClock) -> AsyncIterator[Database]:
    async with open_database(path, clock) as opened:
        yield opened


@pytest.fixture
def stores(database: Database, clock: FakeClock) -> Stores:
    return Stores.of(database, clock)


@pytest.fixture
async def ada(database: Database, clock: FakeClock) -> Stores:
    """A worker of the soul Ada, where daemons host her and two others."""
    await host(database, clock, SOUL, "ben", "cleo")
    return Stores.of(database, clock)


@pytest.fixture
def ben(database: Database, clock: FakeClock) -> Stores:
    return Stores.of(database, clock, "worker-2", soul="ben")


@pytest.fixture
async def indexed(database: Database, stores: Stores, path: Path, clock: FakeClock) -> AsyncIterator[Indexed]:
    for where, audience in ((DM, HERE), (CHANNEL, EVERYBODY)):
        await stores.inbox.accept(new_message(conversation=where, audience=audience))
    made = Indexed(database, path.parent / "index", clock)
    yield made
    await made.index.aclose()


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


@pytest.fixture
def index(database: Database, clock: FakeClock) -> LibraryIndex:
    return LibraryIndex(database, clock)


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def library(docs: Path, index: LibraryIndex, clock: FakeClock, events: Events) -> FolderLibrary:
    return FolderLibrary((docs,), index, clock, events)


@pytest.fixture
async def others(path: Path, clock: FakeClock, database: Database) -> AsyncIterator[Stores]:
    """A second worker with connections of its own, as another daemon has."""
    async with open_database(path, clock) as opened:
        yield Stores.of(opened, clock, "worker-2")
