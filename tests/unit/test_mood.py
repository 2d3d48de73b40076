"""A mood fades to rest and selects the verbs; topic and task are data."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.working_memory import Role
from daemon.memory.knowledge.records.kinds import Qualia
from daemon.memory.knowledge.soul_states import SoulState
from daemon.mind.recall.mood import current_mood, felt_now, state_in_words, with_state
from daemon.mind.steps.feel import QUESTION_CAP, TASK_CAP, TOPIC_CAP, qualia_in
from daemon.mind.steps.respond import respond
from daemon.soul import Mood, Soul, Verbs, VerbsInMood, find_souls_directory, load_soul
from daemon.soul_engine import SOUL_STATE, begin, build_prompt

SOUL = Soul(
    name="ada",
    display_name="Ada",
    personality="You are Ada.",
    emotional_states=("calm", "glad", "weary"),
    verbs=Verbs(speech=("said",), thought=("thought",), when=(("glad", VerbsInMood(speech=("beamed", "sang"))),)),
    mood=Mood(half_life_minutes=60.0),
)
MINUTE = 60_000
GLAD = SoulState("glad", 1_000_000, "bees", "find a hive", "Where do the swarms go?", 3)


def test_a_mood_lasts_for_its_half_life_and_selects_the_verbs() -> None:
    table = {-5: "glad", 0: "glad", 60: "glad", 61: "calm", 9999: "calm"}
    assert {minutes: current_mood(GLAD, GLAD.felt_ms + minutes * MINUTE, SOUL) for minutes in table} == table
    for state in (None, SoulState("", 0), SoulState("furious", 1_000_000)):
        assert current_mood(state, 1_000_000, SOUL) == "calm"
        assert state_in_words(state, SOUL, 1_000_000) == ""
    fresh = state_in_words(GLAD, SOUL, GLAD.felt_ms)
    assert "glad." in fresh
    assert "beamed, sang" in fresh
    assert "(thought)" in fresh
    assert "glad, less than before." in state_in_words(GLAD, SOUL, GLAD.felt_ms + 40 * MINUTE)
    assert state_in_words(GLAD, SOUL, GLAD.felt_ms + 70 * MINUTE) == ""
    verbs = Verbs(speech=("said",), thought=("thought",), when=(("calm", VerbsInMood(speech=("murmured",))),))
    assert "murmured" in state_in_words(None, SOUL.model_copy(update={"verbs": verbs}), 0)


@given(st.text(max_size=20), st.integers(), st.integers(min_value=0))
def test_any_stored_mood_gives_one_that_the_soul_knows(state: str, felt_ms: int, now_ms: int) -> None:
    assert current_mood(SoulState(state, felt_ms), now_ms, SOUL) in SOUL.emotional_states


def test_the_mood_is_not_fenced_and_topic_task_and_question_are() -> None:
    memory = with_state(begin(SOUL), GLAD, SOUL, GLAD.felt_ms)
    mood, topic, task, question = memory.region(SOUL_STATE)
    assert (mood.role, topic.role, task.role, question.role) == (Role.SYSTEM, Role.USER, Role.USER, Role.USER)
    assert question.content == "Where do the swarms go?"
    assert (topic.content, topic.name, task.content) == ("bees", "your topic here", "find a hive")
    assert "bees" not in mood.content
    assert with_state(begin(SOUL), None, SOUL, 0).region(SOUL_STATE) == ()
    soul = load_soul(find_souls_directory(None, Path("nowhere"), "minoan"), "minoan")
    for letters in ("who fixed the roof of the kiln ", "谁修好了窑顶 "):
        about, doing, asked = ((letters * 40)[:cap].strip() for cap in (TOPIC_CAP, TASK_CAP, QUESTION_CAP))
        memory = with_state(begin(soul), SoulState(soul.emotional_states[1], 0, about, doing, asked), soul, 0)
        prompt = build_prompt(memory, respond(soul), budgets=soul.budgets, nonce="ab12cd")
        assert all(words in prompt.messages[-1].text for words in (about, doing, asked)), letters


MOVED = replace(GLAD, valence=0.8, arousal=-0.4, moved_ms=GLAD.felt_ms, felt_quality="warm", felt_by="TH_1")
THINKER = SOUL.model_copy(update={"mind": "cycle"})


def test_what_is_felt_fades_as_the_mood_does_and_is_shown_as_data_to_whole_thoughts_alone() -> None:
    fresh = felt_now(MOVED, MOVED.moved_ms, SOUL)
    assert (fresh.valence, fresh.arousal, fresh.dominance, fresh.felt_quality) == (0.8, -0.4, 0.0, "warm")
    later = felt_now(MOVED, MOVED.moved_ms + 120 * MINUTE, SOUL)
    assert (later.valence, later.arousal, later.felt_quality) == (0.2, -0.1, "")
    assert felt_now(None, 0, SOUL) == felt_now(SoulState("", 0), 1, SOUL)
    shown = with_state(begin(THINKER), MOVED, THINKER, MOVED.moved_ms).region(SOUL_STATE)
    felt = [one for one in shown if one.name == "how you feel"]
    assert [(one.role, one.content) for one in felt] == [
        (Role.USER, "warm (valence +0.8, arousal -0.4, dominance +0.0)")
    ]
    assert with_state(begin(SOUL), MOVED, SOUL, MOVED.moved_ms) == with_state(begin(SOUL), GLAD, SOUL, GLAD.felt_ms)


def test_how_a_thought_feels_is_read_as_models_write_it_and_within_bounds() -> None:
    for words, felt in (
        ("#B00020, sharp, a siren, hot, 0.95", Qualia("#b00020", "sharp", "a siren", "hot", 0.95)),
        ("smooth, rain, cool, 0.4", Qualia("#808080", "smooth", "rain", "cool", 0.4)),
        ("#e6e6fa|liquid||warm|7", Qualia("#e6e6fa", "liquid", "", "warm", 0.5)),
        ("#red, smooth", Qualia("#808080", "smooth")),
        ("#e6e6fa", None),
        (", , , ,", None),
        ("", None),
    ):
        assert qualia_in(words) == felt, words
