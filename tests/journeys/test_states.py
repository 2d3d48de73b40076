"""Every mental process and every transition in Slack; `soul mind trace` prints the path with its reasons."""

import json
import shutil

import pytest

from daemon.mind.process import MentalProcess, Outcome, ProcessContext, Transition
from daemon.processes import PROCESSES
from tests.given import shown, tagged, wanting
from tests.journeys.house import House
from tests.journeys.learning import feeling
from tests.journeys.souls import CONTACTS, POETIC, write_soul

MODES = {"academic": "", "poetic": POETIC}
HOUR = 3600.0


async def weaver(house: House, more: str = "") -> None:
    """Start Tess, who has modes and contacts."""
    write_soul(house.settings.home, more=more + CONTACTS, modes=MODES)
    await house.start(name="tess")


async def acquaint(house: House) -> None:
    """Post messages of Ada until `greeting` and `curious` are over."""
    for words in ("hello", "it's me", "Ada is what they call me"):
        await house.answered("Ada", "dm", words)
    assert await house.process() == "engaged"


def wish(house: House, *words: str) -> None:
    """Let the next answers of the model begin with these wishes."""
    house.model.steps["respond"] += map(wanting, words)


def asked(house: House, step: str) -> list[str]:
    """The prompts of every step of a kind."""
    return [shown(prompt) for prompt in house.prompts if prompt.step == step]


# -- beginning ---------------------------------------------------------------------------------------------------------


async def test_a_stranger_is_greeted_then_asked_and_by_the_second_answer_known(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    assert "A stranger has come up to the bench" in house.last_prompt()
    assert await house.process() == "curious"
    await house.answered("Ada", "dm", "I have a loom")
    assert "don't yet know what this person makes" in house.last_prompt()
    await house.answered("Ada", "dm", "it has a squeak")
    await house.answered("Ada", "dm", "it is loud")
    assert "don't yet know what this person makes" not in house.last_prompt()
    assert await house.path() == [
        "enter: engaged → greeting, rule",
        "move: greeting → curious, rule",
        "stay: curious → curious, rule",
        "move: curious → engaged, rule",
        "stay: engaged → engaged, rule",
    ]
    traced = await house.command("mind", "trace", "D0ADA")
    for reason in ("they have never met here", "they have been welcomed", "they know each other by now"):
        assert reason in traced


async def test_a_matter_leads_from_curiosity_to_engagement_and_a_long_message_alone_does_not(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await house.answered("Ada", "dm", "the loom " * 80)
    assert "don't yet know what this person makes" in house.last_prompt()
    assert await house.process() == "curious"
    house.model.replies.append(tagged("Which part of it squeaks?", moved=True))
    house.model.steps["feel"].append(feeling("engaged", "a loom that squeaks"))
    await house.answered("Ben", "dm", "hi")
    await house.idle()
    await house.answered("Ben", "dm", "the treadle")
    assert "don't yet know what this person makes" not in house.last_prompt()
    assert (await house.path("D0BEN"))[2:] == ["move: curious → engaged, rule", "stay: engaged → engaged, rule"]
    assert "they are at a matter already" in await house.command("mind", "trace", "D0BEN")
    assert len(asked(house, "respond")) == 4, "no answer was thought of twice"


async def test_who_comes_back_after_the_silence_is_welcomed_back_once(house: House) -> None:
    await acquaint(house)
    house.clock.turn(5 * HOUR)
    await house.answered("Ada", "dm", "there again")
    assert "for 5 hours; it is their visit number 2" in house.last_prompt()
    await house.answered("Ada", "dm", "and now to work")
    assert "This person has been away" not in house.last_prompt()
    returns = [step for step in await house.path() if "returning" in step]
    assert returns == ["enter: engaged → returning, rule", "move: returning → engaged, rule"]
    assert "visit 2 begins" in await house.command("mind", "trace", "D0ADA")


# -- ready -------------------------------------------------------------------------------------------------------------


async def test_no_words_lead_anywhere_by_themselves_and_who_needs_people_gets_contacts(empty_house: House) -> None:
    await weaver(empty_house)
    await acquaint(empty_house)
    before = len(empty_house.prompts)
    for words in ("don't write a poem", "who decides about the vault?", "what do scholars say?", "remind me of it"):
        await empty_house.answered("Ada", "dm", words)
    assert [prompt.step for prompt in empty_house.prompts[before:]] == ["respond"] * 4
    assert set((await empty_house.path())[4:]) == {"stay: engaged → engaged, rule"}
    wish(empty_house, "person")
    await empty_house.answered("Ada", "dm", "whom should I ask about the vault?")
    assert "- Ben: grants access to the vault" in empty_house.last_prompt()
    assert asked(empty_house, "mental_query") == []
    assert (await empty_house.path())[-2:] == ["move: engaged → ready, model", "move: ready → engaged, rule"]
    assert "they need a person who can act" in await empty_house.command("mind", "trace", "D0ADA")
    await empty_house.answered("Ada", "dm", "thanks")
    assert "grants access" not in empty_house.last_prompt()


# -- academic ----------------------------------------------------------------------------------------------------------


async def test_academic_is_entered_kept_and_left_as_the_model_says_or_its_mode_is_gone(empty_house: House) -> None:
    await weaver(empty_house)
    await acquaint(empty_house)
    voice = "This is the academic voice of Tess."
    assert voice not in empty_house.last_prompt()
    wish(empty_house, "scholarship")
    await empty_house.answered("Ada", "dm", "what do scholars say of linen?")
    assert voice in empty_house.last_prompt()
    wish(empty_house, "scholarship")
    await empty_house.answered("Ada", "dm", "and of wool?")
    assert voice in empty_house.last_prompt()
    wish(empty_house, "other_matters")
    answer = await empty_house.answered("Ada", "dm", "where is my coat?")
    assert "where is my coat?" in answer
    assert voice not in empty_house.last_prompt()
    assert (await empty_house.path())[4:] == [
        "move: engaged → academic, model",
        "stay: academic → academic, rule",
        "stay: academic → academic, rule",
        "move: academic → engaged, model",
        "stay: engaged → engaged, rule",
    ]
    assert "they have turned to other matters" in await empty_house.command("mind", "trace", "D0ADA")
    wish(empty_house, "scholarship")
    await empty_house.answered("Ada", "dm", "what do scholars say of linen?")
    assert await empty_house.process() == "academic"
    shutil.rmtree(empty_house.settings.home / "souls" / "tess" / "academic")
    assert "and of wool?" in await empty_house.answered("Ada", "dm", "and of wool?")
    assert await empty_house.process() == "engaged"
    assert "no academic mode any more" in await empty_house.command("mind", "trace", "D0ADA")


# -- poetic ------------------------------------------------------------------------------------------------------------


POEM = "The shuttle goes,\nthe sea goes.\n\nThe thread stays."
MENDED = "The shuttle goes,\nthe sea goes.\n\nThe thread is cut."


def made(poem: str, about: str = "", *, calls_for: str = "poem") -> str:
    """A reply of the poet; `about` is what it says of the piece."""
    return tagged(poem, calls_for=calls_for) + (f"\n<made_piece>{about}</made_piece>" if about else "")


async def kept_piece(house: House, channel: str = "D0ADA") -> dict[str, str]:
    row = await house.one("SELECT process_memory FROM conversations WHERE channel = ?", channel)
    return dict(json.loads(row["process_memory"]))


@pytest.mark.slow
async def test_a_poem_is_mended_twice_and_explained_and_then_the_talk_goes_on(empty_house: House) -> None:
    house = empty_house
    await weaver(house)
    await acquaint(house)
    calls = len(house.prompts)
    wish(house, "poem")
    house.model.steps["respond"] += [made(POEM, "Lament; sea, of course"), made(MENDED), made("Cut.", "hymn; moon")]
    assert await house.answered("Ada", "dm", "write a hymn about the sea") == POEM
    assert "This is the poetic voice of Tess." in house.last_prompt()
    assert await kept_piece(house) == {"poem": POEM, "register": "lament", "images": "sea"}
    assert await house.answered("Ada", "dm", "make the ending colder") == MENDED
    assert "3  The thread stays." in house.last_prompt(), "line three is the third that holds words"
    assert "Its register: lament. Its images come from: sea." in house.last_prompt()
    assert await house.answered("Ada", "dm", "shorter") == "Cut."
    assert await kept_piece(house) == {"poem": "Cut.", "register": "hymn", "images": "sea"}, "words of the mode alone"
    house.model.steps["respond"].append(tagged("It is what the shears do."))
    assert await house.answered("Ada", "dm", "what does line one mean?") == "It is what the shears do."
    assert "1  Cut." in house.last_prompt()
    assert (await kept_piece(house))["poem"] == "Cut.", "a word about the piece is no piece"
    assert len(house.prompts) == calls + 5, "one call for each message, and the wish"
    assert await house.process() == "poetic"
    wish(house, "other_matters")
    await house.answered("Ada", "dm", "where is my coat?")
    assert "poetic voice" not in house.last_prompt()
    assert "1  Cut." not in house.last_prompt()
    assert await house.process() == "engaged"
    assert all("made_piece" not in words for words in await house.replies("D0ADA"))
    thought = await house.one("SELECT thought FROM turns WHERE body = 'Cut.'")
    assert {"register": "hymn", "image_domain": "sea"}.items() <= json.loads(thought["thought"]).items()
    wish(house, "poem")
    house.model.steps["respond"].append(made("The fire is out."))
    assert await house.answered("Ben", "dm", "write me a poem about my build") == "The fire is out."
    assert await house.path("D0BEN") == [
        "enter: engaged → greeting, rule",
        "move: greeting → poetic, model",
        "stay: poetic → poetic, rule",
    ], "who comes straight with it gets it"
    assert await kept_piece(house, "D0BEN") == {"poem": "The fire is out.", "register": "", "images": ""}


# -- what does not go --------------------------------------------------------------------------------------------------


def only(*made: tuple[str, MentalProcess]) -> dict[str, MentalProcess]:
    return {**PROCESSES, **dict(made)}


async def test_transitions_without_end_cause_an_apology(empty_house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    hops = list[str]()

    def to(target: str) -> MentalProcess:
        async def process(context: ProcessContext) -> Outcome:
            hops.append(context.state.process)
            return Transition(context.memory, target, "round and round", execute_now=True)

        return process

    made = only(("greeting", to("engaged")), ("engaged", to("academic")), ("academic", to("engaged")))
    monkeypatch.setattr("daemon.runtime.cycle.PROCESSES", made)
    await weaver(empty_house)
    said = await empty_house.answered("Ada", "dm", "hello")
    assert said.startswith("I'm sorry")
    assert len(hops) == 11
    assert await empty_house.path() == []
    [failed] = empty_house.events.named("cycle.failed")
    assert "without end" in str(failed["reason"])
    assert len(await empty_house.replies("D0ADA")) == 1
