"""A streamed reply: whatever fails on the way, its words stand in the channel whole and once."""

import asyncio
from collections.abc import Callable

import pytest

from daemon.core.errors import ModelUnavailable
from daemon.local_slack.model import Json
from tests.given import CLOSING, OPENING, tagged
from tests.journeys.house import House, said
from tests.models import Flow

_FIRST = "The first words of a long reply, which are enough to be shown at once: more than eighty characters. "
_MORE = "And here are " + "more words, " * 50
_REST = "which is all."
_WHOLE = (_FIRST + _MORE + _REST).strip()


async def _begun(house: House, flow: Flow, person: str = "Ada", room: str = "dm", text: str = "tell me") -> str:
    """Post a message and release the first words of the reply."""
    ts = await house.say(person, room, text)
    await flow.asked.wait()
    flow.say(OPENING, _FIRST)
    return ts


async def _once_and_whole(house: House, room: str, words: str = _WHOLE) -> Json:
    """The one message of the soul in a room, finished, with these words."""
    await house.reply(room)
    await house.idle()
    posts = await house.people.posts_by_bot(room)
    assert [said(post) for post in posts] == [words]
    assert posts[0].get("streaming_state") != "in_progress"
    return dict(posts[0])


async def _methods(house: House) -> list[str]:
    return [call["method"] for call in await house.posting_calls()]


@pytest.mark.parametrize(
    ("room", "text", "channel"), [("dm", "tell me", "D0ADA"), ("general", "@soul go", "C0GENERAL")]
)
async def test_a_slow_reply_is_shown_as_it_grows_and_ends_with_buttons_and_its_key(
    house: House, room: str, text: str, channel: str
) -> None:
    flow = house.flow()
    ts = await _begun(house, flow, room=room, text=text)
    draft = await house.draft(channel)
    assert draft["thread_ts"] == ts
    flow.say(_MORE)
    await house.draft(channel, "more words")
    flow.end(_REST, CLOSING)
    post = await _once_and_whole(house, channel)
    assert post["ts"] == draft["ts"]
    assert post["blocks"][-1]["elements"][0]["type"] == "feedback_buttons"
    assert post["metadata"]["event_payload"]["key"].endswith("@1#0")
    calls = await house.posting_calls()
    assert [call["method"] for call in calls] == ["chat.startStream", "chat.appendStream", "chat.stopStream"]
    if room == "general":
        assert calls[0]["args"]["recipient_user_id"] == "U0ADA"
        assert calls[0]["args"]["recipient_team_id"] == "T0LOCAL"
    else:
        assert "recipient_user_id" not in calls[0]["args"]


async def test_a_quick_reply_is_one_post_without_a_draft_or_a_status_line(house: House) -> None:
    house.clock.stand_still()
    await house.answered("Ada", "dm", "hello")
    assert await _methods(house) == ["chat.postMessage"]
    assert await house.people.calls("assistant.threads.setStatus") == []


async def test_where_slack_refuses_to_stream_the_reply_is_posted_whole(house: House) -> None:
    await house.people.fault("chat.startStream", body={"ok": False, "error": "method_not_supported"}, times=9)
    flow = house.flow()
    await _begun(house, flow)
    await house.events.until("slack.speech_silent")
    flow.end(_MORE, _REST, CLOSING)
    await _once_and_whole(house, "D0ADA")
    assert await _methods(house) == ["chat.startStream", "chat.postMessage"]


_DROP = {"mode": "accept_then_drop"}
_RESET = {"mode": "reset_before"}
_LIMIT = {"status": 429, "headers": {"Retry-After": "1"}}
_BROKEN = {"status": 500}
_NO = {"body": {"ok": False, "error": "message_not_in_streaming_state"}}


_MORE_FAULTS = [pytest.param(one, marks=pytest.mark.slow) for one in (_RESET, _LIMIT, _BROKEN)]


@pytest.mark.parametrize("fault", [_DROP, *_MORE_FAULTS, pytest.param(_NO, marks=pytest.mark.slow)])
@pytest.mark.parametrize("method", ["chat.startStream", "chat.appendStream", "chat.stopStream"])
async def test_a_streamed_reply_stands_there_whole_and_once_whatever_fails(
    house: House, method: str, fault: dict[str, object]
) -> None:
    await house.people.fault(method, **fault)
    flow = house.flow()
    await _begun(house, flow)
    if method == "chat.startStream":
        await house.events.until("slack.speech_silent")
    else:
        await house.draft("D0ADA")
    flow.say(_MORE)
    if method == "chat.appendStream":
        await house.events.until("slack.speech_silent")
    flow.end(_REST, CLOSING)
    async with _turning(house):
        await _once_and_whole(house, "D0ADA")


@pytest.mark.parametrize("fault", [_DROP, *_MORE_FAULTS])
async def test_a_posted_reply_stands_there_once_whatever_fails(house: House, fault: dict[str, object]) -> None:
    await house.people.fault("chat.postMessage", times=2, **fault)
    await house.say("Ada", "general", "@soul hello")
    async with _turning(house):
        await _once_and_whole(house, "general", "Echo: hello")


async def test_a_reply_whose_model_breaks_after_its_first_words_is_begun_again(house: House) -> None:
    flow, again = house.flow(), house.flow()
    await _begun(house, flow)
    await house.draft("D0ADA")
    flow.end(ModelUnavailable("overloaded_error"))
    again.end(tagged("Now whole."))
    await _once_and_whole(house, "D0ADA", "Now whole.")


async def test_a_reply_whose_model_breaks_twice_after_its_first_words_becomes_an_apology(house: House) -> None:
    flow, again = house.flow(), house.flow()
    await _begun(house, flow)
    await house.draft("D0ADA")
    flow.end(ModelUnavailable("the line went dead"))
    again.end('<external_dialogue verb="said">Other', ModelUnavailable("the line went dead again"))
    post = await house.reply("D0ADA", "I'm sorry")
    await house.idle()
    assert "first words" not in said(post)
    assert len(await house.people.posts_by_bot("D0ADA")) == 1


async def test_an_answer_that_turns_out_malformed_is_replaced_by_its_repair(house: House) -> None:
    flow, repair = house.flow(), house.flow()
    await _begun(house, flow)
    await house.draft("D0ADA")
    flow.end('<external_dialogue verb="said">twice?</external_dialogue>')
    repair.end('<external_dialogue verb="said">Now rightly.</external_dialogue>')
    await _once_and_whole(house, "D0ADA", "Now rightly.")


async def _status(house: House, room: str, ts: str, words: str) -> None:
    async def look() -> bool:
        return await house.people.status_of(room, ts) == words

    await house.until(look)


@pytest.mark.parametrize("ending", ["reply", "withdrawal"])
async def test_the_status_line_is_shown_kept_alive_and_gone_in_the_end(empty_house: House, ending: str) -> None:
    await empty_house.start(deadline=600.0, lease=600.0)
    flow = empty_house.flow()
    ts = await empty_house.say("Ada", "dm", "think long")
    await _status(empty_house, "D0ADA", ts, "is thinking…")
    async with _turning(empty_house, 31):  # it may be about to sleep
        await _calls(empty_house, lambda calls: len(calls) >= 2)
    await _status(empty_house, "D0ADA", ts, "is thinking…")
    if ending == "reply":
        flow.end(OPENING, "Done.", CLOSING)
    else:
        await empty_house.people.delete("Ada", "dm", ts)
        flow.end(OPENING, "Done.", CLOSING)
    await _calls(empty_house, lambda calls: calls[-1]["args"]["status"] == "")
    await _status(empty_house, "D0ADA", ts, "")
    await empty_house.idle()
    assert len(await empty_house.people.posts_by_bot("D0ADA")) == (0 if ending == "withdrawal" else 1)


async def _calls(house: House, holds: Callable[[list[Json]], bool]) -> None:
    async def look() -> bool:
        calls = await house.people.calls("assistant.threads.setStatus")
        return bool(calls) and holds(calls)

    await house.until(look)


class _turning:  # noqa: N801  # reads as a verb where it is used
    """Turns the clock while the body waits, so that no pause takes real time."""

    def __init__(self, house: House, seconds: float = 2.0) -> None:
        self._house, self._seconds = house, seconds

    async def _turn(self) -> None:
        while True:
            await asyncio.sleep(0.05)
            self._house.clock.turn(self._seconds)

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._turn())

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        await asyncio.wait((self._task,))


async def test_the_status_line_says_what_it_does_in_the_words_of_its_mood(house: House) -> None:
    await house.change(
        "INSERT INTO soul_state (soul, workspace, audience, version, updated_ms, emotional_state, felt_ms)"
        " VALUES ('minoan', 'T0LOCAL', 'dm:D0ADA', 1, 0, 'delighted', ?)",
        house.clock.now_ms(),
    )
    flow = house.flow()
    await house.say("Ada", "dm", "tell me")
    await flow.asked.wait()
    house.clock.turn(1)

    async def shown() -> bool:
        calls = await house.people.calls("assistant.threads.setStatus")
        return any(call["args"]["status"] in ("is savouring it…", "is admiring the joints…") for call in calls)

    await house.until(shown)
    flow.end(OPENING, "Done.", CLOSING)
    await house.reply("D0ADA")
