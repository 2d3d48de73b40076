"""A soul that thinks whole thoughts may say nothing: it nods where it was asked, and else leaves no trace."""

import json

import pytest

from tests.journeys.house import House, said
from tests.journeys.reacting import SCOPES, marked, marks
from tests.journeys.souls import write_soul

NODS = 'mind = "cycle"\n[presence]\nnod = "thumbsup"\n'


def thought(speech: str = "", **parts: object) -> str:
    """A thought in the form of the wire; without speech it says nothing."""
    said = {"calls_for": "nothing", "inner_speech": "Nothing to add.", "external_speech": speech}
    return json.dumps({**said, "user_model_check": False, **parts})


async def nodded(house: House, channel: str, ts: str) -> None:
    await marked(house, channel, ts, "thumbsup")
    await house.idle()


@pytest.fixture
async def nodder(empty_house: House) -> House:
    """A daemon whose soul may nod."""
    await empty_house.start(name=write_soul(empty_house.settings.home, more=NODS))
    return empty_house


async def test_a_direct_message_that_needs_no_words_is_answered_by_a_nod(nodder: House) -> None:
    nodder.model.replies.append(thought())
    ts = await nodder.say("Ada", "dm", "thanks!")
    await nodded(nodder, "D0ADA", ts)
    assert [prompt.step for prompt in nodder.prompts] == ["think"]
    assert await nodder.replies("D0ADA") == []
    row = await nodder.one("SELECT state, reason, answered_by FROM inbox")
    assert (row["state"], row["reason"]) == ("answered", "the soul nodded")
    post = await nodder.one("SELECT id, state, nod, body, platform_ts FROM outbox")
    assert tuple(post) == (row["answered_by"], "sent", "thumbsup", "", None)
    assert await nodder.rows("SELECT * FROM turns WHERE speaker = 'soul'") == []
    assert "it nodded, and said nothing" in await nodder.command("mind", "trace", "D0ADA")
    assert '"nod": "thumbsup"' in await nodder.command("queue", "outbox", "show", post["id"], "--json")
    nodder.model.replies.append(thought())
    ts = await nodder.say("Ben", "dm", "thanks, I read https://example.org/?page=2 today")
    await nodded(nodder, "D0BEN", ts)  # the mark of an address is none of a question
    for nothing in ("null", "(silence)"):
        nodder.model.replies.append(thought(nothing))
        ts = await nodder.say("Chloe", "dm", "thanks!")
        await nodded(nodder, "D0CHLOE", ts)
    assert await nodder.replies("D0CHLOE") == []
    await nodder.people.fault("reactions.add", mode="accept_then_drop", times=1)
    nodder.model.replies.append(thought())
    ts = await nodder.say("Ben", "dm", "thanks!")
    await nodded(nodder, "D0BEN", ts)
    assert {row["state"] for row in await nodder.rows("SELECT state FROM outbox")} == {"sent"}
    assert await nodder.replies("D0BEN") == []


async def test_a_mention_is_nodded_at_and_the_next_thought_knows_that_it_said_nothing(nodder: House) -> None:
    nodder.model.replies.append(thought(inner_speech="It was only a thank-you."))
    ts = await nodder.say("Ada", "general", "@soul thank you")
    await nodded(nodder, "general", ts)
    assert await nodder.replies("general") == []
    nodder.model.replies.append(thought("It is noon."))
    assert await nodder.answered("Ada", "general", "@soul what time is it?", thread=ts) == "It is noon."
    assert "It was only a thank-you.\nYou said nothing aloud." in nodder.last_prompt()
    thoughts = await nodder.rows("SELECT spoke, did FROM thoughts ORDER BY seq")
    assert [(row["spoke"], json.loads(row["did"])) for row in thoughts] == [(0, {}), (1, {"external_speech": 1})]


async def test_a_question_is_answered_in_words_whatever_the_model_thinks_of_it(nodder: House) -> None:
    for question in ("when does the import run?", "Wie lange dauert das? Danke!", 'the "why?"'):
        before = len(nodder.prompts)
        nodder.model.replies += [thought(), "At six."]
        assert await nodder.answered("Ada", "dm", question) == "At six.", question
        assert [prompt.step for prompt in nodder.prompts[before:]] == ["think", "external_dialog"], question
        assert "Nothing to add." in nodder.last_prompt(), question
    assert await nodder.people.calls("reactions.add") == []
    before = len(nodder.prompts)
    forgotten = json.dumps({"calls_for": "nothing", "inner_speech": "So.", "speech": "You're welcome."})
    nodder.model.replies += [forgotten, thought("You're welcome.")]
    assert await nodder.answered("Ada", "dm", "thanks!") == "You're welcome."
    assert [prompt.step for prompt in nodder.prompts[before:]] == ["think", "think"]
    before = len(nodder.prompts)
    looking = thought(memory_ops=[{"type": "retrieve", "query": "bees"}])
    nodder.model.replies += [looking, looking, looking, looking]
    assert await nodder.answered("Ada", "dm", "tell me about the bees") == "Echo: tell me about the bees"
    assert [prompt.step for prompt in nodder.prompts[before:]] == ["think"] * 4 + ["respond"]
    nodder.model.replies += [thought(calls_for="reminder"), thought(), "I'll remind you."]
    nodder.model.steps["intend"].append(json.dumps({"when": "in 2h", "what": "Water the bees.", "drop": []}))
    answer = await nodder.answered("Ada", "dm", "remind me in 2 hours to water the bees")
    assert "I'll remind you." in answer


async def test_unasked_it_leaves_no_trace(nodder: House) -> None:
    nodder.model.replies.append(thought("Here I am."))
    first = await nodder.say("Ada", "general", "@soul are you there?")
    await nodder.settled("general", "Here I am.")
    calls = len(await nodder.people.calls("reactions.add"))
    nodder.model.replies.append(thought())
    ts = await nodder.say("Ada", "general", "good, then I go on", thread=first)
    assert await nodder.final_state(ts) == "answered"
    await nodder.idle()
    assert len(await nodder.replies("general")) == 1
    assert len(await nodder.people.calls("reactions.add")) == calls
    assert await marks(nodder, "general", ts) == []
    row = await nodder.one("SELECT reason, answered_by FROM inbox WHERE ts = ?", ts)
    assert tuple(row) == ("the soul said nothing", None)
    assert await nodder.people.status_of("general", first) == ""


async def test_with_marks_a_message_that_it_leaves_alone_is_not_marked_as_answered(empty_house: House) -> None:
    await empty_house.start(name=write_soul(empty_house.settings.home, more=NODS), slack_acknowledge=True)
    empty_house.model.replies += [thought("Here I am."), thought(), thought()]
    first = await empty_house.say("Ada", "general", "@soul are you there?")
    await empty_house.reply("general", "Here I am.")
    await marked(empty_house, "general", first, "white_check_mark")
    ts = await empty_house.say("Ada", "general", "good, then I go on", thread=first)
    assert await empty_house.final_state(ts) == "answered"
    await marked(empty_house, "general", ts)
    again = await empty_house.say("Ada", "general", "@soul thanks", thread=first)
    await empty_house.idle()

    async def both() -> bool:
        return sorted(await marks(empty_house, "general", again)) == ["thumbsup", "white_check_mark"]

    await empty_house.people.wait_for(both)


async def test_without_the_scope_one_more_call_puts_it_in_words(empty_house: House) -> None:
    await empty_house.people.scopes(*SCOPES)
    await empty_house.start(name=write_soul(empty_house.settings.home, more=NODS))
    empty_house.model.replies += [thought(), "You're welcome."]
    assert await empty_house.answered("Ada", "dm", "thanks!") == "You're welcome."
    assert [prompt.step for prompt in empty_house.prompts] == ["think", "external_dialog"]
    assert await empty_house.people.calls("reactions.add") == []


async def test_a_soul_without_a_nod_says_something(empty_house: House) -> None:
    await empty_house.start(name=write_soul(empty_house.settings.home, more='mind = "cycle"\n'))
    empty_house.model.replies += [thought(), "You're welcome."]
    assert await empty_house.answered("Ada", "general", "@soul thanks!") == "You're welcome."


async def test_a_nod_that_a_daemon_was_cut_off_in_is_given_once_by_the_next(nodder: House) -> None:
    await nodder.people.fault("reactions.add", delay=60)
    nodder.model.replies.append(thought())
    ts = await nodder.say("Ada", "dm", "thanks!")
    await nodder.people.wait_for(lambda: nodder.people.met("reactions.add"))
    await nodder.cut()
    await nodder.people.clear_faults()
    await nodder.start(name="tess")
    await nodded(nodder, "D0ADA", ts)
    assert [prompt.step for prompt in nodder.prompts] == ["think"], "it is not thought about again"
    assert await nodder.replies("D0ADA") == []


@pytest.mark.parametrize("kept", [False, pytest.param(True, marks=pytest.mark.slow)])
async def test_a_draft_that_stood_there_goes_when_the_answer_is_a_nod(nodder: House, kept: bool) -> None:
    flow = nodder.flow()
    ts = await nodder.say("Ada", "dm", "thanks!")
    await flow.asked.wait()
    flow.say(thought("You are very welcome indeed. " * 12)[:300])
    await nodder.draft("D0ADA", "You are very welcome")
    await nodder.cut()
    if kept:
        await nodder.people.fault("chat.delete", body={"ok": False, "error": "cant_delete_message"}, times=1)
    nodder.model.replies.append(thought())
    await nodder.start(name="tess")
    await nodded(nodder, "D0ADA", ts)
    assert [said(post) for post in await nodder.people.posts_by_bot("D0ADA")] == (["…"] if kept else [])


async def test_a_nod_at_a_message_that_is_gone_settles(nodder: House) -> None:
    await nodder.people.fault("reactions.add", status=503, times=1_000)
    nodder.model.replies.append(thought())
    ts = await nodder.say("Ada", "dm", "thanks!")
    await nodder.events.until("outbox.postponed")
    await nodder.noticed(nodder.people.delete("Ada", "D0ADA", ts))
    await nodder.people.clear_faults()

    async def settled() -> bool:
        nodder.clock.turn(1)
        return not await nodder.rows("SELECT 1 FROM outbox WHERE state IN ('pending', 'sending')")

    await nodder.when(settled)
    await nodder.idle()
    assert await nodder.people.posts_by_bot("D0ADA") == []


async def test_a_nod_that_slack_refuses_holds_nothing_back(nodder: House) -> None:
    for person, refusal in (("Ada", "invalid_name"), ("Ben", "access_denied"), ("Chloe", "missing_scope")):
        await nodder.people.fault("reactions.add", body={"ok": False, "error": refusal}, times=1)
        nodder.model.replies.append(thought())
        await nodder.say(person, "dm", "thanks!")
        assert "may not have been posted" in said(await nodder.settled(f"D0{person.upper()}")), refusal
