"""Writing by directive: a person's own words are noted before it is confirmed, with their quotation as evidence."""

import json

from tests.given import shown, tagged, wanting
from tests.journeys.house import House

_FACTS = """
    SELECT r.text, r.trust, r.person, r.significance, r.extra, l.relation, l.target, l.quote
    FROM records r JOIN links l ON l.origin = r.id WHERE r.kind = 'fact' ORDER BY r.seq
"""


def note(line: str, quote: str, **more: object) -> str:
    return json.dumps({"line": line, "quote": quote, **more})


async def test_remember_that_is_noted_without_a_model_once_and_goes_with_its_message(house: House) -> None:
    assert "Noted: I am allergic to nuts" in await house.answered("Ada", "dm", "Remember that I am allergic to nuts.")
    assert house.prompts == []
    [fact] = await house.rows(_FACTS)
    assert (fact["text"], fact["trust"], fact["person"]) == ("I am allergic to nuts", "own", await house.person("Ada"))
    assert (fact["relation"], fact["quote"]) == ("evidence", "I am allergic to nuts")
    await house.answered("Ada", "dm", "please remember that I am allergic to nuts")
    assert len({row["text"] for row in await house.rows(_FACTS)}) == 1
    assert len(await house.rows("SELECT 1 FROM facts")) == 1, "the same words confirm"
    ts = await house.say("Ada", "dm", "Remember that my badge is blue")
    await house.reply("D0ADA", "my badge is blue")
    await house.people.delete("Ada", "D0ADA", ts)
    await house.acknowledged()
    assert {row["text"] for row in await house.rows(_FACTS)} == {"I am allergic to nuts"}


async def test_bold_long_and_several_lines_are_noted_as_far_as_they_fit_and_a_further_wish_heard(house: House) -> None:
    for words, noted in (
        ("*remember that* I use tabs", "Noted: I use tabs"),
        ("Could you please remember that I use tabs?", "Noted: I use tabs"),
        ("remember that I keep no bees, ok?", "Noted: I keep no bees"),
        (
            "remember that the plan is\nfirst the build\nthen the test",
            "Noted: the plan is first the build then the test",
        ),
        (f"remember that I keep {'bees and ' * 80}wasps", f"Noted, as far as it fits: I keep {'bees and ' * 10}"),
    ):
        assert (await house.answered("Ada", "dm", words)).startswith(noted), words
    assert house.prompts == []
    house.model.replies.append(tagged("Here it is."))
    asked = "remember that I use tabs\n\nAnd write me a poem about them"
    assert await house.answered("Ada", "dm", asked) == "Here it is."


async def test_what_is_no_statement_is_not_noted_and_what_is_said_of_another_stays_a_claim(house: House) -> None:
    for words in ("Remember that time in Rome", "Remember that I said maybe we go?", "Remember that, if you can"):
        house.model.replies.append(tagged("Yes."))
        assert await house.answered("Ada", "dm", words) == "Yes."
    assert await house.rows(_FACTS) == []
    await house.answered("Ada", "dm", "Remember that Ben is allergic to nuts")
    [fact] = await house.rows(_FACTS)
    assert (fact["trust"], fact["person"]) == ("claim", "")


async def test_while_paused_nothing_is_noted_and_it_says_so(house: House) -> None:
    await house.answered("Ada", "dm", "pause remembering")
    assert "while remembering is paused" in await house.answered("Ada", "dm", "remember that I am allergic to nuts")
    house.model.replies += [wanting("remember"), tagged("I may not.")]
    assert await house.answered("Ada", "dm", "Don't forget I am allergic to nuts") == "I may not."
    assert "You have noted nothing: remembering is paused" in shown(house.prompts[-1])
    assert await house.rows(_FACTS) == []


async def test_a_wish_is_noted_with_their_own_words_alone_and_confirmed_in_the_reply(house: House) -> None:
    house.model.replies += [
        wanting("remember"),
        note("Is allergic to nuts", "I am allergic to nuts", significance=9, tags=["food"], tone="worry"),
        tagged("I will."),
    ]
    assert await house.answered("Ada", "dm", "By the way, I am allergic to nuts. Keep that in mind.") == "I will."
    assert [prompt.step for prompt in house.prompts] == ["respond", "note_down", "respond"]
    assert "You have noted what they asked you to remember" in shown(house.prompts[-1])
    [fact] = await house.rows(_FACTS)
    assert (fact["text"], fact["trust"], fact["significance"]) == ("Is allergic to nuts", "own", 9)
    assert json.loads(fact["extra"]) == {"tags": ["food"], "tone": "worry"}
    assert fact["quote"] == "I am allergic to nuts"
    house.model.replies += [wanting("remember"), note("Owns the moon", "I own the moon"), tagged("I can't.")]
    assert await house.answered("Ada", "dm", "Keep in mind that I like tea") == "I can't."
    assert "You have noted nothing: the quotation is nowhere in their words" in shown(house.prompts[-1])
    assert len(await house.rows(_FACTS)) == 1
