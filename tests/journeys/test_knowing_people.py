"""What the soul learns after a reply: notes, its own mood, a question; and who may read them."""

import json
import re

from daemon.core.errors import ModelUnavailable
from daemon.core.ports.services import Prompt
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.journeys.learning import ABOUT_ME, MINUTE, feeling, notes, teach, tell, will_learn
from tests.journeys.souls import write_soul

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


def replies(prompts: list[Prompt]) -> list[str]:
    """The prompts of the replies."""
    return [shown(prompt) for prompt in prompts if prompt.step == "respond"]


# -- people ------------------------------------------------------------------------------------------------------------


async def test_facts_from_a_message_are_noted_with_their_history_and_used_in_the_next_reply(house: House) -> None:
    await teach(house, "Ada", "dm", "keeps bees on the roof", whisper="Nobody asks about the bees.")
    assert await notes(house) == {"U0ADA dm:D0ADA": ["keeps bees on the roof"]}
    await house.answered("Ada", "dm", "and now?")
    fenced = re.search(r"<note-(\w+)[^>]*>(.*?)</note-\1", house.last_prompt(), re.DOTALL)
    assert fenced is not None
    assert "keeps bees on the roof" in fenced[2]
    assert "Nobody asks about the bees." in house.last_prompt()
    will_learn(house.model, "plans a second hive", quote="I plan a second hive")
    await tell(house, "Ada", "dm", "I plan a second hive")
    await house.events.until("person.modelled", 2)
    history = await house.rows("SELECT version, notes FROM user_model_history ORDER BY version")
    assert [len(json.loads(row["notes"])) for row in history] == [1, 2]
    quoted = await house.rows("SELECT quote FROM links WHERE relation = 'evidence' ORDER BY linked_ms")
    assert [row["quote"] for row in quoted] == [ABOUT_ME, "I plan a second hive"]


async def test_words_of_a_private_message_never_show_in_a_channel(house: House) -> None:
    await teach(house, "Ada", "dm", "keeps canary-dm", whisper="canary-dm-unsaid")
    await teach(house, "Ada", "founders", "keeps canary-private", whisper="canary-private-unsaid")
    await teach(house, "Ada", "general", "keeps canary-public")
    allowed = {
        "dm": {"canary-dm", "canary-dm-unsaid", "canary-private", "canary-private-unsaid", "canary-public"},
        "founders": {"canary-private", "canary-private-unsaid", "canary-public"},
        "general": {"canary-public"},
    }
    for room, canaries in allowed.items():
        await house.answered("Ada", room, "@soul what now?")
        assert set(re.findall(r"canary[a-z-]*[a-z]", house.last_prompt())) == canaries, room
    others = {
        "dm": {"canary-private", "canary-public"},
        "founders": {"canary-private", "canary-public"},
        "general": {"canary-public"},
    }
    for room, canaries in others.items():
        await house.answered("Ben", room, "@soul what do you know of Ada?")
        assert set(re.findall(r"canary[a-z-]*[a-z]", house.last_prompt())) <= canaries, room


# -- how the soul is ---------------------------------------------------------------------------------------------------


async def move(house: House, room: str, state: str, topic: str = "", task: str = "") -> None:
    """Change the soul's mood by a message of Ada's."""
    house.model.steps["feel"].append(feeling(state, topic, task))
    house.model.replies.append(tagged("How lovely.", moved=True))
    await house.answered("Ada", room, "@soul your cloth is finished")
    await house.events.until("soul_state.kept")


async def test_a_mood_changes_the_verbs_until_it_has_faded(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more=MOODS)
    await empty_house.start(name="tess")
    await move(empty_house, "dm", "glad")
    await empty_house.answered("Ada", "dm", "and now?")
    assert "Your mood: glad. It shows in how you speak (sang) and think (rejoiced)" in empty_house.last_prompt()
    empty_house.clock.turn(20 * MINUTE)
    await empty_house.answered("Ada", "dm", "and later?")
    assert "Your mood: glad, less than before." in empty_house.last_prompt()
    empty_house.clock.turn(11 * MINUTE)
    await empty_house.answered("Ada", "dm", "and in the end?")
    assert "Your mood:" not in empty_house.last_prompt()
    assert "sang" not in empty_house.last_prompt()


# -- long talks --------------------------------------------------------------------------------------------------------


async def test_an_apology_begins_no_visit(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    house.model.replies.extend([ModelUnavailable("gone"), ModelUnavailable("gone")])
    assert "I'm sorry" in await house.answered("Ada", "dm", "are you there?")
    assert (await house.one("SELECT visits, interactions FROM user_models"))["visits"] == 1


async def test_a_question_is_carried_to_the_next_visit_through_a_restart_until_it_is_answered(house: House) -> None:
    wondered = "what you have wondered since an earlier time"
    house.model.replies.append(tagged("I see.", moved=True))
    house.model.steps["feel"].append(feeling("neutral", question="Did the joint hold?"))
    await house.answered("Ada", "dm", "I glued the leg of the stool")
    await house.events.until("soul_state.kept")
    await house.restart()
    house.clock.turn(30 * 60 * MINUTE)
    await house.answered("Ada", "dm", "good morning")
    reply = shown(next(one for one in reversed(house.prompts) if one.step == "respond"))  # then the visit is closed
    assert "their visit number 2" in reply
    assert wondered in reply
    assert "Did the joint hold?" in reply
    await house.answered("Ben", "dm", "good morning")
    assert "Did the joint hold?" not in house.last_prompt(), "it is a question of Ada's room"
    house.model.replies.append(tagged("Good.", moved=True))
    house.model.steps["feel"].append(feeling("delighted"))
    await house.answered("Ada", "dm", "the joint held")
    await house.events.until("soul_state.kept")
    await house.answered("Ada", "dm", "what next?")
    assert wondered not in house.last_prompt()
