"""`soul memory consolidate|runs|undo`: at once beside or without a daemon, shown without words, and undone."""

import asyncio
import json
from pathlib import Path

import pytest

from daemon.core.ports.services import SystemClock
from daemon.memory.database import open_database
from tests.cli.conftest import as_json, call
from tests.fakes import FakeClock
from tests.nights import Nights
from tests.store.parts import look, poke


@pytest.fixture
def noted_twice(home: Path) -> Path:
    """A memory.db in which two facts say the same."""

    async def fill() -> None:
        clock = FakeClock(auto=True, start_ms=SystemClock().now_ms())
        async with open_database(home / "memory.db", clock) as database:
            nights = Nights(database, clock, soul_name="minoan")
            await nights.knows("Ann likes zanzibar")
            await nights.knows("Ann likes zanzibar")

    asyncio.run(fill())
    return home / "memory.db"


def test_without_a_daemon_it_is_done_here_shown_and_undone(noted_twice: Path) -> None:
    done = call("memory", "consolidate", "--json")
    assert done.exit_code == 0, done.output
    [run] = json.loads(done.stdout)
    assert (run["state"], run["did"], run["audience"], run["tokens"]) == ("done", {"merges_facts": 2}, "dm:D1", 0)
    [shown] = as_json("memory", "runs")
    assert shown == run
    assert set(run) == {
        *("id", "soul", "workspace", "slot_ms", "audience", "state", "did", "tokens", "error", "began_ms", "ended_ms")
    }
    assert run["id"] in call("memory", "runs").stdout
    undone = as_json("memory", "undo", run["id"])
    assert (undone["run"], len(undone["restored"]), undone["kept"]) == (run["id"], 2, [])
    assert look(noted_twice, "SELECT count(*) FROM facts WHERE valid_until_ms IS NULL") == [(2,)]
    assert look(noted_twice, "SELECT act, object FROM audit") == [("memory.undo", run["id"])]
    assert "was undone already" in call("memory", "undo", run["id"]).stderr
    assert "nothing to do" in call("memory", "consolidate").stdout
    verified = json.loads(call("memory", "verify", "--json").stdout)
    assert (verified["links_broken"], verified["chain"]) == (0, True)


def test_what_is_no_run_is_refused_and_a_night_that_failed_and_what_is_left_alone_are_named(noted_twice: Path) -> None:
    for name in ("RUN_1", "'; --", ""):
        done = call("memory", "undo", name)
        assert (done.exit_code != 0, "there is no run" in done.stderr) == (True, True), name
    poke(
        noted_twice,
        "INSERT INTO consolidation_items (part, object, faults, parked, reason) "
        "SELECT 'distils', id, 3, 1, 'ValueError' FROM facts LIMIT 1",
    )
    assert "is left alone by distils" in call("memory", "runs").stdout
    poke(
        noted_twice,
        "INSERT INTO consolidations (id, soul, workspace, slot_ms, audience, state, error, began_ms)"
        " VALUES ('RUN_1', 'minoan', 'T1', 1, 'dm:D1', 'failed', 'distils: it is down', 1)",
    )
    said = call("doctor", "--offline").stdout
    assert "nights: RUN_1 failed for dm:D1: distils: it is down" in said
    assert call("memory", "consolidate").exit_code == 0
    assert "RUN_1 failed" not in call("doctor", "--offline").stdout


def test_without_a_memory_there_is_nothing_to_look_through(home: Path) -> None:
    done = call("memory", "consolidate")
    assert done.exit_code != 0
    assert "soul run" in done.stderr
