"""However a daemon is killed, the stream of thought is one chain, and no answer is thought or given twice."""

from collections import Counter
from pathlib import Path

import pytest

from tests.kill.loop import CYCLE, PEOPLE, stage, until_dead
from tests.kill.scenes import SCENES, passed, played
from tests.kill.verdict import count, faults_of, until_settled
from tests.tools.parts import listing, program

_LEASE_S = 10.0  # longer than a busy machine lets a living daemon stand still


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_the_chain_is_whole_after_a_kill_at_each_commit_and_request(tmp_path: Path) -> None:
    plain = SCENES[0]
    async with stage(tmp_path, 2, soul=CYCLE) as on:
        places = await passed(plain, on)
        assert {"Commits.commit@before", "Commits.commit@after", "begin_noting@after"} <= set(places)
        cuts = sum([await played(plain, on, crash=place) for place in places])
        outcome = await on.settle(cuts)
    assert cuts >= len(places) // 2
    assert outcome.faultless, outcome
    assert faults_of(tmp_path) == []


@pytest.mark.timeout(300)
async def test_a_message_is_answered_once_where_the_daemon_dies_in_the_tool_of_its_thought(tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    settings = {
        "mcp_servers": str(listing(tmp_path, shelf=program(str(calls), module="deadly", trust_annotations=True)))
    }
    async with stage(tmp_path, 1, soul=CYCLE) as on:
        pid = await on.daemons.spawn(settings=settings, lease=_LEASE_S)
        for person in PEOPLE:
            on.crowd.say("please look it up", person)
            await until_dead(pid)
            pid = await on.daemons.spawn(settings=settings, lease=_LEASE_S)
            await until_settled(tmp_path, on.workspace, on.crowd.said)
        outcome = await on.settle(len(PEOPLE), pid=pid)
    used = Counter(calls.read_text(encoding="utf-8").split())
    assert list(used.values()) == [2] * len(PEOPLE), "each call died once, and was made once more"
    assert outcome.faultless, outcome
    assert faults_of(tmp_path, most=2) == []
    assert count(tmp_path, "SELECT count(*) FROM thoughts") == 2 * len(PEOPLE), "a look and an answer, for each"
