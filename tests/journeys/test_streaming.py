"""A streamed reply: whatever fails on the way, its words stand in the channel whole and once."""

import asyncio

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


async def test_a_reply_that_breaks_or_is_malformed_is_made_again_once_and_then_becomes_an_apology(house: House) -> None:
    flow, again = house.flow(), house.flow()
    await _begun(house, flow)
    await house.draft("D0ADA")
    flow.end(ModelUnavailable("overloaded_error"))
    again.end(tagged("Now whole."))
    await _once_and_whole(house, "D0ADA", "Now whole.")
    flow, again = house.flow(), house.flow()
    await _begun(house, flow, "Ben")
    await house.draft("D0BEN")
    flow.end(ModelUnavailable("the line went dead"))
    again.end('<external_dialogue verb="said">Other', ModelUnavailable("the line went dead again"))
    post = await house.reply("D0BEN", "I'm sorry")
    await house.idle()
    assert "first words" not in said(post)
    assert len(await house.people.posts_by_bot("D0BEN")) == 1
    flow, again = house.flow(), house.flow()
    await _begun(house, flow, "Chloe")
    await house.draft("D0CHLOE")
    flow.end('<external_dialogue verb="said">twice?</external_dialogue>')
    again.end('<external_dialogue verb="said">Now rightly.</external_dialogue>')
    await _once_and_whole(house, "D0CHLOE", "Now rightly.")


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


async def test_a_burst_into_one_channel_arrives_whole_once_and_in_order_at_slacks_own_pace(house: House) -> None:
    async def refused() -> list[Json]:
        return [one for one in await house.people.calls("chat.postMessage") if one["status"] == 429]

    await house.people.limits("slack")
    long = "".join(f"Line {number} of a long answer in plain words.\n\n" for number in range(500))
    house.model.replies.append(tagged(long))
    root = await house.say("Ada", "general", "@soul tell me all")
    await house.called(1)
    house.clock.stand_still()
    for number in range(8):
        await house.say(("Ada", "Ben", "Chloe")[number % 3], "general", f"@soul question {number};")
    assert await house.until(refused)
    async with _turning(house, 1.0):
        await house.row("SELECT 1 FROM inbox WHERE state = 'answered'", count=9)
        await house.idle()
    posts = await house.people.posts_by_bot("C0GENERAL")
    words = " ".join(map(said, posts))
    assert [words.count(f"question {number};") for number in range(8)] == [1] * 8
    assert "".join(said(one) for one in posts if one["thread_ts"] == root).split() == long.split()
    assert len(await refused()) < len(posts), "after the first refusal they go one a second"
