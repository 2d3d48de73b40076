"""What the soul learns after it has spoken: of people, of itself, of long talks; for whom it is, and what undoes it."""

import asyncio
import json
import re

import pytest

from daemon.core.errors import ModelUnavailable
from daemon.core.ports import Prompt
from tests.journeys.house import House
from tests.journeys.model import Actor, after, shown, tagged
from tests.journeys.souls import write_soul

MINUTE = 60.0
MOODS = """
emotional_states = ["calm", "glad"]
[verbs]
speech = ["said"]
thought = ["thought"]
[verbs.when.glad]
speech = ["sang"]
thought = ["rejoiced"]
[mood]
half_life_minutes = 30
[notes]
min_interactions = 100
"""


def noted(*lines: str) -> str:
    return json.dumps({"add": lines, "correct": [], "retire": []})


def feeling(state: str, topic: str = "", task: str = "") -> str:
    return json.dumps({"emotional_state": state, "topic": topic, "task": task})


def will_learn(model: Actor, *lines: str, whisper: str = "I hope it holds.") -> None:
    """What the model will make of the next talk that taught it something."""
    model.steps["internal_monologue"].append("They told of themselves.")
    model.steps["visitor_notes"].append(noted(*lines))
    model.steps["visitor_whispers"].append(whisper)


async def tell(house: House, person: str, room: str, words: str, *, learned: bool = True) -> None:
    """Somebody says something, and the reply comes with the thought that it taught the soul something of them."""
    house.model.replies.append(tagged("I see.", learned=learned))
    await house.answered(person, room, words)


async def teach(house: House, person: str, room: str, *lines: str, whisper: str = "I hope it holds.") -> None:
    """Have lines noted of somebody, of what they say in a room."""
    await tell(house, person, room, "@soul hello there", learned=False)
    will_learn(house.model, *lines, whisper=whisper)
    await tell(house, person, room, "@soul let me tell you of me")
    await house.told.until("person.modelled")


async def notes(house: House) -> dict[str, list[str]]:
    """The notes of every person and audience."""
    rows = await house.rows("SELECT person, audience, notes FROM user_models ORDER BY person, audience")
    return {f"{row['person']} {row['audience']}": json.loads(row["notes"]) for row in rows if row["notes"] != "[]"}


def replies(prompts: list[Prompt]) -> list[str]:
    """What the model was shown to answer with."""
    return [shown(prompt) for prompt in prompts if prompt.step == "respond"]


# -- people ------------------------------------------------------------------------------------------------------------


async def test_what_somebody_told_is_noted_with_its_history_and_in_mind_the_next_time(house: House) -> None:
    await teach(house, "Ada", "dm", "keeps bees on the roof", whisper="Nobody asks about the bees.")
    assert await notes(house) == {"U0ADA dm:D0ADA": ["keeps bees on the roof"]}
    await house.answered("Ada", "dm", "and now?")
    fenced = re.search(r"<note-(\w+)[^>]*>(.*?)</note-\1", house.last_prompt(), re.DOTALL)
    assert fenced is not None
    assert "keeps bees on the roof" in fenced[2]
    assert "Nobody asks about the bees." in house.last_prompt()
    will_learn(house.model, "plans a second hive")
    await tell(house, "Ada", "dm", "I plan a second hive")
    await house.told.until("person.modelled", 2)
    history = await house.rows("SELECT version, notes FROM user_model_history ORDER BY version")
    assert [json.loads(row["notes"]) for row in history] == [
        ["keeps bees on the roof"],
        ["keeps bees on the roof", "plans a second hive"],
    ]


async def test_somebody_who_said_one_thing_is_not_modelled_and_small_talk_costs_nothing(house: House) -> None:
    await tell(house, "Ada", "dm", "I keep bees")
    await tell(house, "Ben", "dm", "hello", learned=False)
    await tell(house, "Ben", "dm", "hello again", learned=False)
    await house.idle()
    assert {prompt.step for prompt in house.prompts} == {"respond"}
    assert await notes(house) == {}


async def test_what_was_told_in_private_is_never_shown_elsewhere(house: House) -> None:
    await teach(house, "Ada", "dm", "CANARY-DM", whisper="CANARY-DM-UNSAID")
    await teach(house, "Ada", "founders", "CANARY-PRIVATE", whisper="CANARY-PRIVATE-UNSAID")
    await teach(house, "Ada", "general", "CANARY-PUBLIC")
    allowed = {
        "dm": {"CANARY-DM", "CANARY-DM-UNSAID", "CANARY-PUBLIC"},
        "founders": {"CANARY-PRIVATE", "CANARY-PRIVATE-UNSAID", "CANARY-PUBLIC"},
        "general": {"CANARY-PUBLIC"},
    }
    for room, canaries in allowed.items():
        await house.answered("Ada", room, "@soul what now?")
        assert set(re.findall(r"CANARY[A-Z-]*[A-Z]", house.last_prompt())) == canaries, room
    for room in allowed:
        await house.answered("Ben", room, "@soul what do you know of Ada?")
        assert "CANARY" not in house.last_prompt(), room


async def test_what_others_learn_from_is_shown_no_canary_either(house: House) -> None:
    await teach(house, "Ada", "dm", "CANARY-DM")
    before = len(house.prompts)
    await teach(house, "Ada", "general", "likes tin")
    await teach(house, "Ben", "dm", "likes wool")
    assert "CANARY" not in "".join(shown(prompt) for prompt in house.prompts[before:])


async def test_what_is_said_of_somebody_by_another_is_no_note_about_them(house: House) -> None:
    root = await house.say("Ada", "general", "@soul hello, I weave")
    await house.reply("general", "I weave")
    await house.idle()
    will_learn(house.model, "thinks of looms")
    house.model.replies += [tagged("I see."), tagged("Well.", learned=True)]
    await house.answered("Ben", "general", "@soul hello from Ben", thread=root)
    await house.answered("Ben", "general", "@soul Ada is lazy", thread=root)
    assert await notes(house) == {"U0BEN workspace:T0LOCAL": ["thinks of looms"]}
    [asked] = [shown(one) for one in house.prompts if one.step == "visitor_notes"]
    assert "You keep notes about the person who speaks here" in asked
    assert "I weave" not in asked


async def test_a_newer_message_cuts_the_afterthought_which_is_had_again_with_both_in_mind(house: House) -> None:
    never = asyncio.Event()
    asked = asyncio.Event()

    async def hang(_: Prompt) -> str:
        asked.set()
        await never.wait()
        return "never said"

    await tell(house, "Ada", "dm", "hello", learned=False)
    house.model.steps["internal_monologue"].append(hang)
    house.model.replies.append(tagged("I see.", learned=True))
    await house.say("Ada", "dm", "I keep bees")
    await asked.wait()
    will_learn(house.model, "keeps bees and goats")
    house.model.replies.append(tagged("Goats too!", learned=True))
    await house.say("Ada", "dm", "and goats")
    await house.told.until("job.given_up", kind="models_the_visitor")
    await house.reply("D0ADA", "Goats too!")
    await house.told.until("person.modelled")
    await house.idle()
    [thought] = [shown(one) for one in house.prompts if one.step == "visitor_notes"]
    assert "I keep bees" in thought
    assert "and goats" in thought
    assert await notes(house) == {"U0ADA dm:D0ADA": ["keeps bees and goats"]}
    assert len(await house.replies("D0ADA")) == 3


async def test_an_afterthought_during_which_the_daemon_died_is_had_by_the_next(empty_house: House) -> None:
    house = empty_house
    await house.start()
    await tell(house, "Ada", "dm", "hello", learned=False)
    house.model.steps["internal_monologue"].append(after(asyncio.Event(), "never said"))
    house.model.replies.append(tagged("I see.", learned=True))
    await house.say("Ada", "dm", "I keep bees")
    await house.reply("D0ADA", "I see.", count=2)

    async def thinking() -> bool:
        return any(prompt.step == "internal_monologue" for prompt in house.prompts)

    await house.when(thinking)
    assert await house.rows("SELECT * FROM jobs WHERE state = 'running'")
    assert house.daemon is not None
    await house.daemon.cut()
    will_learn(house.model, "keeps bees")
    await house.start()
    house.clock.turn(2 * MINUTE)  # longer than a lease
    await house.told.until("person.modelled")
    await house.idle()
    assert await notes(house) == {"U0ADA dm:D0ADA": ["keeps bees"]}
    assert len(await house.rows("SELECT * FROM user_model_history")) == 1
    assert len(await house.replies("D0ADA")) == 2


async def test_an_afterthought_that_fails_is_had_later_and_the_replies_go_on(house: House) -> None:
    await tell(house, "Ada", "dm", "hello", learned=False)
    will_learn(house.model, "keeps bees")
    house.model.steps["visitor_notes"].extendleft(["no JSON at all"] * 2)
    house.model.steps["internal_monologue"].append("Once more.")
    await tell(house, "Ada", "dm", "I keep bees")
    await house.told.until("job.failed", kind="models_the_visitor")
    await house.answered("Ada", "dm", "still there?")
    house.clock.turn(MINUTE)
    await house.told.until("person.modelled")
    assert await notes(house) == {"U0ADA dm:D0ADA": ["keeps bees"]}


async def test_words_taken_back_are_unlearned(house: House) -> None:
    await tell(house, "Ada", "dm", "hello", learned=False)
    will_learn(house.model, "keeps bees")
    house.model.replies.append(tagged("I see.", learned=True))
    ts = await house.say("Ada", "dm", "I keep bees, don't tell")
    await house.told.until("person.modelled")
    await house.idle()
    await house.people.delete("Ada", "dm", ts)

    async def forgotten() -> bool:
        return await notes(house) == {}

    await house.when(forgotten)
    assert not any("bees" in str(tuple(row)) for row in await house.rows("SELECT * FROM user_model_history"))
    await house.answered("Ada", "dm", "what do you know?")
    assert "keeps bees" not in house.last_prompt()


# -- how the soul is ---------------------------------------------------------------------------------------------------


async def move(house: House, room: str, state: str, topic: str = "", task: str = "") -> None:
    """Have the soul be moved by what Ada says."""
    house.model.steps["feel"].append(feeling(state, topic, task))
    house.model.replies.append(tagged("How lovely.", moved=True))
    await house.answered("Ada", room, "@soul your cloth is finished")
    await house.told.until("soul_state.kept")


async def test_a_mood_colours_the_verbs_until_it_has_faded(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, more=MOODS)
    await house.start(name="tess")
    await move(house, "dm", "glad")
    await house.answered("Ada", "dm", "and now?")
    assert "Your mood: glad. It shows in how you speak (sang) and think (rejoiced)" in house.last_prompt()
    house.clock.turn(20 * MINUTE)
    await house.answered("Ada", "dm", "and later?")
    assert "Your mood: glad, less than before." in house.last_prompt()
    house.clock.turn(11 * MINUTE)
    await house.answered("Ada", "dm", "and in the end?")
    assert "Your mood:" not in house.last_prompt()
    assert "sang" not in house.last_prompt()


async def test_topic_task_and_mood_of_a_private_talk_stay_there(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, more=MOODS)
    await house.start(name="tess")
    await move(house, "dm", "glad", "CANARY-TOPIC", "CANARY-TASK")
    for person, room in (("Ada", "general"), ("Ada", "founders"), ("Ben", "dm")):
        await house.answered(person, room, "@soul what are you at?")
        assert "CANARY" not in house.last_prompt()
        assert "Your mood:" not in house.last_prompt()
    await house.answered("Ada", "dm", "what are you at?")
    prompt = house.last_prompt()
    for canary in ("CANARY-TOPIC", "CANARY-TASK"):
        assert re.search(rf"<note-(\w+)[^>]*>\s*{canary}\s*</note-\1", prompt)


async def test_a_mood_that_the_soul_does_not_know_changes_nothing(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, more=MOODS)
    await house.start(name="tess")
    house.model.steps["feel"] += [feeling("vengeful")] * 2
    house.model.replies.append(tagged("Hm.", moved=True))
    await house.answered("Ada", "dm", "you are vengeful now")
    await house.told.until("job.failed", kind="keeps_its_own_state")
    await house.answered("Ada", "dm", "well?")
    assert "Your mood:" not in house.last_prompt()


# -- long talks --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("interrupted", [False, True])
async def test_what_no_longer_fits_lives_on_as_a_summary(empty_house: House, interrupted: bool) -> None:
    house = empty_house
    write_soul(
        house.settings.home,
        more='subprocesses = ["summarizes_the_conversation"]\n[budgets]\ntranscript = 300\nturn = 200\n',
    )
    await house.start(name="tess")
    if interrupted:
        asked = asyncio.Event()

        async def hang(_: Prompt) -> str:
            asked.set()
            await asyncio.Event().wait()
            return "never said"

        house.model.steps["summarize"].append(hang)
    house.model.steps["summarize"] += ["They spoke of a loom."] * 9
    await house.answered("Ada", "dm", "the loom has a squeak")
    await house.say("Ada", "dm", "and a long story: " + "word " * 200)
    if interrupted:
        await asked.wait()
    await house.answered("Ada", "dm", "so much for that")
    if interrupted:
        assert house.told.named("job.given_up")
    await house.told.until("job.done", kind="summarizes_the_conversation")
    await house.idle()
    await house.answered("Ada", "dm", "and now?")
    assert "They spoke of a loom." in house.last_prompt()
    assert "the loom has a squeak" not in house.last_prompt()
    rows = await house.rows("SELECT body FROM turns WHERE body = 'the loom has a squeak'")
    assert len(rows) == 1, "the turns themselves stay"


async def test_an_apology_begins_no_visit(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    house.model.replies.extend([ModelUnavailable("gone"), ModelUnavailable("gone")])
    assert "I'm sorry" in await house.answered("Ada", "dm", "are you there?")
    assert (await house.one("SELECT visits, interactions FROM user_models"))["visits"] == 1
