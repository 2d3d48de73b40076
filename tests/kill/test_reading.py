"""A daemon that is killed while a thought reads with a tool: the message is thought about anew, and answered once."""

from collections import Counter
from pathlib import Path

import pytest

from tests.kill.loop import CYCLE, PEOPLE, stage, until_dead
from tests.kill.verdict import count, faults_of, until_settled
from tests.tools.parts import listing, program


@pytest.mark.timeout(300)
async def test_a_message_is_answered_once_where_the_daemon_dies_in_the_tool_that_its_thought_uses(
    tmp_path: Path,
) -> None:
    calls = tmp_path / "calls"
    settings = {
        "mcp_servers": str(listing(tmp_path, shelf=program(str(calls), module="deadly", trust_annotations=True)))
    }
    async with stage(tmp_path, 1, soul=CYCLE) as on:
        pid = await on.daemons.spawn(settings=settings, lease=1.0)
        for person in PEOPLE:
            on.crowd.say("please look it up", person)
            await until_dead(pid)
            pid = await on.daemons.spawn(settings=settings, lease=1.0)
            await until_settled(tmp_path, on.workspace, on.crowd.said)
        outcome = await on.settle(len(PEOPLE), pid=pid)
    used = Counter(calls.read_text(encoding="utf-8").split())
    assert list(used.values()) == [2] * len(PEOPLE), "each call died once, and was made once more"
    assert outcome.faultless, outcome
    assert faults_of(tmp_path, most=2) == []
    assert count(tmp_path, "SELECT count(*) FROM thoughts") == 2 * len(PEOPLE), "a look and an answer, for each"
