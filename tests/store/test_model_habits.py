"""What memory.db knows of each model: how it keeps the form, and whether it thinks aloud."""

from dataclasses import replace

from daemon.core.ports.services import LLMCall
from daemon.memory.database import Database
from daemon.memory.knowledge.model_habits import WARY, ModelHabit, ModelHabits, weak_habits
from daemon.memory.spending.reservations import store_calls
from tests.given import call

HOUR = 3_600_000
KEPT, LOST = replace(call(), kept_form=True), replace(call(), kept_form=False)
CALM, ALOUD = replace(call(), thought_aloud=False), replace(call(), thought_aloud=True)


def after(habit: ModelHabit, *calls: LLMCall, at: int = 0) -> ModelHabit:
    for one in calls:
        habit = habit.after(replace(one, started_ms=at, latency_ms=0))
    return habit


def test_three_malformed_answers_of_ten_mean_plain_words_for_an_hour_and_two_do_not() -> None:
    habit = after(ModelHabit("m"), LOST, *[KEPT] * 7, LOST)
    assert not habit.speaks_split(0)
    habit = after(habit, LOST, at=5)
    assert (habit.speaks_split(5), habit.speaks_split(5 + HOUR)) == (True, False)
    assert not after(ModelHabit("m"), LOST, LOST, *[KEPT] * 9, LOST).speaks_split(0), "only the last ten count"


def test_the_time_doubles_while_it_is_no_cure_up_to_a_day_and_ten_good_answers_begin_anew() -> None:
    habit, now, spells = after(ModelHabit("m"), LOST, LOST, LOST), 0, []
    for _ in range(6):
        spells.append((habit.split_until_ms - now) // HOUR)
        now = habit.split_until_ms
        habit = after(habit, LOST, at=now)
    assert spells == [1, 2, 4, 8, 16, 24]
    habit = after(habit, *[KEPT] * 10, LOST, LOST, LOST, at=(later := habit.split_until_ms))
    assert habit.split_until_ms - later == HOUR


def test_speech_streams_after_one_calm_answer_and_after_many_once_it_held_reasoning() -> None:
    assert (ModelHabit("m").streams_speech, ModelHabit("m").streams_elements) == (False, True)
    assert after(ModelHabit("m"), CALM).streams_speech
    habit = after(ModelHabit("m"), CALM, ALOUD)
    assert (habit.streams_speech, habit.streams_elements) == (False, False)
    assert not after(habit, *[CALM] * (WARY - 1)).streams_speech
    assert after(habit, *[CALM] * WARY).streams_speech


async def test_habits_are_stored_with_the_calls_and_seen_by_every_process(database: Database) -> None:
    model = call().model
    assert await ModelHabits(database).of(model) == {model: ModelHabit(model)}
    await database.write(lambda transaction: store_calls(transaction, (LOST, ALOUD, call(), LOST, LOST)))
    [known] = (await ModelHabits(database).of(model)).values()
    assert (known.recent, known.hold_back) == ("mmm", WARY)
    weak = await database.read(lambda transaction: weak_habits(transaction, 0))
    assert weak == (known,)
    assert "3 of its last 3 answers lost the form" in weak[0].weakness(0)
    assert "shown only once they have ended" in weak[0].weakness(0)
    await database.write(lambda transaction: store_calls(transaction, (CALM,) * WARY))
    assert not await database.read(lambda transaction: weak_habits(transaction, known.split_until_ms))
