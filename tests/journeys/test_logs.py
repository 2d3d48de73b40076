"""The log of real turns at each of the four levels (seed 000, "Logging & Debugging")."""

import asyncio
import io
import json
from pathlib import Path

import pytest

from daemon.core.config import LogLevel
from daemon.core.telemetry import Telemetry
from tests.fakes import TIMEOUT, Events, FakeClock
from tests.given import tagged, wanting
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, SHELF, asked, press, script, shelf, using
from tests.journeys.souls import POETIC, write_soul
from tests.unit.ism_parts import chosen

RECEIVED, SAID, THOUGHT = "CANARY-received", "CANARY-said", "CANARY-thought"
LEVELS: tuple[LogLevel, ...] = ("minimal", "standard", "verbose", "debug")
WORDS = (RECEIVED, SAID, THOUGHT, "CANARY-reason", "CANARY-known", "CANARY-written", "CANARY-whisper")


def lines(recorded: Events, level: LogLevel, *secrets: str) -> list[str]:
    """The log lines that these events give at a level."""
    stream = io.StringIO()
    telemetry = Telemetry(level, stream, secrets, FakeClock())
    for event, fields in recorded.emitted:
        telemetry(event, **fields)
    return [line.split(" ", 2)[2] for line in stream.getvalue().splitlines()]


def events(log: list[str]) -> set[str]:
    """The names of events in a log."""
    return {line.split()[0].removeprefix("event=") for line in log}


@pytest.fixture
async def lived(empty_house: House, tmp_path: Path) -> House:
    """A daemon that has greeted a user, written notes and a poem, and used a tool with approval."""
    more = "[ism]\nenabled = true\n[notes]\nmin_interactions = 1\n"
    write_soul(empty_house.settings.home, more=more, modes={"poetic": POETIC})
    known = {"text": "CANARY-known says hello", "quote": f"hello, {RECEIVED}"}
    empty_house.model.steps["visitor_notes"].append(json.dumps({"add": [known], "whispers": "CANARY-whisper"}))
    empty_house.model.steps["respond"].append(tagged(SAID, monologue="CANARY-thought too", learned=True))
    empty_house.model.steps["respond"].append(wanting("poem"))
    empty_house.model.steps["respond"] += [tagged("CANARY-said in verse", calls_for="poem")]
    await empty_house.start(name="tess", mcp_servers=shelf(tmp_path))
    await empty_house.answered("Ada", "dm", f"hello, {RECEIVED}")
    await empty_house.answered("Ada", "dm", f"write a {RECEIVED} poem")
    script(
        empty_house,
        chosen(("Research", "CANARY-reason"), reasoning="CANARY-reason"),
        chosen("Respond"),
        use_tool=using(SHELF, path=str(tmp_path / "shelf.txt"), text="CANARY-written"),
        external_dialog=SAID,
    )
    async with asyncio.timeout(TIMEOUT):
        await empty_house.say("Ada", "dm", f"{PROBLEM}, {RECEIVED}")
        post = await asked(empty_house)
        assert await press(empty_house, "Ada", "D0ADA", post["ts"]) == "accepted"
        await empty_house.reply("D0ADA", SAID, count=3)
        await empty_house.idle()
    return empty_house


async def test_each_level_logs_the_events_that_belong_to_it(lived: House) -> None:
    minimal, standard, verbose, debug = (lines(lived.events, level) for level in LEVELS)
    assert events(minimal) == {"step.completed", "daemon.ready"}
    assert not [line for line in minimal if "tokens" in line or "provider" in line or "ms=" in line]
    path = [line for line in standard if line.startswith("event=process.moved")]
    assert [line.partition(" act=")[2] for line in path if "problem_solving" in line] == [
        "move origin=poetic target=problem_solving decided_by=model",
        "move origin=problem_solving target=engaged decided_by=rule",
    ]
    completed = [line for line in standard if line.startswith("event=step.completed")]
    assert all("provider=scripted" in line and "tokens_in=" in line and "duration_ms=" in line for line in completed)
    for log in (minimal, standard):
        assert not [line for line in log if "CANARY" in line]
        assert not events(log) & {"memory.integrated", "memory.left", "monologue.thought"}
    for line in verbose:
        assert len(line.partition(" prompt=")[2].partition(" response=")[0]) <= 200 + len('"…"') + 20  # escapes
        assert not [one for one in WORDS if one in line and one not in (SAID, RECEIVED)], (
            "only the words of messages show"
        )
    assert [line for line in verbose if f"response={SAID}" in line]
    whole = "\n".join(debug)
    assert all(one in whole for one in WORDS)
    assert {"memory.integrated", "memory.left", "monologue.thought"} <= events(debug)
    assert len([line for line in debug if line.startswith("event=monologue.thought") and "CANARY-thought" in line]) == 1
    secrets = lived.settings.secrets
    assert secrets
    for level in LEVELS:
        secretive = lines(lived.events, level, *secrets)
        assert not [secret for secret in secrets if secret in "\n".join(secretive)]
        moves = [line for line in secretive if "target=poetic" in line]
        assert len(moves) == (level != "minimal")
        assert any("because=" in line for line in moves) is (level == "debug"), "a reason may hold words of a message"
