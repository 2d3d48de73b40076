"""A server that is a program has its own empty folder, bounds for all it takes, and leaves nothing behind."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.ports.library import Toolbox
from daemon.tools.mcp import lines
from daemon.tools.mcp.lines import LONGEST_LINE, MOST_PARTS, LineBuffer, OverlongMessage, check_parts
from tests.fakes import TIMEOUT, Events
from tests.tools.conftest import Opening
from tests.tools.parts import failure, gone, program, use


@pytest.fixture
async def toolbox(tmp_path: Path, opening: Opening, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Toolbox]:
    """One greedy server, which starts where the daemon keeps memory.db."""
    home = tmp_path / "home"
    home.mkdir()
    (home / "memory.db").write_text("precious")
    entry = program(module="greedy", reads=["where", "limits", "hoard", "endless", "junk", "crowded"], memory_mb=256)
    del entry["cwd"]
    entry["args"] = [str(Path(__file__).parent / "greedy.py")]
    monkeypatch.chdir(home)
    async with opening(it=entry) as opened:
        yield opened


async def test_a_program_works_in_an_empty_folder_of_its_own_that_goes_with_it(
    toolbox: Toolbox, events: Events
) -> None:
    found = json.loads((await use(toolbox, "it/where")).text)
    assert (found["mode"], found["inside"]) == ("0o700", [])
    await failure(toolbox, "it/crowded")
    await events.until("tools.server_unreachable")
    assert not await asyncio.to_thread(Path(found["here"]).exists)


async def test_a_program_has_bounds_and_one_that_meets_them_harms_no_other(toolbox: Toolbox) -> None:
    assert json.loads((await use(toolbox, "it/limits")).text) == [256 * 2**20, 1024, 0, 800]
    assert (await use(toolbox, "it/hoard")).text == "no memory"
    assert (await use(toolbox, "it/where")).text


async def test_what_a_program_started_ends_with_it(opening: Opening) -> None:
    async with opening(it=program(module="greedy")) as toolbox:
        child = int((await use(toolbox, "it/leave_a_child")).text)
        assert not gone(child)
    async with asyncio.timeout(TIMEOUT):
        while not gone(child):  # noqa: ASYNC110  # it is no child of ours
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        pytest.param("endless", f"it sent a message of more than {LONGEST_LINE >> 20} MiB", marks=pytest.mark.slow),
        ("crowded", f"it sent a message of more than {MOST_PARTS} parts"),
    ],
)
async def test_a_message_without_bounds_ends_the_connection(
    toolbox: Toolbox, events: Events, name: str, reason: str
) -> None:
    assert "Connection closed" in (await failure(toolbox, f"it/{name}")).message
    assert (await events.until("tools.server_unreachable"))["reason"] == reason


@pytest.mark.parametrize("name", ["notes", "chatter", "ramble"])
async def test_a_server_that_sends_and_sends_and_never_answers_is_ended(
    opening: Opening, events: Events, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_MESSAGES", 200)
    monkeypatch.setattr(lines, "MOST_BYTES", 2**20)
    async with opening(it=program(module="greedy")) as toolbox:
        await failure(toolbox, f"it/{name}")
        said = "1 MiB" if name == "ramble" else "200 messages"
        assert (await events.until("tools.server_unreachable"))["reason"] == f"it sent more than {said} and no answer"


async def test_junk_is_counted_in_one_line_of_the_log(
    toolbox: Toolbox, events: Events, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert (await use(toolbox, "it/junk")).text == "written"
    assert len(events.named("tools.junk_ignored")) == 1
    assert not [record for record in caplog.records if record.levelno >= logging.INFO]


@given(st.lists(st.binary(max_size=20)), st.lists(st.integers(1, 9)))
def test_lines_are_the_same_wherever_they_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    lines = [line.replace(b"\n", b"") for line in lines]
    text, buffer, found = b"".join(line + b"\n" for line in lines), LineBuffer(), list[bytes]()
    for size in (*cuts, len(text) + 1):
        found += buffer.feed(text[:size])
        text = text[size:]
    assert found == lines


def test_a_line_is_bounded_and_so_are_its_parts() -> None:
    buffer = LineBuffer()
    for _ in range(LONGEST_LINE // 65_536):
        assert buffer.feed(b"a" * 65_536) == []
    with pytest.raises(OverlongMessage):
        buffer.feed(b"a")
    check_parts(b"a" * (MOST_PARTS + 1) + b"," * MOST_PARTS)
    with pytest.raises(OverlongMessage):
        check_parts(b"[" * (MOST_PARTS + 1))
