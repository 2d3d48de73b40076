"""Whatever people want at random, wherever they live: nothing is said unasked but what, when and as often as it may."""

from pathlib import Path

import pytest

from daemon.core.initiative import QuietHours, SayingUnasked
from daemon.memory.queues.ticks import Ticks
from daemon.memory.records import Claim
from tests.fakes import TurnableClock
from tests.initiative.play import play

_SEED = 20_260_706  # `python -m tests initiative` draws others


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_nothing_is_said_uninvited_too_often_in_quiet_hours_or_twice_and_each_promise_is_kept(
    tmp_path: Path,
) -> None:
    verdict = await play(tmp_path, 30, _SEED)
    print(verdict)
    assert not verdict.faults, (verdict, *verdict.faults)
    assert verdict.promised


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_without_the_rule_that_asks_for_an_invitation_the_judge_finds_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SayingUnasked, "why_silent", lambda *_: "")
    verdict = await play(tmp_path, 25, 1)
    assert any(one.startswith("uninvited") for one in verdict.faults)


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_of_a_daemon_that_dawdles_the_judge_says_that_it_is_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_time = Ticks.claim_next

    async def dawdling(ticks: Ticks, quiet: QuietHours, *, owed_alone: bool = False) -> Claim | None:
        assert isinstance(ticks._clock, TurnableClock)
        ticks._clock.turn(6)
        return await in_time(ticks, quiet, owed_alone=owed_alone)

    monkeypatch.setattr(Ticks, "claim_next", dawdling)
    verdict = await play(tmp_path, 25, 4)
    assert any(one.startswith("late") for one in verdict.faults)
