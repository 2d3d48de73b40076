"""The admin sees whom the soul knows and what it noted, per audience, and that it can't steer the terminal."""

import asyncio
import json
from pathlib import Path

import pytest

from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.memory.knowledge.user_models import NotesDiff, TurnRange, UserModels, record_encounter
from daemon.memory.records import Worker
from tests.cli.conftest import call
from tests.cli.stocked import CONVERSATION, NOW, stock
from tests.fakes import FakeClock

DM, OPEN = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.WORKSPACE, "T1")
WORKER = Worker("worker-1", "minoan", "T1", 60_000)
SECRETIVE = "keeps bees \x1b]0;owned\x07 on the roof"


@pytest.fixture
def path(home: Path) -> Path:
    path = stock(home / "memory.db")
    asyncio.run(_fill(path))
    return path


async def _fill(path: Path) -> None:
    async with open_database(path, FakeClock(auto=True), create=False) as database:
        for audience in (DM, OPEN):
            await _meet(database, audience)
        models = UserModels(database, FakeClock(), WORKER)
        await _revise(models, 0, (SECRETIVE, "likes tea"), NotesDiff(added=(SECRETIVE, "likes tea")))
        await _revise(models, 1, (SECRETIVE, "likes coffee"), NotesDiff((), (("likes tea", "likes coffee"),)))
        await _revise(models, 2, (SECRETIVE,), NotesDiff(retired=("likes coffee",)))


async def _meet(database: Database, audience: Audience) -> None:
    await database.write(
        lambda transaction: record_encounter(
            transaction,
            soul="minoan",
            workspace="T1",
            person="U1",
            name="Ben",
            audience=audience,
            now=NOW + (audience is DM),
            visit_timeout_ms=1,
        )
    )


async def _revise(models: UserModels, expected: int, notes: tuple[str, ...], change: NotesDiff) -> None:
    assert await models.revise(
        "U1",
        DM,
        expected_version=expected,
        notes=notes,
        whispers="may be tired",
        change=change,
        source=TurnRange(CONVERSATION, 1, 2),
        most_lost=0.34,
        trace_id="abc",
    )


def test_people_are_listed_without_what_is_known_of_them(path: Path) -> None:
    told = call("people", "list").output
    assert told.splitlines()[1].split()[:3] == ["U1", "Ben", "dm:D1"]
    assert told.splitlines()[1].split()[-1] == "minoan", "of several souls, the one that knows them"
    assert "workspace:T1" in told
    as_json = call("people", "list", "--json").output
    assert [one["audience"] for one in json.loads(as_json)] == ["dm:D1", "workspace:T1"]
    assert "bees" not in told + as_json
    assert "tired" not in told + as_json


def test_one_person_is_shown_for_each_audience_apart(path: Path) -> None:
    told = call("people", "show", "U1").output
    assert "- keeps bees" in told
    assert "~ may be tired" in told
    assert "\x1b" not in told
    private, open_ = told.split("\n\n")
    assert "workspace:T1" in open_
    assert "bees" not in open_
    first = json.loads(call("people", "show", "U1", "--json").output)[0]
    assert (first["soul"], first["notes"], first["version"], first["interactions"]) == ("minoan", [SECRETIVE], 3, 1)
    assert "dm:D1" in private


def test_the_history_tells_each_change(path: Path) -> None:
    told = call("people", "history", "U1").output.splitlines()
    assert told[0].startswith("minoan: dm:D1 version 3, ")
    assert told[1] == "  - likes coffee"
    assert "  * likes tea -> likes coffee" in told
    assert "  + likes tea" in told
    newest, *_ = json.loads(call("people", "history", "U1", "--limit", "1", "--json").output)
    assert (newest["version"], newest["change"]["first"]) == (3, 1)


def test_the_history_says_that_words_were_taken_back(path: Path) -> None:
    async def take_back() -> None:
        async with open_database(path, FakeClock(auto=True), create=False) as database:
            await database.write(lambda transaction: forget_derived(transaction, CONVERSATION, "U1", 2, NOW))

    asyncio.run(take_back())
    told = call("people", "history", "U1").output
    assert "(let go of what was learned from words taken back: 3 lines)" in told
    assert "(its words were taken back)" in told
    assert "tea" not in told


@pytest.mark.parametrize("arguments", [("show", "U404"), ("show", "U404", "--json")])
def test_somebody_unknown_is_told_plainly(path: Path, arguments: tuple[str, ...]) -> None:
    told = call("people", *arguments)
    assert told.exit_code == 70
    assert "nobody called U404 is known" in told.stderr
    assert "see `soul people list`" in told.stderr


def test_the_history_tells_a_change_of_the_whispers_alone(path: Path) -> None:
    async def whisper() -> None:
        async with open_database(path, FakeClock(auto=True), create=False) as database:
            await _revise(UserModels(database, FakeClock(), WORKER), 3, (SECRETIVE,), NotesDiff())

    asyncio.run(whisper())
    told = call("people", "history", "U1").output.splitlines()
    assert told[1] == "  (the whispers alone)"


def test_nobody_known_has_no_history(path: Path) -> None:
    assert call("people", "history", "U404").output == ""
