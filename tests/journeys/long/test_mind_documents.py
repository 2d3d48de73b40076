"""What a soul holds of itself, its world and its values: said in one thought, shown before the same readers."""

import json
from typing import Any

import pytest

from daemon.mind.thought import CognitiveInput
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.own_memory import KNOWN, content_of, shared_files
from tests.journeys.souls import write_soul
from tests.journeys.thinking import CANARY, thought

HEADINGS = ("## What you hold to", "## What you hold about yourself", "## What you hold about your world")
DAY = 86_400
ALONE: dict[str, Any] = {"name": "tess", "visit_silence": 60 * DAY, "dormant_after": 90 * DAY}
"""No silence is so long that the soul itself thinks of it."""

WORD = "quincunx"


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts and holds to something."""
    more = 'mind = "cycle"\nsubprocesses = []\nvalues = ["honesty", "care"]\n'
    write_soul(empty_house.settings.home, more=more)
    await empty_house.start(**ALONE)
    return empty_house


def world(*said: tuple[str, str, str]) -> list[dict[str, str]]:
    """What a model writes of entities: each with an attribute and a value."""
    return [{"entity": entity, "attribute": attribute, "value": value} for entity, attribute, value in said]


async def asked(house: House, words: str, *, person: str = "Ada", room: str = "dm", **parts: object) -> str:
    """Say something that the soul answers by a thought with these parts; gives the prompt."""
    house.model.replies.append(thought("I see.", **parts))
    await house.answered(person, room, words)
    return shown([one for one in house.prompts if one.step == "think"][-1])


async def refused(house: House) -> list[Any]:
    """What of the newest thought did not take effect."""
    row = await house.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
    found: list[Any] = json.loads(row["refused"])
    return found


async def given(house: House) -> CognitiveInput:
    """What the newest thought was given."""
    row = await house.one("SELECT input FROM thoughts ORDER BY seq DESC LIMIT 1")
    return CognitiveInput.model_validate_json(row["input"])


async def test_what_it_holds_is_shown_to_the_next_thought_as_data_over_a_restart(thinker: House) -> None:
    told = {"current_state": "calm", "new_uncertainty": "is Ada well?", "recent_growth": "patience"}
    first = await asked(
        thinker,
        "our import is slow",
        self_model_updates=told,
        world_model_updates=world(
            ("Ada", "mood", "worried"), ("import", "state", "slow"), ("import", "causes", "delay")
        ),
    )
    assert [heading for heading in HEADINGS if heading in first] == [HEADINGS[0]], "the values of its soul.toml alone"
    assert "Your values: honesty; care" in first
    assert await refused(thinker) == []
    await thinker.restart(**ALONE)
    second = await asked(thinker, "any news?")
    assert all(heading in second for heading in HEADINGS)
    for line in ("How you are: calm", "Unsure of: is Ada well?", "mood: worried", "import: state: slow"):
        assert line in second
    held = await given(thinker)
    assert (held.self_model.current_state, held.self_model.recent_growth) == ("calm", "patience")
    assert (held.self_model.uncertainties, held.self_model.values) == (("is Ada well?",), ("honesty", "care"))
    assert held.world_model.entities["import"] == {"state": "slow"}
    assert held.world_model.entities[(await thinker.one("SELECT part FROM mind_documents WHERE person <> ''"))["part"]]
    assert held.world_model.causal_beliefs == ("import causes delay",)


async def test_what_it_held_and_thought_weeks_ago_says_how_long_ago_that_was(thinker: House) -> None:
    told = {"current_state": "calm", "new_uncertainty": "is Ada well?", "recent_growth": "patience"}
    said = world(("import", "state", "slow"), ("import", "causes", "delay"))
    wrote = [{"type": "journal", "content": "a long day"}]
    first = await thinker.say("Ada", "general", "@soul hello")
    thinker.model.replies.append(
        thought("I see.", inner_speech="They greet.", self_model_updates=told, memory_ops=wrote)
    )
    await thinker.settled("general")
    await asked(thinker, "@soul it is slow", room="general", person="Ben", world_model_updates=said)
    await asked(thinker, "@soul and now?", room="general", person="Ben")
    assert "ago)" not in await asked(thinker, "@soul today", room="general", person="Ben")
    thinker.clock.turn(40 * DAY)
    prompt = await asked(thinker, "@soul any news?", room="general", self_model_updates={"current_state": "glad"})
    for words in ("How you are: calm", "Unsure of: is Ada well?", "Learned: patience", "import: state: slow"):
        assert f"{words} (40 days ago)" in prompt
    assert "import causes delay (40 days ago)" in prompt
    assert f"{CANARY} (40 days ago)\n</note-" in prompt
    assert (await given(thinker)).self_model.uncertainties == ("is Ada well? (40 days ago)",)
    assert "Private, the newest first:\n" in prompt
    assert "a long day (40 days ago)\n</note-" in prompt
    later = await asked(thinker, "@soul thanks", room="general")
    assert "How you are: glad\n" in later
    thinker.model.replies.append(thought("I see."))
    await thinker.answered("Ada", "general", "hello again", thread=first)
    here = shown(thinker.prompts[-1])
    assert "Private: your last thought here, then others, the newest first:\n" in here
    assert here.index("They greet.") < here.index(CANARY)


async def test_threads_side_by_side_lose_nothing_that_they_say(thinker: House) -> None:
    thinker.model.replies.extend(
        [thought("I see.", world_model_updates=world((f"thing {number}", "state", "new"))) for number in range(4)]
    )
    for number in range(4):
        await thinker.say("Ada", "general", f"@soul look at {number}")
    await thinker.settled("general", count=4)
    prompt = await asked(thinker, "well?")
    assert [number for number in range(4) if f"thing {number}: state: new" not in prompt] == []


async def test_a_value_waits_for_the_admin_and_is_held_everywhere_then(thinker: House) -> None:
    update = [{"action": "adopt", "value": "play", "meaning": "to try things", "why": "they laughed"}]
    await asked(thinker, "that was fun", value_updates=update)
    assert await refused(thinker) == [["value_updates", "private"]]
    await asked(thinker, "@soul that was fun", room="general", value_updates=update)
    assert await refused(thinker) == [["value_updates", "authority"]]
    assert "play" not in await asked(thinker, "hello", person="Ben")
    (proposal,) = await thinker.rows("SELECT id FROM approvals WHERE tool = 'mind.values' AND state = 'waiting'")
    assert "in effect" in await thinker.command("approvals", "approve", proposal["id"])
    assert "Your values: honesty; care; play: to try things" in await asked(thinker, "hello again", person="Ben")
    listed = await thinker.command("mind", "history", "--soul", "tess", "--words")
    assert "adopt  play: to try things (why: they laughed)" in listed
    listed = json.loads(await thinker.command("mind", "values", "--soul", "tess", "--words", "--json"))
    assert [one["value"] for one in listed["values"] if one["active"]] == ["honesty", "care", "play"]


async def test_a_person_sees_what_is_believed_of_them_and_erases_it(thinker: House) -> None:
    await asked(
        thinker, "what a day", world_model_updates=world(("Ada", "mood", f"{WORD} sad"), ("Ada", "role", "boss"))
    )
    said = await thinker.answered("Ada", "dm", KNOWN)
    assert f"1. mood: {WORD} sad" in said
    assert "boss" not in said
    assert "as a file" in await thinker.answered("Ada", "dm", "export my memory")
    (shared,) = await shared_files(thinker)
    (belief,) = json.loads(content_of(thinker, shared["id"]))["beliefs"]
    assert (belief["about"], belief["text"]) == ("mood", f"{WORD} sad")
    assert "I believe it for now" in await thinker.answered("Ada", "dm", "why 1")
    assert await thinker.answered("Ada", "dm", "forget 1") == f"Forgotten: mood: {WORD} sad"
    assert await thinker.rows("SELECT * FROM mind_documents WHERE person <> ''") == []
    assert await thinker.rows(f"SELECT id FROM thoughts WHERE output LIKE '%{WORD}%'") == []
    assert WORD not in await thinker.answered("Ada", "dm", KNOWN)
    assert WORD not in await asked(thinker, "hello")
    await asked(thinker, "what a day", world_model_updates=world(("Ada", "habit", "late")))
    await thinker.answered("Ada", "dm", KNOWN)
    answer = await thinker.answered("Ada", "dm", "wrong 1: I am early")
    assert answer.startswith("Forgotten: habit: late. If I should keep what is right")
    await asked(thinker, "what a day", world_model_updates=world(("Ada", "habit", "late")))
    await thinker.answered("Ada", "dm", KNOWN)
    await thinker.answered("Ada", "dm", "why 1")
    assert await thinker.answered("Ada", "dm", "forget that") == "Forgotten: habit: late"


async def test_a_soul_that_answers_in_words_holds_nothing_and_is_shown_nothing(empty_house: House) -> None:
    write_soul(empty_house.settings.home, more='values = ["honesty"]\n')
    await empty_house.start(**ALONE)
    await empty_house.answered("Ada", "dm", "hello")
    await empty_house.answered("Ada", "dm", "hello")
    assert not any(heading in empty_house.last_prompt() for heading in HEADINGS)
    assert await empty_house.rows("SELECT * FROM mind_documents") == []


async def test_nothing_is_shown_of_it_to_who_has_remembering_paused(thinker: House) -> None:
    await asked(thinker, "hello", self_model_updates={"current_state": f"{WORD} calm"})
    await thinker.answered("Ada", "dm", "pause remembering")
    assert HEADINGS[1] not in await asked(thinker, "hello", self_model_updates={"current_state": "gone"})
    assert ["self_model_updates", "private"] in await refused(thinker)


async def test_the_admin_sees_what_it_holds_and_the_words_only_on_record(thinker: House) -> None:
    await asked(
        thinker,
        "hello",
        self_model_updates={"current_state": "calm"},
        world_model_updates=world(("import", "state", "slow")),
    )
    of_tess = ("--soul", "tess", "--json")
    bare = json.loads(await thinker.command("mind", "show", *of_tess))
    assert [(one["document"], one["part"], one["words"]) for one in bare] == [
        ("self_model", "current_state", ""),
        ("world_model", "", ""),
    ]
    assert await thinker.rows("SELECT * FROM word_readings") == []
    worded = json.loads(await thinker.command("mind", "show", *of_tess, "--words", "--private"))
    assert [one["words"] for one in worded] == ["calm", "slow"]
    assert [row["person"] for row in await thinker.rows("SELECT person FROM word_readings")] == ["U0ADA"]
    audience = bare[0]["audience"]
    assert json.loads(await thinker.command("mind", "show", *of_tess, "--audience", audience)) == bare
    history = json.loads(await thinker.command("mind", "history", *of_tess))
    assert [one["in_force"] for one in history] == [True, True]
    unknown = await thinker.command("mind", "show", "--soul", "tess", "--audience", "dm:D9", fails=True)
    assert f"it has with: {audience}" in unknown
