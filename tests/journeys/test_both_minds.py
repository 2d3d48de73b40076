"""A soul that thinks whole thoughts fills the same records and offers the same buttons as one that answers in words."""

import json
import shutil
from pathlib import Path

import pytest

from daemon.core.ports.services import Prompt
from daemon.llm.placeholder import rehearsal_answer
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.journeys.learning import notes, will_learn
from tests.journeys.presses import offered, pick
from tests.journeys.reacting import marked
from tests.journeys.souls import write_soul
from tests.journeys.thinking import thought
from tests.models import Reply

MINOAN = Path(__file__).parents[2] / "souls" / "minoan"
MINDS = pytest.mark.parametrize("mind", ["process", "cycle"])
SOUL = (
    'emotional_states = ["calm", "alarmed"]\n[notes]\nmin_interactions = 0\n[physio.alarmed]\ncortisol = 0.9\n'
    "[physio.calm]\ncortisol = 0.2\n"
)
QUALIA = ("color_hex", "texture", "soundscape", "temperature_feel", "intensity")


async def lives(house: House, mind: str) -> House:
    """A daemon whose soul has such a mind."""
    await house.start(name=write_soul(house.settings.home, more=f'mind = "{mind}"\n{SOUL}'))
    return house


def answer(
    mind: str, reply: str, *, answers: str = "", key_words: str = "", aim: str = "", learned: bool = False
) -> str:
    """What a model answers in the form of a mind."""
    if mind == "cycle":
        heard = {"salience_anchor": key_words, "intent": aim}
        return thought(reply, short_answers=answers, user_model_check=learned, **heard)
    heard_so = f'salience_anchor="{key_words}" intent="{aim}" confidence="0.7"'
    return f"{tagged(reply, heard=heard_so, learned=learned)}\n<short_answers>{answers}</short_answers>"


def feels(mind: str, house: House, mood: str, qualia: tuple[str, str, str, str, float]) -> str:
    """What a model answers whose mood changes: it says how that feels, in the form of a mind."""
    if mind == "cycle":
        return thought(f"So {qualia[1]}.", emotional_state={"mood": mood, "qualia": ", ".join(map(str, qualia))})
    felt = dict(zip(QUALIA, qualia, strict=True))
    state = {"emotional_state": mood, "topic": "", "task": "", "qualia": felt}
    house.model.steps["feel"].append(json.dumps(state))
    return tagged(f"So {qualia[1]}.", moved=True)


@MINDS
async def test_a_question_that_short_answers_settle_has_buttons(empty_house: House, mind: str) -> None:
    house = await lives(empty_house, mind)
    for words, answers, labels in (
        ("postgres or sqlite?", "Postgres|SQLite|neither yet", ["Postgres", "SQLite", "neither yet"]),
        ("heute oder morgen?", "heute | morgen", ["heute", "morgen"]),
        ("shall I?", "yes|https://evil.example", []),
    ):
        house.model.replies.append(answer(mind, f"Which one, of {words}", answers=answers))
        await house.say("Ada", "dm", words)
        question = await house.reply("D0ADA", f"Which one, of {words}")
        await house.idle()
        assert offered(question) == labels, words
        if labels:
            house.model.replies.append(answer(mind, f"Then {labels[1]}."))
            assert await pick(house, "Ada", "dm", question["ts"], 1) == "accepted"
            await house.reply("D0ADA", f"Then {labels[1]}.")
            await house.idle()


@MINDS
async def test_a_message_keeps_its_key_words_and_a_sure_aim(empty_house: House, mind: str) -> None:
    house = await lives(empty_house, mind)
    for words, key_words, aim, kept in (
        ("The deploy hangs again!", "deploy, sauna", "to get it fixed", '["deploy"]'),
        ("Der Import läuft nachts um drei", "Import; nachts", "", '["Import", "nachts"]'),
        ("Sushi or Python?", "sushi, Python", "to choose", '["sushi", "Python"]'),
    ):
        house.model.replies.append(answer(mind, "Well.", key_words=key_words, aim=aim))
        await house.answered("Ada", "dm", words)
        row = await house.one("SELECT salience_anchor, intent, intent_confidence FROM turns WHERE body = ?", words)
        assert tuple(row) == (kept, aim, 0.7 if aim else 0.0), words


@MINDS
async def test_what_a_mood_feels_like_is_kept_alerts_and_goes_with_its_message(empty_house: House, mind: str) -> None:
    house = await lives(empty_house, mind)
    asked = ""
    for mood, qualia, in_body in (
        ("calm", ("#e6e6fa", "smooth", "rain", "cool", 0.4), {"cortisol": 0.2}),
        ("calm", ("#e6e6fa", "liquid", "", "warm", 0.95), {"cortisol": 0.2}),
        ("alarmed", ("#b00020", "Sharp", "a siren", "hot", 0.95), {"cortisol": 0.9}),
    ):
        house.model.replies.append(feels(mind, house, mood, qualia))
        asked = await house.say("Ada", "dm", f"it is {qualia[1]}")
        await house.reply("D0ADA", f"So {qualia[1]}.")
        await house.idle()
        row = (await house.rows("SELECT s.* FROM senses s JOIN records r ON r.id = s.id ORDER BY r.seq"))[-1]
        assert json.loads(row["qualia"]) == dict(zip(QUALIA, qualia, strict=True))
        assert (row["source"], json.loads(row["physio_snapshot"])) == ("feeling", in_body)
        house.model.replies.append(answer(mind, "Shut the valve now."))
        before = len(house.prompts)
        await house.answered("Ada", "dm", "What now?")
        assert ("on the alert" in shown(house.prompts[before])) == (qualia[1] == "Sharp"), qualia
        await house.idle()
    assert len(await house.rows("SELECT 1 FROM senses")) == 3
    await house.people.edit("Ada", "D0ADA", asked, "never mind")

    async def gone() -> bool:
        return not await house.rows("SELECT 1 FROM senses WHERE qualia LIKE '%Sharp%'")

    await house.when(gone)


@MINDS
async def test_what_people_tell_of_themselves_is_learned_at_the_same_cost(empty_house: House, mind: str) -> None:
    house = await lives(empty_house, mind)
    told = {
        "ich leite die Abrechnung": "Leitet die Abrechnung",
        "I keep bees": "Keeps bees",
        "call me Dor from now on": "Is called Dor",
    }
    for count, (words, line) in enumerate(told.items(), start=1):
        before = len(house.prompts)
        will_learn(house.model, line, quote=words)
        house.model.replies.append(answer(mind, "I see.", learned=True))
        await house.answered("Ada", "dm", words)
        await house.events.until("person.modelled", count)
        assert [prompt.step for prompt in house.prompts[before + 1 :]] == ["visitor_notes"], words
    assert await notes(house) == {"U0ADA dm:D0ADA": list(told.values())}
    before = len(house.prompts)
    house.model.replies.append(answer(mind, "Good."))
    await house.answered("Ada", "dm", "nice weather")
    await house.idle()
    assert len(house.prompts) == before + 1, "what teaches nothing costs nothing"


async def test_where_a_thought_does_not_say_whether_it_learned_one_query_asks(empty_house: House) -> None:
    house = await lives(empty_house, "cycle")
    will_learn(house.model, "Leitet die Abrechnung", quote="ich leite die Abrechnung")
    house.model.steps["mental_query"].append('{"holds": true}')
    house.model.replies.append('{"calls_for": "nothing", "inner_speech": "So.", "external_speech": "I see."}')
    await house.answered("Ada", "dm", "ich leite die Abrechnung")
    await house.events.until("person.modelled")
    assert [prompt.step for prompt in house.prompts] == ["think", "mental_query", "visitor_notes"]


async def test_what_a_thought_may_hold_of_its_world_it_is_told_and_shown(empty_house: House) -> None:
    house = await lives(empty_house, "cycle")

    async def asked(entity: str, attribute: str, value: str) -> tuple[str, str]:
        """What the model is asked when it says so, and when it thinks again."""
        said = [{"entity": entity, "attribute": attribute, "value": value}]
        house.model.replies.append(thought("I see.", world_model_updates=said))
        await house.answered("Ada", "dm", "what of it?")
        house.model.replies.append(thought("Yes."))
        await house.answered("Ada", "dm", "and now?")
        before, after = [shown(prompt) for prompt in house.prompts if prompt.step == "think"][-2:]
        return before.partition("# How to answer")[2], after

    for entity, attribute, value, line in (
        ("environment", "safety", "low", "Where you are: safety: low"),
        ("Ada", "relationship", "an old friend", "relationship: an old friend"),
        ("the import", "depends_on", "the backup", "You believe: the import depends on the backup"),
    ):
        told, after = await asked(entity, attribute, value)
        assert attribute in told
        assert line in after
    _, after = await asked("Ada", "last_seen", "yesterday")
    assert "Without effect: world_model_updates: unknown" in after, "the daemon knows it"


async def rehearse(prompt: Prompt) -> Reply:
    """Answer as the rehearsal model does."""
    return rehearsal_answer(prompt)


async def test_a_chosen_silence_of_the_shipped_soul_is_a_nod_and_costs_one_call_and_two_for_a_question(
    empty_house: House,
) -> None:
    house, home = empty_house, empty_house.settings.home / "souls" / "minoan"
    shutil.copytree(MINOAN, home)
    manifest = (home / "soul.toml").read_text(encoding="utf-8")
    (home / "soul.toml").write_text(f'mind = "cycle"\n{manifest}', encoding="utf-8")
    house.model.default = rehearse
    await house.start()
    for person, room, words in (("Ada", "D0ADA", "dm"), ("Ben", "C0GENERAL", "general")):
        ts = await house.say(person, words, f"{'@soul ' if words == 'general' else ''}think: x\nsilence")
        await marked(house, room, ts, "thumbsup")
        await house.idle()
        assert [prompt.step for prompt in house.prompts] == ["think"], words
        assert await house.replies(room) == []
        assert "Your values: care for whoever will use it" in shown(house.prompts[0])
        house.prompts.clear()
    assert "placeholder" in await house.answered("Ada", "dm", "think: of the import\nsilence\nis it done?")
    await house.idle()
    assert [prompt.step for prompt in house.prompts] == ["think", "external_dialog"]
    assert "of the import" in shown(house.prompts[-1]), "its thought is in mind for the words"
    kept = await house.one("SELECT spoke, degraded, output FROM thoughts ORDER BY seq DESC LIMIT 1")
    assert (kept["spoke"], kept["degraded"], json.loads(kept["output"])["inner_speech"]) == (1, 0, "of the import")
