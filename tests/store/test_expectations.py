"""What a soul expects is stored with its thought, bounded, scored once by plain rules, and gone with its words."""

import asyncio
from pathlib import Path

import pytest

from daemon.core.expectations import Check
from daemon.core.perception import Audience, ConversationKey
from daemon.core.timetable import platform_time
from daemon.memory.expectations.settling import DuePredictions
from daemon.memory.stream.emptying import empty_by_age, empty_thoughts_on, narrow_thoughts
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, edited, new_message
from tests.store.expecting import HOUR_MS, MINE, Expecter, prediction
from tests.store.parts import Stores, look
from tests.store.thinking import members, outsiders

REPLY, SILENCE, NONE = Check("reply"), Check("silence"), Check("none")
EVERYBODY = members(f"workspace:{TEAM}")
ROOM = ConversationKey(SOUL, TEAM, "C1", "5.0")
SCORES = "SELECT id, state, scored_by, surprise FROM predictions ORDER BY seq"


@pytest.fixture
def soul(stores: Stores, clock: FakeClock) -> Expecter:
    return Expecter(stores, clock=clock)


async def test_what_a_thought_expects_is_numbered_for_its_soul_and_bounded(soul: Expecter) -> None:
    await soul.expects_in_passing(prediction(REPLY))
    assert await soul.refused() == ["private"], "nothing is to be remembered"
    assert await soul.states() == []
    await soul.expects(prediction(REPLY), prediction(Check("reply", who="user:ben")), prediction(REPLY, "again"))
    assert await soul.refused() == ["duplicate"]
    await soul.expects(*[prediction(NONE, f"thing {number}") for number in range(30)])
    held = await soul.states()
    assert [name for name, _ in held] == [f"P{number}" for number in range(1, 22)]
    assert await soul.refused() == ["too_many"] * 11, "the first thought's two were decided by the words that came"
    await soul.expects(prediction(Check("goal", id="G9")), where=ROOM, readers=EVERYBODY)
    assert await soul.refused() == ["unknown"]


async def test_words_that_come_decide_at_once(soul: Expecter) -> None:
    for check, author, words, state in (
        (REPLY, "U1", "here", "hit"),
        (Check("reply", who="<@U1>"), "U1", "here", "hit"),
        (Check("reply", who="Ben"), "U2", "here", "open"),
        (Check("reply", who="user:ben smith"), "U1", "here", "hit"),
        (Check("reply", who="ben"), "U1", "here", "hit"),
        (Check("mention", words=("Import", "导入")), "U1", "the IMPORT, it works", "hit"),
        (Check("mention", words=("port",)), "U1", "the import", "open"),
        (Check("mention", words=("导入",)), "U1", "完成了导入工作", "hit"),
        (Check("mention", words=("import",), who="U2"), "U1", "the import", "open"),
        (SILENCE, "U1", "here", "miss"),
        (NONE, "U1", "here", "open"),
        (Check("tool", name="search"), "U1", "here", "hit"),
        (Check("tool", name="docs/search"), "U1", "here", "hit"),
        (Check("tool", name="doc"), "U1", "here", "open"),
    ):
        await soul.expects(prediction(check, confidence=0.75))
        name = "Ben Smith" if author == "U1" else "Eve"
        await soul.hears(words, author, name=name, tools=("docs/search",))
        (row,) = await soul.database.rows("SELECT state, scored_by, surprise FROM predictions")
        surprise = {"hit": 0.25, "miss": 0.75, "open": None}[state]
        assert tuple(row) == (state, "" if state == "open" else "rule", surprise), (check, author, words)
        await soul.database.run("DELETE FROM predictions")


async def test_bots_and_sessions_are_no_persons(soul: Expecter) -> None:
    await soul.expects(prediction(REPLY), prediction(SILENCE))
    await soul.hears("I am a program", "U7", bot=True)
    await soul.hears("I am a session", "session.k1")
    assert await soul.states() == [("P1", "open"), ("P2", "open")]


async def test_words_that_come_too_late_decide_nothing_and_the_time_does(soul: Expecter, path: Path) -> None:
    now = soul.clock.now_ms()
    await soul.expects(
        prediction(REPLY, until_ms=now + HOUR_MS),
        prediction(SILENCE, until_ms=now + HOUR_MS),
        prediction(NONE, until_ms=now + HOUR_MS),
        prediction(Check("mention", words=("later",)), until_ms=now + 2 * HOUR_MS),
    )
    assert await soul.due.next_due_ms() == now + HOUR_MS
    assert await soul.due.fall_due() == 0
    await soul.clock.advance(3_600)
    assert await soul.due.fall_due() == 3
    assert await soul.due.fall_due() == 0
    assert look(path, SCORES) == [
        ("P1", "miss", "rule", 0.8),
        ("P2", "hit", "rule", pytest.approx(0.2)),
        ("P3", "unresolved", "rule", None),
        ("P4", "open", "", None),
    ]
    assert look(path, "SELECT scored, hits FROM prediction_sums") == [(2, 1)]


async def test_what_was_said_in_time_and_waits_to_be_answered_is_not_over(soul: Expecter) -> None:
    now = soul.clock.now_ms()
    await soul.expects(prediction(REPLY, until_ms=now + HOUR_MS))
    ts = platform_time(now + HOUR_MS // 2)
    await soul.stores.inbox.accept(new_message(ts, "here I am"))
    await soul.clock.advance(4_000)
    assert await soul.due.fall_due() == 0
    await soul.stores.answer("good")
    assert await soul.states() == [("P1", "hit")]


async def test_exchanges_are_counted_and_those_that_never_come_decide_nothing(soul: Expecter) -> None:
    until = soul.clock.now_ms() + HOUR_MS
    await soul.expects(prediction(Check("mention", words=("later",)), exchanges=2, until_ms=until))
    await soul.expects(prediction(NONE, exchanges=9, until_ms=until))
    assert await soul.states() == [("P1", "open"), ("P2", "open")]
    await soul.hears("no", bot=True)
    assert await soul.states() == [("P1", "open"), ("P2", "open")]
    await soul.hears("no")
    assert await soul.states() == [("P1", "miss"), ("P2", "open")]
    await soul.clock.advance(4_000)
    await soul.due.fall_due()
    assert await soul.states() == [("P1", "miss"), ("P2", "unresolved")]


async def test_an_edited_message_counts_as_it_now_is_and_so_do_words_to_others(soul: Expecter) -> None:
    now = soul.clock.now_ms()
    until = now + HOUR_MS
    await soul.expects(
        prediction(Check("mention", words=("ready",)), until_ms=until),
        prediction(Check("reply", who="Eve"), until_ms=until),
        prediction(Check("mention", words=("lunch",)), until_ms=until),
        prediction(Check("mention", words=("dinner",)), until_ms=until),
        where=ROOM,
        readers=EVERYBODY,
    )
    await soul.clock.advance(10)
    ts = await soul.hears("not yet", where=ROOM)
    await soul.stores.inbox.accept(edited(ts, "it is ready", conversation=ROOM))
    for number, (author, words) in enumerate([("U1", "lunch?"), ("U9", "dinner?")]):
        aside = platform_time(soul.clock.now_ms() + number)
        message = new_message(aside, words, conversation=ROOM, author=author, addressed=False, to_others=True)
        await soul.stores.inbox.accept(message)
    await soul.clock.advance(4_000)
    assert await soul.due.fall_due() == 4
    assert await soul.states() == [("P1", "hit"), ("P2", "miss"), ("P3", "hit"), ("P4", "miss")]


async def test_two_daemons_that_score_at_once_score_each_once(soul: Expecter, others: Stores, path: Path) -> None:
    until, checks = (
        soul.clock.now_ms() + HOUR_MS,
        (SILENCE, Check("reply", who="U9"), Check("mention", words=("never",))),
    )
    await soul.expects(*[prediction(check, until_ms=until) for check in checks])
    await soul.clock.advance(4_000)
    async with asyncio.TaskGroup() as group:
        other = DuePredictions(others.database, soul.clock, soul.worker)
        runs = [group.create_task(due.fall_due()) for due in (soul.due, other) * 3]
    assert sum(run.result() for run in runs) == len(checks)
    assert look(path, "SELECT scored, hits, squared FROM prediction_sums") == [(3, 1, pytest.approx(1.32))]


async def test_an_outcome_is_given_to_one_thought(soul: Expecter) -> None:
    await soul.expects(prediction(REPLY, "they answer", 0.9), prediction(SILENCE, "they sleep", 0.7))
    await soul.hears("hello")
    errors = (await soul.at_hand()).errors
    assert [(one.id, one.surprise) for one in errors] == [("P2", 0.7), ("P1", pytest.approx(0.1))]
    await soul.hears("and?", given=[one.id for one in errors])
    assert (await soul.at_hand()).errors == ()


@pytest.mark.parametrize("how", ["deleted", "old"])
async def test_with_its_thought_an_expectation_goes_and_its_numbers_stay(soul: Expecter, path: Path, how: str) -> None:
    await soul.expects(prediction(Check("mention", words=("secret",), who="U3"), "the secret comes out", 0.9))
    await soul.hears("a secret", "U3")
    name = await soul.expects(prediction(Check("mention", words=("kraken",)), "the kraken comes"))
    if how == "old":
        thoughts = [str(one) for (one,) in look(path, "SELECT id FROM thoughts")]
        await soul.database.write(lambda it: empty_by_age(it, thoughts))
    else:
        turns = look(path, "SELECT 'TU_' || seq FROM turns WHERE speaker = 'person' ORDER BY seq")
        await soul.database.write(lambda it: empty_thoughts_on(it, [str(turns[0][0])]))
    assert look(path, "SELECT id, state, surprise, what, timeframe, awaited FROM predictions ORDER BY seq") == [
        ("P1", "hit", pytest.approx(0.1), "", "", '{"kind":"mention"}'),
        ("P2", "withdrawn", None, "", "", '{"kind":"mention"}'),
    ]
    assert look(path, "SELECT scored, hits FROM prediction_sums") == [(1, 1)]
    assert (await soul.at_hand()).open == ()
    assert look(path, "SELECT count(*) FROM predictions WHERE thought = ?", name) == [(1,)]


async def test_it_is_shown_before_the_same_readers_or_all_and_before_outsiders_here_alone(soul: Expecter) -> None:
    await soul.expects(prediction(REPLY, "in private"))
    await soul.expects(prediction(REPLY, "in public"), where=ROOM, readers=EVERYBODY)

    async def shown(where: ConversationKey, readers: object) -> list[str]:
        assert isinstance(readers, type(MINE))
        return [one.what for one in (await soul.at_hand(where, readers)).open]

    assert await shown(DM, MINE) == ["in private", "in public"]
    assert await shown(ROOM, EVERYBODY) == ["in public"]
    other = ConversationKey(SOUL, TEAM, "D2")
    assert await shown(other, members("dm:D2")) == ["in public"]
    assert await shown(other, outsiders("dm:D2")) == []
    assert await shown(ROOM, outsiders(f"workspace:{TEAM}")) == []


async def test_what_was_expected_in_a_channel_that_is_made_private_is_shown_nowhere(soul: Expecter, path: Path) -> None:
    await soul.expects(prediction(REPLY, "in public"), where=ROOM, readers=EVERYBODY)
    await soul.database.write(lambda it: narrow_thoughts(it, TEAM, "C1", Audience.parse("channel:C1")))
    assert look(path, "SELECT audience, state FROM predictions") == [("channel:C1", "open")]
    assert (await soul.at_hand(DM, MINE)).open == ()
    assert (await soul.at_hand(ROOM, members("channel:C1"))).open == ()


async def test_a_goal_that_is_completed_in_time_decides_what_waits_for_it(soul: Expecter, path: Path) -> None:
    now = soul.clock.now_ms()
    await soul.has_goals("G1", "G2")
    await soul.expects(
        prediction(Check("goal", id="g1"), confidence=0.6, until_ms=now + HOUR_MS),
        prediction(Check("goal", id="G2"), confidence=0.6, until_ms=now + HOUR_MS),
    )
    await soul.clock.advance(10)
    done = "UPDATE goals SET state = 'done', closed_ms = :now WHERE id = 'G1'"
    await soul.database.run(done, now=soul.clock.now_ms())
    assert look(path, SCORES)[0] == ("P1", "hit", "rule", pytest.approx(0.4))
    await soul.clock.advance(4_000)
    await soul.due.fall_due()
    await soul.database.run("UPDATE goals SET state = 'done', closed_ms = :now", now=soul.clock.now_ms())
    assert await soul.states() == [("P1", "hit"), ("P2", "miss")]
    assert look(path, "SELECT scored, hits, confidence FROM prediction_sums") == [(2, 1, pytest.approx(1.2))]


async def test_a_check_that_can_not_be_read_waits_for_a_person_and_stops_nothing(soul: Expecter) -> None:
    await soul.expects(prediction(REPLY))
    for awaited in ("gone", "[]", '{"kind": "telepathy", "words": 3}', '{"kind": []}'):
        await soul.database.run("UPDATE predictions SET awaited = :held WHERE id = 'P1'", held=awaited)
        await soul.expects(prediction(Check("reply", who="ben"), f"beside {awaited}"))
        assert (await soul.states())[0] == ("P1", "open"), awaited


async def test_emptied_outcomes_hide_no_later_ones(soul: Expecter, path: Path) -> None:
    await soul.expects(*[prediction(Check("mention", words=(f"word{n}",)), f"t{n}", confidence=0.1) for n in range(10)])
    await soul.hears(" ".join(f"word{n}" for n in range(10)))
    assert len((await soul.at_hand()).errors) == 10
    thoughts = [str(one) for (one,) in look(path, "SELECT id FROM thoughts")]
    await soul.database.write(lambda it: empty_by_age(it, thoughts))
    assert (await soul.at_hand()).errors == ()
    for n in range(3):
        await soul.expects(prediction(Check("mention", words=("later",)), f"later {n}", confidence=0.5))
        await soul.hears("later")
    errors = (await soul.at_hand()).errors
    assert [one.what for one in errors] == ["later 0", "later 1", "later 2"]
