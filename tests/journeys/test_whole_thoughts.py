"""A soul with `mind = "cycle"` answers by one whole thought, of which people read the speech alone (seed 002)."""

import json

from daemon.core.ports.services import Prompt
from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.thinking import CANARY, thought
from tests.models import Reply


async def test_only_the_speech_is_said_and_streams_and_the_next_thought_begins_with_the_last(thinker: House) -> None:
    thinker.model.replies.append(thought("Good morning, *Ada*."))
    assert await thinker.answered("Ada", "dm", "good morning") == "Good morning, *Ada*."
    assert [prompt.step for prompt in thinker.prompts] == ["think"]
    assert CANARY not in str(await thinker.people.calls())
    turn = await thinker.one("SELECT body, thought FROM turns WHERE speaker = 'soul'")
    assert json.loads(turn["thought"])["monologue"] == CANARY
    thinker.model.replies.extend([thought("Hello.", inner_speech=f"{CANARY} one"), thought("Yes.")])
    await thinker.answered("Ada", "dm", "hello")
    await thinker.answered("Ada", "dm", "and?")
    assert f"{CANARY} one" in thinker.last_prompt()
    assert CANARY not in str(await thinker.people.calls())
    whole = thought("A first line that is long enough to be shown at once.\n\nAnd a second one.", confidence=0.9)
    thinker.model.replies.append([whole[start : start + 7] for start in range(0, len(whole), 7)])
    reply = await thinker.answered("Ada", "general", "@soul hello")
    assert reply.endswith("And a second one.")
    shown = [call["args"] for call in await thinker.people.calls("chat.appendStream")]
    assert CANARY not in str(shown)


async def test_what_is_no_thought_is_asked_for_once_more_and_then_answered_in_words_as_degraded(thinker: House) -> None:
    replies: list[Reply] = ["no thought", "none again"]
    thinker.model.replies.extend(replies)
    assert await thinker.answered("Ada", "dm", "hello") == "Echo: hello"
    assert [prompt.step for prompt in thinker.prompts] == ["think", "think", "respond"]
    assert [event["reason"] for event in thinker.events.named("thought.degraded")] == ["it is no JSON object"]
    rows = await thinker.rows("SELECT degraded, input, output FROM thoughts")
    assert [(row["degraded"], row["input"]) for row in rows] == [(1, "")]
    assert json.loads(rows[0]["output"])["external_speech"] == "Echo: hello"
    thinker.model.replies.extend([looking("bees"), "no thought", "none again"])
    assert await thinker.answered("Ada", "dm", "hello") == "Echo: hello"
    rows = await thinker.rows("SELECT spoke, degraded FROM thoughts ORDER BY seq")
    assert [tuple(row) for row in rows[1:]] == [(0, 0), (1, 1)], "also after a look into memory"
    for broken in ("So: hello.", '{"inner_speech": "zqprivate"', '["zqprivate"]', '{"inner_speech": "zqprivate"}'):
        before = len(thinker.prompts)
        thinker.model.replies.extend([broken, thought("Hello again.")])
        assert await thinker.answered("Ada", "dm", "hello") == "Hello again.", broken
        assert [prompt.step for prompt in thinker.prompts[before:]] == ["think", "think"], broken
    assert CANARY not in str(await thinker.people.calls())


async def test_a_wish_ends_the_call_before_a_word_is_said_and_a_poem_leaves_a_thought_too(thinker: House) -> None:
    thinker.model.replies.append([thought("Not to be read.", calls_for="poem")[:60], "never asked for"])
    poem = tagged("Bees in the thyme,\nthe hill hums.", monologue="A hum.", calls_for="poem")
    thinker.model.steps["respond"].append(poem)
    await thinker.answered("Ada", "dm", "a poem, please")
    assert "Not to be read" not in str(await thinker.people.calls())
    path = await thinker.rows("SELECT target, decided_by FROM transitions WHERE decided_by = 'model'")
    assert [tuple(row) for row in path] != []
    made = await thinker.one("SELECT input, output, process, spoke FROM thoughts")
    assert "Bees in the thyme" in made["output"]
    assert "A hum." in made["output"]
    assert (made["input"], made["process"], made["spoke"]) == ("", "poetic", 1)


async def test_what_a_thought_remembers_is_inferred_and_may_be_noted_in_two_channels(thinker: House) -> None:
    noted = [{"type": "write_semantic", "content": "The import runs at night.", "significance": 7, "tags": ["import"]}]
    thinker.model.replies.append(thought("I see.", memory_ops=noted))
    await thinker.answered("Ada", "dm", "our import runs at night")
    await thinker.idle()
    fact = await thinker.one("SELECT r.trust, r.significance FROM records r JOIN facts f ON f.id = r.id")
    assert (fact["trust"], fact["significance"]) == ("inferred", 7)
    noted = [{"type": "write_semantic", "content": "The backup runs at noon."}]
    thinker.model.replies.extend(thought("I see.", memory_ops=noted) for _ in range(2))
    await thinker.people.add_channel("kilns", kind="channel", members=["Ada"])
    for room in ("general", "kilns"):
        assert await thinker.answered("Ada", room, "@soul our backup runs at noon") == "I see."
    facts = await thinker.rows("SELECT channel FROM records WHERE text = 'The backup runs at noon.'")
    assert len({row["channel"] for row in facts}) == len(facts) == 2, "neither is known where only the other was said"


async def test_the_next_thought_is_shown_what_the_last_one_expected_and_looked_out_for(thinker: House) -> None:
    held = {
        "predictions": [{"what": "Ada will send the log", "confidence": 0.8, "timeframe": "next few exchanges"}],
        "attention": {"focus_on": ["the word timeout"]},
    }
    thinker.model.replies.extend([thought("Send me the log.", **held), thought("Thanks.")])
    await thinker.answered("Ada", "dm", "the import is slow")
    await thinker.answered("Ada", "dm", "here it is")
    shown = thinker.last_prompt()
    assert 'about="P1, 80% sure, within 3 more replies">Ada will send the log<' in shown.replace("\n", "")
    assert "To look out for: the word timeout" in shown


def looking(query: str) -> str:
    """A thought that says nothing and looks into memory."""
    return thought(None, inner_speech=f"I look for {query}.", memory_ops=[{"type": "retrieve", "query": query}])


async def test_a_second_look_is_told_of_once_and_keeps_earlier_thoughts_in_mind(thinker: House) -> None:
    thinker.model.replies.append(thought("Hello.", inner_speech="They keep bees, and greet me kindly."))
    await thinker.answered("Ada", "dm", "hello")
    thinker.model.replies.extend([looking("bees"), looking("hives"), thought("There are three.")])
    assert await thinker.answered("Ada", "dm", "how many are there?") == "There are three."
    assert [prompt.step for prompt in thinker.prompts] == ["think"] * 4, "no word is said before"
    prompt = thinker.last_prompt()
    assert prompt.count("A moment ago you thought the first of these") == 1
    assert prompt.index("I look for hives.") < prompt.index("I look for bees.") < prompt.index("greet me kindly")
    thinker.model.replies.extend([looking("bees"), looking("hives"), looking("honey"), looking("wax")])
    assert await thinker.answered("Ben", "dm", "hello") == "Echo: hello"
    assert [prompt.step for prompt in thinker.prompts[4:]] == ["think"] * 4 + ["respond"]


async def test_what_is_said_while_it_looks_is_answered_with_it(thinker: House) -> None:
    async def meanwhile(_: Prompt) -> str:
        await thinker.say("Ada", "dm", "and second")
        await thinker.row("SELECT 1 WHERE (SELECT count(*) FROM inbox) = 2")
        return looking("bees")

    thinker.model.replies.extend([meanwhile, thought("To both.")])
    await thinker.say("Ada", "dm", "first")
    assert said(await thinker.reply("D0ADA")) == "To both."
    await thinker.idle()
    assert len(thinker.prompts) == 2
    assert "and second" in thinker.last_prompt()
