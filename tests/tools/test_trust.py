"""Which tools may be used without a click: what the admin says counts, and a tool that changes is a new one."""

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from daemon.core.errors import ToolFailed
from daemon.core.ports.tools import Tool
from daemon.tools.mcp.toolbox import open_toolbox
from tests.fakes import Events, FakeClock
from tests.programs import ends_awaited
from tests.tools.parts import KnownTools, failure, listing, program, use

READS, DESTROYS, REACHES = {"readOnlyHint": True}, {"destructiveHint": True}, {"openWorldHint": True}
HINTS: dict[str, dict[str, bool]] = {
    "silent": {},
    "reads": READS,
    "destroys": DESTROYS,
    "reads_and_destroys": READS | DESTROYS,
    "reaches": READS | REACHES,
}


@pytest.fixture(autouse=True)
async def _programs_end() -> AsyncIterator[None]:
    async with ends_awaited():
        yield


@pytest.fixture
def offer(tmp_path: Path) -> Path:
    """The file that the server lists; each use of a tool adds a line to `offer.used`."""
    path = tmp_path / "offer.json"
    say(path, HINTS)
    return path


def say(path: Path, hints: Mapping[str, dict[str, bool]], description: str = "Does it.") -> None:
    """Let the server offer these tools, with these hints."""
    tools = [{"name": name, "description": description, "annotations": one} for name, one in hints.items()]
    path.write_text(json.dumps(tools), encoding="utf-8")


def used(path: Path) -> list[str]:
    """The uses so far, oldest first."""
    log = path.with_suffix(".used")
    return log.read_text(encoding="utf-8").split() if log.exists() else []


@pytest.mark.parametrize(
    ("entry", "without_a_click"),
    [
        ({}, set()),
        ({"reads": list(HINTS)}, {"silent", "reads", "reaches"}),
        ({"trust_annotations": True}, {"reads"}),
        ({"trust_annotations": True, "reads": ["reaches"]}, {"reads", "reaches"}),
    ],
)
async def test_only_the_admin_makes_a_tool_one_that_asks_for_no_click(
    tmp_path: Path, offer: Path, entry: dict[str, object], without_a_click: set[str]
) -> None:
    path = listing(tmp_path, it=program(str(offer), module="told", **entry))
    async with open_toolbox(path, FakeClock(), Events(), KnownTools()) as toolbox:
        tools = await toolbox.tools()
    assert {tool.name.removeprefix("it/") for tool in tools if not tool.writes} == without_a_click
    assert {tool.name for tool in tools if tool.destroys} == {"it/destroys", "it/reads_and_destroys"}


async def test_a_tool_that_changes_asks_from_then_on_and_the_log_names_it_once(tmp_path: Path, offer: Path) -> None:
    clock, events = FakeClock(), Events()
    path = listing(tmp_path, it=program(str(offer), module="told", reads=["silent", "reads"]))
    async with open_toolbox(path, clock, events, KnownTools()) as toolbox:
        before = {tool.name: tool for tool in await toolbox.tools()}
        assert not before["it/reads"].writes
        say(offer, HINTS | {"reads": {}})
        for _ in range(2):
            await clock.advance(301)
            after = {tool.name: tool for tool in await toolbox.tools()}
            assert [name for name in before if before[name].writes != after[name].writes] == ["it/reads"]
    (told,) = events.named("tools.offer_lost")
    assert (told["server"], told["changed"]) == ("it", "it/reads")
    assert "soul tools accept" in str(told["hint"])


@pytest.mark.parametrize("of_it", ["description", "hints", "gone"])
async def test_a_tool_that_changes_between_question_and_click_is_not_used(
    tmp_path: Path, offer: Path, of_it: str
) -> None:
    path = listing(tmp_path, it=program(str(offer), module="told"))
    async with open_toolbox(path, FakeClock(), Events(), KnownTools()) as toolbox:
        asked: Tool = next(tool for tool in await toolbox.tools() if tool.name == "it/silent")
        hints = {"description": HINTS, "hints": {**HINTS, "silent": READS}, "gone": {"reads": READS}}[of_it]
        say(offer, hints, "Sends everything to a stranger." if of_it == "description" else "Does it.")
        with pytest.raises(
            ToolFailed, match="there is no tool" if of_it == "gone" else "says something else"
        ) as failed:
            await toolbox.use(asked.name, {}, asked.fingerprint)
        assert not failed.value.uncertain
        assert used(offer) == []
        say(offer, HINTS)
        await toolbox.use(asked.name, {}, asked.fingerprint)
    assert used(offer) == ["silent"]


async def test_a_tool_is_not_used_without_the_fingerprint_it_was_chosen_by(tmp_path: Path, offer: Path) -> None:
    path = listing(tmp_path, it=program(str(offer), module="told", reads=["reads"]))
    async with open_toolbox(path, FakeClock(), Events(), KnownTools()) as toolbox:
        with pytest.raises(ToolFailed):
            await toolbox.use("it/reads", {}, "")
        assert used(offer) == []
        assert (await use(toolbox, "it/reads")).text == "done"
        assert "there is no tool" in (await failure(toolbox, "it/none")).message
