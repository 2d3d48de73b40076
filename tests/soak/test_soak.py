"""Days of a workspace in fast time, and the judge of them; `scripts/bench soak` plays a quarter of a year."""

import asyncio
from pathlib import Path

from daemon.local_slack.model import WorkspaceMessage
from tests.chance import dice
from tests.soak.play import Plan, soak
from tests.soak.verdict import Asked, Judge
from tests.soak.workplace import Workplace, workplace


async def test_two_days_with_every_trouble_lose_double_and_end_nothing_in_silence(tmp_path: Path) -> None:
    plan = Plan(people=12, days=2, messages=24, troubles=6, seed=dice("soak").randrange(10**6))
    soaked = await soak(tmp_path, plan, print)
    print(plan, soaked.troubles, *soaked.verdict.faults, sep="\n")
    assert soaked.verdict.faultless, str(soaked.verdict)
    assert len(soaked.troubles) == 12


def _asked(place: Workplace, mark: str, author: str = "") -> Asked:
    message = place.workspace.post(WorkspaceMessage(place.dms[0].id, author or place.people[0].id, mark))
    return Asked(message.channel, message.ts, message.ts, mark, message.author)


def _answer(place: Workplace, asked: Asked) -> None:
    reply = WorkspaceMessage(asked.channel, place.server.bot_user.id, asked.mark, thread_ts=asked.ts)
    place.workspace.post(reply)


async def test_the_judge_counts_what_is_lost_doubled_ended_in_silence_dead_and_said_to_a_bot(tmp_path: Path) -> None:
    async with workplace(tmp_path, 4) as place:
        judge, unseen = Judge(place), _asked(place, "mark000001")
        await place.settled({unseen.ts}, 600.0)
        for post in judge._posts():
            place.workspace.withdraw(post)
        await place.stop()
        lost, doubled, noise = (_asked(place, f"mark00000{number}") for number in (2, 3, 4))
        for asked in (doubled, doubled, noise):
            _answer(place, asked)
        for asked in (unseen, lost, doubled):
            judge.asked(asked)
        judge.noise(noise)
        await place.start()
        assert place.daemon is not None
        place.daemon._life.cancel()
        await asyncio.wait((place.daemon._life,))
        await place.rest(1.0)
        with place.store() as connection:
            connection.execute("DELETE FROM inbox WHERE ts = ?", (lost.ts,))
        for post in judge._posts():
            if lost.mark in post.text:
                place.workspace.withdraw(post)
        judge.judge()
    verdict = judge.verdict
    assert [getattr(verdict, kind) for kind in verdict.FAULTS] == [1] * 5
    assert len(verdict.faults) == 5
