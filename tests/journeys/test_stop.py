"""Stop: by Slack's button or the word alone; the draft stays as it stands, and nothing comes after it."""

import pytest

from daemon.local_slack.model import Json
from tests.given import CLOSING, OPENING, tagged
from tests.journeys.house import House, said
from tests.journeys.problems import PROBLEM, script, solver
from tests.models import Flow
from tests.unit.ism_parts import chosen

FIRST = "The first words of a long reply, which are enough to be shown at once: more than eighty characters. "
KEPT = "The first words of a long reply, which are enough to be shown at once: more than eighty"
LATER = "and words that nobody wants any more "
BEGUN = "Stopped. So far it took"
_STOPS = (("stop", False), ("Stop!", True), ("hör auf", False), ("ok, stop 🛑", False), ("stop, that is enough", True))
BEFORE = "Stopped before I said anything."


async def begun(house: House, flow: Flow, room: str = "dm", text: str = "tell me") -> Json:
    """Ask, and release the first words of the reply; gives its draft."""
    await house.say("Ada", room, text)
    await flow.asked.wait()
    flow.say(OPENING, FIRST)
    return await house.draft("D0ADA" if room == "dm" else "C0GENERAL", "long reply")


async def ended(house: House, draft: Json) -> str:
    """Wait until a draft is finished; gives its words."""

    async def look() -> str | None:
        posts = await house.people.posts_by_bot(draft["channel"])
        found = next(one for one in posts if one["ts"] == draft["ts"])
        return said(found) if found.get("streaming_state") != "in_progress" else None

    words = await house.until(look)
    await house.idle()
    return words


async def test_the_button_keeps_the_draft_and_says_below_it_what_was_spent(house: House) -> None:
    flow = house.flow()
    draft = await begun(house, flow)
    await house.people.stop("Ada", "dm", draft["thread_ts"])
    words = await ended(house, draft)
    flow.end(LATER, CLOSING)
    assert words.startswith(KEPT)
    assert BEGUN in words
    assert LATER.strip() not in words
    assert len(await house.people.posts_by_bot("D0ADA")) == 1
    [session] = (await house.people.state())["sessions"]
    assert session["status"] == "active"
    [row] = await house.rows("SELECT state, answered_by FROM inbox")
    assert row["state"] == "answered"
    [turn] = await house.rows("SELECT body, kind FROM turns WHERE speaker = 'soul'")
    assert tuple(turn) == (KEPT, "cut")


async def test_the_word_alone_stops_and_gets_no_answer_of_its_own(house: House) -> None:
    for number, (word, in_thread) in enumerate(_STOPS, 1):
        draft = await begun(house, house.flow())
        stop = await house.say("Ada", "dm", word, thread=draft["thread_ts"] if in_thread else "")
        assert BEGUN in await ended(house, draft), word
        assert await house.final_state(stop) == "answered", word
        assert len(await house.people.posts_by_bot("D0ADA")) == number, word


async def test_the_words_behind_a_stop_are_heard_with_the_next_message(house: House) -> None:
    for number, (words, in_thread) in enumerate(
        (("stop using tabs please", False), ("Stop! Use blanks", True), ("hör auf zu raten", False)), 1
    ):
        draft = await begun(house, house.flow(), text=f"tell me {number}")
        thread = draft["thread_ts"] if in_thread else ""
        stop = await house.say("Ada", "dm", words, thread=thread)
        assert BEGUN in await ended(house, draft), words
        assert await house.final_state(stop) == "answered", words
        assert len(await house.people.posts_by_bot("D0ADA")) == 2 * number - 1, words
        await house.answered("Ada", "dm", f"and then {number}?", thread=thread)
        talk = house.last_prompt()
        assert talk.count(words) == 1, talk
        assert talk.index(words) < talk.index(f"and then {number}?")
        if not in_thread:
            assert talk.index(f"tell me {number}") < talk.index(words)
    assert "stopped before" not in str(await house.people.posts_by_bot("D0ADA")).casefold()


async def test_where_nothing_is_under_way_words_that_begin_with_a_stop_are_a_message_like_any_other(
    house: House,
) -> None:
    house.model.replies.append(tagged("It can't be stopped from here."))
    assert await house.answered("Ada", "dm", "stop the kiln") == "It can't be stopped from here."
    assert await house.answered("Ada", "dm", "stop, please") == "I am doing nothing here that could be stopped."


async def test_before_the_first_word_one_line_says_so_and_what_came_meanwhile_is_answered(house: House) -> None:
    flow = house.flow()
    ts = await house.say("Ada", "dm", "tell me")
    await flow.asked.wait()
    await house.say("Ada", "dm", "stop")
    post = await house.reply("D0ADA")
    await house.idle()
    assert said(post).startswith(f"_{BEFORE}")
    assert post["thread_ts"] == ts
    assert len(await house.people.posts_by_bot("D0ADA")) == 1
    await house.when(lambda: _closed(house))
    draft = await begun(house, house.flow())
    other = await house.say("Ada", "dm", "and what is the time?")
    await house.acknowledged()
    await house.people.stop("Ada", "dm", draft["thread_ts"])
    assert BEGUN in await ended(house, draft)
    assert await house.final_state(other) == "answered"
    assert said((await house.people.posts_by_bot("D0ADA"))[-1]) == "Echo: and what is the time?"


async def _closed(house: House) -> bool:
    """Whether the model's call is over."""
    return house.model.closed > 0


async def test_in_a_channel_who_takes_no_part_and_a_guest_stop_nothing_and_the_asker_does(house: House) -> None:
    flow = house.flow()
    await house.people.join("Gus", "general")
    draft = await begun(house, flow, "general", "@soul tell me")
    await house.people.stop("Gus", "general", draft["thread_ts"])
    await house.events.until("slack.stop_refused", reason="guest")
    await house.say("Gus", "general", "stop", thread=draft["thread_ts"])
    await house.events.until("slack.stop_refused", 2)
    await house.people.stop("Ben", "general", draft["thread_ts"])
    await house.events.until("slack.heard", kind="Stop", became="ignored")
    flow.say("More.")
    await house.people.stop("Ada", "general", draft["thread_ts"])
    assert BEGUN in await ended(house, draft)


async def test_where_nothing_is_under_way_the_word_gets_one_sentence_and_the_button_none(house: House) -> None:
    assert await house.answered("Ada", "dm", "hello") == "Echo: hello"
    post = await house.reply("D0ADA")
    stopped = {"type": "agent_session_stopped", "user": "U0ADA", "channel": "D0ADA", "thread_ts": post["thread_ts"]}
    await house.people.emit(stopped, "D0ADA")
    await house.events.until("slack.heard", kind="Stop", became="ignored")
    answer = await house.answered("Ada", "dm", "stop")
    assert answer == "I am doing nothing here that could be stopped."
    assert len(house.prompts) == 1
    house.model.replies.append(tagged("It can't be stopped from here."))
    assert await house.answered("Ada", "dm", "stop the kiln") == "It can't be stopped from here."
    assert await house.answered("Ada", "dm", "stop, please") == "I am doing nothing here that could be stopped."


@pytest.mark.slow
async def test_the_daemon_that_hears_it_stops_the_one_that_thinks(house: House) -> None:
    flow = house.flow()
    thinking = house.daemon
    draft = await begun(house, flow)
    assert thinking is not None
    await house.start()
    await house.people.stop("Ada", "dm", draft["thread_ts"])
    assert BEGUN in await ended(house, draft)
    assert len(await house.people.posts_by_bot("D0ADA")) == 1


async def test_a_hard_problem_is_given_up_with_its_cards_closed(empty_house: House) -> None:
    await solver(empty_house)
    script(empty_house, chosen(("Think", "the glaze")), chosen("Respond"))
    flow = empty_house.flow()
    ts = await empty_house.say("Ada", "dm", PROBLEM)
    await flow.asked.wait()

    async def cards() -> list[Json]:
        return [one for post in await empty_house.people.posts_by_bot("D0ADA") for one in post.get("chunks", ())]

    await empty_house.until(cards)
    await empty_house.people.stop("Ada", "dm", ts)
    post = await empty_house.reply("D0ADA", "Stopped")
    await empty_house.idle()
    states = {chunk.get("status") for chunk in post["chunks"] if chunk["type"] == "task_update"}
    assert states == {"complete"}
    assert await empty_house.process() == "engaged"
    assert len(await empty_house.people.posts_by_bot("D0ADA")) == 1


@pytest.mark.slow
async def test_a_draft_that_slack_sealed_stays_and_the_line_stands_below_it(house: House) -> None:
    await house.people.post("lifetimes", stream=30.0)
    draft = await begun(house, house.flow())
    house.clock.turn(40)
    await house.people.stop("Ada", "dm", draft["thread_ts"])
    line = await house.reply("D0ADA", "Stopped.")
    await house.idle()
    posts = await house.people.posts_by_bot("D0ADA")
    assert [one["ts"] for one in posts] == [draft["ts"], line["ts"]]
    assert posts[0]["text"].startswith(KEPT)
    [session] = (await house.people.state())["sessions"]
    assert session["status"] == "active"
