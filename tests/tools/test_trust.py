"""Which tools may be used without a click: what the admin says counts, and a tool that changes is a new one."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from daemon.core.errors import ToolFailed
from daemon.core.ports.library import Tool
from tests.fakes import Events, FakeClock
from tests.tools.conftest import Opening
from tests.tools.parts import failure, program, use

READS, DESTROYS, REACHES = {"readOnlyHint": True}, {"destructiveHint": True}, {"openWorldHint": True}
HINTS: dict[str, dict[str, bool]] = {
    "silent": {},
    "reads": READS,
    "destroys": DESTROYS,
    "reads_and_destroys": READS | DESTROYS,
    "reaches": READS | REACHES,
}


@pytest.fixture
def offer(tmp_path: Path) -> Path:
    """The file that the server lists; each use of a tool adds a line to `offer.used`."""
    path = tmp_path / "offer.json"
    say(path, HINTS)
    return path


def told(offer: Path, **more: object) -> dict[str, object]:
    return program(str(offer), module="told", **more)


def say(path: Path, hints: Mapping[str, dict[str, bool]], description: str = "Does it.") -> None:
    """Let the server offer these tools, with these hints."""
    tools = [{"name": name, "description": description, "annotations": one} for name, one in hints.items()]
    path.write_text(json.dumps(tools), encoding="utf-8")


def used(path: Path) -> list[str]:
    log = path.with_suffix(".used")
    return log.read_text(encoding="utf-8").split() if log.exists() else []


async def test_only_the_admin_makes_a_tool_one_that_asks_for_no_click(opening: Opening, offer: Path) -> None:
    entries: dict[str, tuple[dict[str, object], set[str]]] = {
        "untold": ({}, set()),
        "listed": ({"reads": list(HINTS)}, {"silent", "reads", "reaches"}),
        "trusted": ({"trust_annotations": True}, {"reads"}),
        "both": ({"trust_annotations": True, "reads": ["reaches"]}, {"reads", "reaches"}),
    }
    servers = {name: told(offer, **entry) for name, (entry, _) in entries.items()}
    async with opening(**servers) as toolbox:
        tools = await toolbox.tools()
    for name, (_, without_a_click) in entries.items():
        its = {tool.name.removeprefix(f"{name}/"): tool for tool in tools if tool.name.startswith(f"{name}/")}
        assert {one for one, tool in its.items() if not tool.writes} == without_a_click, name
        assert {one for one, tool in its.items() if tool.destroys} == {"destroys", "reads_and_destroys"}, name


async def test_a_tool_that_changes_asks_from_then_on_and_the_log_names_it_once(
    opening: Opening, offer: Path, clock: FakeClock, events: Events
) -> None:
    async with opening(it=told(offer, reads=["silent", "reads"])) as toolbox:
        before = {tool.name: tool for tool in await toolbox.tools()}
        assert not before["it/reads"].writes
        say(offer, HINTS | {"reads": {}})
        for _ in range(2):
            await clock.advance(301)
            after = {tool.name: tool for tool in await toolbox.tools()}
            assert [name for name in before if before[name].writes != after[name].writes] == ["it/reads"]
    (lost,) = events.named("tools.offer_lost")
    assert (lost["server"], lost["changed"]) == ("it", "it/reads")
    assert "soul tools accept" in str(lost["hint"])


async def test_a_tool_that_changes_between_question_and_click_is_not_used(opening: Opening, offer: Path) -> None:
    changed, other = "says something else", "Sends everything to a stranger."
    async with opening(it=told(offer)) as toolbox:
        asked: Tool = next(tool for tool in await toolbox.tools() if tool.name == "it/silent")
        for hints, description, said in (
            (HINTS, other, changed),
            (HINTS | {"silent": READS}, "Does it.", changed),
            ({"reads": READS}, "Does it.", "there is no tool"),
        ):
            say(offer, hints, description)
            with pytest.raises(ToolFailed, match=said) as failed:
                await toolbox.use(asked.name, {}, asked.fingerprint)
            assert not failed.value.uncertain
            assert used(offer) == []
        say(offer, HINTS)
        await toolbox.use(asked.name, {}, asked.fingerprint)
    assert used(offer) == ["silent"]


async def test_a_tool_is_not_used_without_the_fingerprint_it_was_chosen_by(opening: Opening, offer: Path) -> None:
    async with opening(it=told(offer, reads=["reads"])) as toolbox:
        with pytest.raises(ToolFailed):
            await toolbox.use("it/reads", {}, "")
        assert used(offer) == []
        assert (await use(toolbox, "it/reads")).text == "done"
        assert "there is no tool" in (await failure(toolbox, "it/none")).message


async def test_a_tool_that_can_not_be_used_is_left_out_alone_and_the_log_says_which_and_why(
    opening: Opening, offer: Path, clock: FakeClock, events: Events
) -> None:
    large = {"type": "object", "properties": {str(number): {} for number in range(3_000)}}
    bad: list[object] = [
        {"name": "shapeless", "inputSchema": None},
        {"name": "typeless", "inputSchema": {}},
        {"name": "numbered", "description": 5},
        {},
        {"name": "look up"},
        {"name": "sämann"},
        {"name": "good"},
        {"name": "huge", "inputSchema": large},
    ]
    listed = [{"name": "good"}, *bad, *({"name": f"n{number}"} for number in range(120))]
    await asyncio.to_thread(offer.write_text, json.dumps(listed))
    async with opening(it=told(offer)) as toolbox:
        names = [tool.name for tool in await toolbox.tools()]
        await clock.advance(301)
        assert [tool.name for tool in await toolbox.tools()] == names
    assert names == ["it/good", *(f"it/n{number}" for number in range(99))]
    (line,) = events.named("tools.offer_refused")
    for said in (
        "shapeless: inputSchema: input should be a valid dictionary",
        "typeless: inputSchema.type: field required",
        "numbered: description: input should be a valid string",
        "number 5: name: field required",
        "look up, sämann: its name may hold",
        "good: it is listed twice",
        "huge: the schema of its arguments has more than 16,000 characters",
        "n99, n100, n101, n102, n103, n104, n105, n106 and 13 more: there are 100 before it",
    ):
        assert said in str(line["tools"])
    assert not events.named("tools.server_unreachable")
