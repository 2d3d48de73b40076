"""What became of its words and acts waits for the soul's next thought: without a call or a word of anybody."""

from typing import Any

import pytest

from daemon.mind.thought.cognitive_output import CognitiveInput
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding
from tests.journeys.ticking import spoken_to

WAITING = "SELECT sense, words, n FROM readings WHERE state = 'waiting' ORDER BY seq"
TIME = ("Your last thought here was", "These words end", "This visit has lasted", "In this visit")
TESS: dict[str, Any] = {"name": "tess"}


@pytest.fixture
async def thinker(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, and not by itself."""
    write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n')
    await empty_house.start(**TESS)
    return empty_house


async def waiting(house: House, count: int) -> list[tuple[str, str, int]]:
    """What waits for the next thought, once there is so much."""

    async def enough() -> bool:
        return len(await house.rows(WAITING)) == count

    await house.when(enough)
    return [(row["sense"], row["words"], row["n"]) for row in await house.rows(WAITING)]


async def test_what_others_do_to_its_goals_level_and_replies_is_perceived_without_their_words(thinker: House) -> None:
    await spoken_to(thinker, "the import is slow", goal_updates=[adding("find the slow query"), adding("read on")])
    await thinker.command("mind", "goals", "drop", "G1", env={"SOUL_NAME": "tess"})
    await thinker.command("mind", "goals", "done", "G2", env={"SOUL_NAME": "tess"})
    assert await waiting(thinker, 2) == [
        ("goal", "your goal G1 was given up by an admin", 1),
        ("goal", "your goal G2 was completed by an admin", 1),
    ]
    await spoken_to(thinker, "hello")
    why = ("--why", "the quokka", "--soul", "tess")
    await thinker.command("mind", "authority", "set", "goals", "1", *why, env={"SOUL_NAME": "tess"})
    assert await waiting(thinker, 1) == [("authority", "an admin decided: goals is on level 1 now, proposed", 1)]
    await spoken_to(thinker, "hello")
    calls = len(thinker.prompts)
    ts = str((await thinker.reply("D0ADA"))["ts"])
    await thinker.people.click("Ada", "dm", ts, "soul_feedback", "bad")
    ((sense, words, number),) = await waiting(thinker, 1)
    assert (sense, number) == ("feedback", 1)
    assert words.startswith("a person found your reply of 20")
    assert words.endswith(" UTC no good")
    await thinker.people.react("Ada", "dm", ts, "thumbsup")
    assert (await waiting(thinker, 2))[1][1].endswith(" UTC good")
    await thinker.people.react("Ada", "dm", ts, "thumbsup", remove=True)
    await waiting(thinker, 1)
    assert len(thinker.prompts) == calls
    await spoken_to(thinker, "the quokka import")
    (row,) = await thinker.rows("SELECT ts FROM inbox WHERE body LIKE '%quokka%'")
    await thinker.people.edit("Ada", "dm", row["ts"], "the numbat import")
    (edit,) = await waiting(thinker, 1)
    await thinker.people.delete("Ada", "dm", row["ts"])
    _, deletion = await waiting(thinker, 2)
    assert edit[0] == "edit"
    assert edit[1].endswith("that you had answered says something else now")
    assert deletion[0] == "deletion"
    assert deletion[1].endswith("that you had answered was deleted")
    assert not {"quokka", "numbat"} & set(" ".join((edit[1], deletion[1])).split())


async def test_a_soul_that_answers_in_words_alone_keeps_none_of_it(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    ts = str((await house.reply("D0ADA"))["ts"])
    await house.people.click("Ada", "dm", ts, "soul_feedback", "bad")
    await house.row("SELECT 1 FROM feedback")
    (row,) = await house.rows("SELECT ts FROM inbox")
    await house.people.edit("Ada", "dm", row["ts"], "good day")
    await house.row("SELECT 1 FROM turns WHERE body = 'good day'")
    assert not await house.rows("SELECT 1 FROM readings")
    for words in ("hello", "and now?", "still here?"):
        await house.answered("Ada", "dm", words)
        house.clock.turn(2 * 3_600)
    assert not any(one in shown(prompt) for prompt in house.prompts for one in TIME)


async def given(house: House) -> CognitiveInput:
    """What the newest thought was given."""
    row = await house.one("SELECT input FROM thoughts ORDER BY seq DESC LIMIT 1")
    return CognitiveInput.model_validate_json(row["input"])


async def test_a_thought_is_given_and_shown_how_long_the_visit_lasts_and_a_silence(thinker: House) -> None:
    await spoken_to(thinker, "hello")
    assert (await given(thinker)).temporal_context.session_duration == ""
    assert not any(one in thinker.last_prompt() for one in TIME)
    thinker.clock.turn(12 * 60 + 1)
    await spoken_to(thinker, "and now?")
    now = await given(thinker)
    assert now.temporal_context.session_duration == "12 minutes"
    assert not [one for one in now.new_percepts if "silence" in one.content]
    lasts = "Your last thought here was 12 minutes ago. This visit has lasted 12 minutes, with 1 reply of yours.\n"
    assert lasts in thinker.last_prompt()
    thinker.clock.turn(2 * 3_600)
    await spoken_to(thinker, "still here?")
    assert "a silence of 2 hours" in [one.content for one in (await given(thinker)).new_percepts]
    assert "These words end a silence of 2 hours." in thinker.last_prompt()


async def test_what_surfaces_is_given_with_what_is_known_of_it(thinker: House) -> None:
    noted = {"type": "write_semantic", "content": "The quokka import runs at night.", "significance": 7, "tags": ["x"]}
    await spoken_to(thinker, "our quokka import runs at night", memory_ops=[noted])
    await spoken_to(thinker, "@soul when does the quokka import run?")
    found = [one for one in (await given(thinker)).surfaced_memories if "quokka" in one.content]
    assert 7 in [one.significance for one in found]
    assert all(one.when.startswith("today, ") for one in found)
