"""`soul memory people` shows users and notes per audience; their words can't control the terminal."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.memory.knowledge.learning import Learned, Learning, Proved, TurnRange
from daemon.memory.knowledge.user_models import UserModels, record_encounter
from daemon.memory.records import Worker
from tests.cli.conftest import as_json, call
from tests.cli.stocked import CONVERSATION, NOW, one, rows, stock, turn
from tests.fakes import FakeClock

DM, OPEN = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.WORKSPACE, "T1")
WORKER = Worker("worker-1", "minoan", "T1", 60_000)
SAID = 70  # the turn that taught it
SECRETIVE = "keeps bees \x1b]0;owned\x07 on the roof"


@pytest.fixture
def path(home: Path) -> Path:
    path = stock(home / "memory.db")
    turn(path, CONVERSATION, "U1", "dm:D1", seq=SAID, ts="9.5")
    asyncio.run(_fill(path))
    return path


async def _fill(path: Path) -> None:
    async with open_database(path, FakeClock(auto=True), create=False) as database:
        for audience in (DM, OPEN):
            await _meet(database, audience)
        await _learn(database, 0, added=(SECRETIVE, "likes tea"))
        await _learn(database, 1, corrected=("likes tea", "likes coffee"))
        await _learn(database, 2, retired="likes coffee")


async def _meet(database: Database, audience: Audience) -> None:
    whom: dict[str, Any] = {"soul": "minoan", "workspace": "T1", "person": "U1", "name": "Ben", "audience": audience}
    met = partial(record_encounter, **whom, now=NOW + (audience is DM), visit_timeout_ms=1)
    await database.write(met)


async def _learn(
    database: Database,
    expected: int,
    *,
    added: tuple[str, ...] = (),
    corrected: tuple[str, str] | None = None,
    retired: str = "",
) -> None:
    """Have lines learned from one message."""
    standing = {fact.text: fact.id for fact in await UserModels(database, FakeClock(), WORKER).facts("U1", DM)}
    learned = Learned(
        added=tuple(Proved(line, SAID, line) for line in added),
        corrected=((standing[corrected[0]], Proved(corrected[1], SAID, corrected[1])),) if corrected else (),
        retired=(standing[retired],) if retired else (),
        whispers="may be tired",
    )
    assert await Learning(database, FakeClock(), WORKER).revise(
        "U1",
        DM,
        learned,
        expected_version=expected,
        source=TurnRange(ConversationKey.parse(CONVERSATION), SAID, SAID + 1),
        most_lost=0.34,
        trace_id="abc",
    )


def test_users_are_listed_without_notes_and_one_is_shown_per_audience(path: Path) -> None:
    result = call("memory", "people", "list").output
    assert result.splitlines()[1].split()[:3] == ["U1", "Ben", "dm:D1"]
    assert result.splitlines()[1].split()[-1] == "minoan", "of several souls, the one that knows them"
    assert "workspace:T1" in result
    unworded = call("memory", "people", "list", "--json").output
    assert [one["audience"] for one in json.loads(unworded)] == ["dm:D1", "workspace:T1"]
    assert "bees" not in result + unworded
    assert "tired" not in result + unworded
    shown = call("memory", "people", "show", "U1", "--words", "--private").output
    assert "- keeps bees" in shown
    assert "~ may be tired" in shown
    assert "\x1b" not in shown
    private, open_ = shown.split("\n\n")
    assert "workspace:T1" in open_
    assert "bees" not in open_
    first = as_json("memory", "people", "show", "U1", "--words", "--private")[0]
    assert (first["soul"], first["notes"], first["version"], first["interactions"]) == ("minoan", [SECRETIVE], 3, 1)
    assert "dm:D1" in private


def changed(path: Path, work: Callable[[Database], Awaitable[object]]) -> str:
    """The history once something more has changed."""

    async def change() -> None:
        async with open_database(path, FakeClock(auto=True), create=False) as database:
            await work(database)

    asyncio.run(change())
    return call("memory", "people", "history", "U1", "--words", "--private").output


def test_the_history_lists_each_change_and_marks_those_of_whispers_and_of_deleted_messages(path: Path) -> None:
    result = call("memory", "people", "history", "U1", "--words", "--private").output.splitlines()
    assert result[0].startswith("minoan: dm:D1 version 3, ")
    assert result[1] == "  - likes coffee"
    assert "  * likes tea -> likes coffee" in result
    assert "  + likes tea" in result
    newest, *_ = as_json("memory", "people", "history", "U1", "--limit", "1", "--words", "--private")
    assert (newest["version"], newest["change"]["first"]) == (3, SAID)
    assert changed(path, lambda database: _learn(database, 3)).splitlines()[1] == "  (only the whispers)"
    forgotten = changed(
        path,
        lambda database: database.write(lambda transaction: forget_derived(transaction, CONVERSATION, "U1", SAID, NOW)),
    )
    assert "lines forgotten: the messages behind them were deleted)" in forgotten
    assert "(the messages behind it were deleted)" in forgotten
    assert "tea" not in forgotten
    for arguments in (("show", "U404"), ("show", "U404", "--json")):
        refused = call("memory", "people", *arguments)
        assert refused.exit_code == 70
        assert "the soul knows no user U404" in refused.stderr
        assert "see `soul memory people list`" in refused.stderr
    assert call("memory", "people", "history", "U404").output == ""


@pytest.mark.parametrize("asked", ["show", "history"])
@pytest.mark.parametrize("words", [(), ("--words",)])
def test_private_words_are_shown_where_asked_for_on_record_alone(
    path: Path, asked: str, words: tuple[str, ...]
) -> None:
    said = (
        call("memory", "people", asked, "U1", *words).output
        + call("memory", "people", asked, "U1", "--json", *words).output
    )
    assert "bees" not in said
    assert "tired" not in said
    assert "coffee" not in said
    assert "not shown, said in private: add --words --private." in said
    assert _read_words(path) == []
    assert "bees" in call("memory", "people", asked, "U1", "--words", "--private").output
    assert _read_words(path) == [("U1", f"memory people {asked}")]


def _read_words(path: Path) -> list[tuple[str, str]]:
    read = rows(path, "SELECT object, detail FROM audit WHERE act = 'read words'")
    assert one(path, "SELECT count(*) FROM word_readings") == len(read)
    return [(str(person), str(detail).partition(":")[0]) for person, detail in read]
