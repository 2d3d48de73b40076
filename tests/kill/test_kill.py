"""Every accepted event is answered exactly once, wherever and whenever the daemon is killed."""

from contextlib import closing
from itertools import chain
from pathlib import Path
from zlib import crc32

import pytest

from daemon.memory.database.sqlite import sqlite3
from tests import chance
from tests.kill.loop import PEOPLE, run, stage, until_dead
from tests.kill.scenes import places, played, trials
from tests.kill.verdict import count

KILLS = EVENTS = 100
_PARTS = 4
_TRIES = 3  # a daemon may pass a point by chance only
_NAMED = {
    *("Commits.commit@after", "chat.stopStream@before", "chat.postMessage@after", "WorkerStore._move_all@after"),
    *("Learning.revise@before", "SoulStates.revise@after", "Turns.summarize@before", "Jobs.give_up@before"),
    *("Conversations.absorb_new_messages@after", "Jobs.claim_next@before", "Commits.commit(parked)@after"),
    *("Commits.commit(resumed)@before", "Commits.commit(noting)@after", "Commits.commit(due)@before"),
    "Commits.commit(silent)@after",
}
# Only a slow machine, a chance or a fresh file passes these: a claim that is renewed, a look that finds nothing, an
# interrupted call, the first night, memories that the vectors lack.
_BY_CHANCE = {
    *("Conversations.renew", "Jobs.renew", "Outbox.claim_next", "Outbox.postpone", "Commits.record_calls"),
    *("assistant.threads.setStatus", "conversations.replies", "CatchUpStore.advance", "Presence.release_the_dead"),
    *("CatchUpStore.mark_quiet", "NightSlots.newest", "enqueue"),
}
# The answer continued the problem that waited for it, instead of starting a new one.
_PARKED_TWICE = """
    SELECT (SELECT count(*) FROM conversations WHERE process = 'problem_solving')
         + (SELECT count(*) FROM transitions WHERE act = 'stay' AND origin = 'problem_solving')
         - (SELECT count(*) FROM inbox WHERE modality = 'words' AND body LIKE '%and ask me%')
    """


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
async def test_nothing_is_lost_or_doubled_by_kills_at_random_moments(tmp_path: Path) -> None:
    outcome = await run(tmp_path, kills=KILLS, events=EVENTS, seed=chance.SEED)
    print(outcome)
    assert outcome.faultless, outcome
    assert outcome.notes


@pytest.mark.timeout(1_800)  # for what hangs; minutes on an idle machine
@pytest.mark.parametrize("part", range(_PARTS))  # side by side, since they mostly wait
async def test_nothing_is_lost_doubled_or_torn_by_a_kill_at_any_named_point(tmp_path: Path, part: int) -> None:
    async with stage(tmp_path, 2) as on:
        hit, cuts = set[str](), 0
        passed = await places(on)
        assert set(chain.from_iterable(passed.values())) >= _NAMED
        passed = {
            scene: [place for place in found if crc32(place.encode()) % _PARTS == part]
            for scene, found in passed.items()
        }
        known = set(chain.from_iterable(passed.values()))
        for scene, place in trials(passed, hit):
            for _ in range(_TRIES):
                if await played(scene, on, crash=place):
                    hit.add(place)
                    cuts += 1
                    break
        outcome = await on.settle(cuts)
    missed = sorted(known - hit)
    print(f"{outcome} points={len(known)} missed={missed}")
    assert not [place for place in missed if place.partition("@")[0] not in _BY_CHANCE]
    assert outcome.faultless, outcome
    assert count(tmp_path, _PARKED_TWICE) == 0


async def test_the_verdict_catches_a_daemon_that_resends_without_a_look_up(tmp_path: Path) -> None:
    async with stage(tmp_path, 3) as on:
        posting = {"slack_streaming": "dms"}  # a stream that is ended twice is no double
        passed = str(tmp_path / "passed")
        pid = await on.daemons.spawn(crash="chat.postMessage@after", passed=passed, naive=True, settings=posting)
        on.crowd.say("please", place="general")
        await until_dead(pid)
        outcome = await on.settle(1, pid=await on.daemons.spawn(naive=True, settings=posting))
    assert outcome.duplicated == 1


async def test_the_verdict_catches_torn_rows_and_missed_reminders(tmp_path: Path) -> None:
    async with stage(tmp_path, 4) as on:
        on.crowd.say("please find out, and remind me", PEOPLE[0])
        whole = await on.settle()
        with closing(sqlite3.connect(tmp_path / "memory.db")) as connection, connection:
            connection.execute("DELETE FROM user_model_history")
            connection.execute("UPDATE conversations SET process = 'poetic'")
            connection.execute("UPDATE inbox SET state = 'ignored', answered_by = NULL WHERE modality = 'time'")
        broken = on.judged(0)
    assert whole.faultless
    assert (whole.notes, len(whole.torn)) == (1, 0)
    assert (broken.lost, broken.duplicated, len(broken.torn)) == (1, 1, 2)
