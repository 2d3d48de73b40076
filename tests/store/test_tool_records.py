"""What tools say of themselves is kept: a change is found again after a restart, and ends when the admin accepts it."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.core.ports.library import Tool
from daemon.memory.admin.tool_admin import ToolAdmin, recorded_tools
from daemon.memory.database import Database, open_database
from daemon.memory.queues.tool_records import MOST_OF_A_SERVER, StoredTools
from tests.fakes import FakeClock
from tests.store.parts import WORKER

LOOK = Tool("shelf/look", "Look.", {}, writes=False, fingerprint="f1")
CHANGED = replace(LOOK, fingerprint="f2")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def recorded(database: Database) -> dict[str, int | None]:
    return {one["name"]: one["changed_ms"] for one in await recorded_tools(database)}


async def test_a_change_is_known_until_it_is_accepted_or_undone(path: Path, clock: FakeClock) -> None:
    async with open_database(path, clock) as database:
        tools = StoredTools(database, clock, WORKER)
        assert not await tools.changed("shelf", [LOOK])
        assert await recorded(database) == {"shelf/look": None}
        assert await tools.changed("shelf", [CHANGED]) == {"shelf/look"}
    async with open_database(path, clock) as database:
        tools = StoredTools(database, clock, WORKER)
        assert await tools.changed("shelf", [CHANGED]) == {"shelf/look"}
        assert await recorded(database) == {"shelf/look": clock.now_ms()}
        assert not await tools.changed("shelf", []), "it is taken away, and brought back as it was"
        assert not await tools.changed("shelf", [LOOK])
        assert await recorded(database) == {"shelf/look": None}
        assert await tools.changed("shelf", [CHANGED]) == {"shelf/look"}
        admin = ToolAdmin(database, clock, "root")
        assert await admin.accept("shelf/look") == 1
        assert await recorded(database) == {"shelf/look": None}
        assert not await tools.changed("shelf", [CHANGED])
        assert await tools.changed("shelf", [LOOK]) == {"shelf/look"}
        acts = await database.rows("SELECT actor, act, object FROM audit ORDER BY seq")
        assert [tuple(act) for act in acts] == [("root", "tool.accepted", "shelf/look")]
        with pytest.raises(StoreError, match="no tool 'shelf/none'"):
            await admin.accept("shelf/none")


async def test_a_server_that_invents_names_fills_no_more_than_its_share(path: Path, clock: FakeClock) -> None:
    async with open_database(path, clock) as database:
        tools = StoredTools(database, clock, WORKER)
        for batch in range(MOST_OF_A_SERVER // 100 + 1):
            found = await tools.changed("shelf", [replace(LOOK, name=f"shelf/t{batch}-{nth}") for nth in range(100)])
            assert len(found) == (100 if batch == MOST_OF_A_SERVER // 100 else 0)
        assert len(await recorded_tools(database)) == MOST_OF_A_SERVER
        assert not await tools.changed("other", [replace(LOOK, name="other/look")])
