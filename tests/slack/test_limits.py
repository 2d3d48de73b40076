"""Slack's limits are counted as Slack counts them, and whatever it refuses ends in the whole text or in a refusal."""

from typing import Any

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.errors import ChannelRefused, DeliveryUncertain
from daemon.core.perception import Place
from daemon.core.ports.library import FoundPost
from daemon.core.ports.services import Task, TaskState
from tests.fakes import Events, FakeClock, FakeDrafts
from tests.given import perception, post
from tests.slack.conftest import Open, Wire
from tests.slack.parts import Control, draft, drafted, listening

LONG = {
    "English": "- a list of plain words, and & signs\n" * 220,
    "Russian": "Длинный ответ по-русски, строка за строкой.\n" * 100,
    "Japanese": "日本語の長い答えです。\n" * 250,
    "emoji": "\U0001f468\u200d\U0001f469\u200d\U0001f467 and \U0001f680\n" * 240,
    "code": "```html\n" + '<a href="x">&amp;</a>\n' * 200 + "```\n",
    "table": "| a | b |\n|---|---|\n" + "| 1 & 2 | <3> |\n" * 300,
}


BODY = "".join(f"Line {number} of a long answer in plain words.\n\n" for number in range(160))


def whole(messages: list[dict[str, Any]]) -> str:
    """The text of finished messages as people see it, without spaces."""
    assert not [one for one in messages if one.get("streaming_state") in {"in_progress", "errored"}]
    blocks = [
        block.get("text", "") for one in messages for block in one.get("blocks") or () if block["type"] == "markdown"
    ]
    return "".join("".join(blocks or [one["text"] for one in messages]).split())


async def sessions(control: Control) -> list[str]:
    return [one["status"] for one in (await control.see("state"))["sessions"]]


async def test_the_whole_of_a_long_answer_replaces_a_sealed_draft(channel: SlackChannel, control: Control) -> None:
    for language, text in LONG.items():
        root = await control.say("Ada", "dm", "hi")
        first, *_ = channel.split(text, post("D0ADA", "x").conversation)
        ts = await draft(channel, root, first[:100])
        await control.do("clock", advance=400.0)
        await channel.deliver(post("D0ADA", first, reply_to=root, draft=ts))
        assert whole(await control.replies("D0ADA", root)) == "".join(first.split()), language
    assert set(await sessions(control)) == {"active"}


async def test_a_first_part_of_any_language_fits_with_many_cards(channel: SlackChannel, control: Control) -> None:
    for language, text in LONG.items():
        root, log = await control.say("Ada", "dm", "hi"), FakeDrafts()
        first, *_ = channel.split(text * 4, post("D0ADA", "x").conversation)
        speech = channel.speak(perception(channel="D0ADA", ts=root, place=Place.DM), log.log)
        for number in range(45):
            words = text.replace("\n", " ")[number * 10 :]
            await speech.show(Task(str(number), words, TaskState.IN_PROGRESS, words))
        await speech.say(first[:900])
        await log.settled.wait()
        await speech.settle()
        await channel.deliver(post("D0ADA", first, reply_to=root, draft=log.steps[1]))
        (message,) = await control.replies("D0ADA", root)
        assert (message["streaming_state"], message["text"]) == ("completed", first), language
    assert await control.calls("chat.update") == []


async def test_blocks_that_slack_refuses_become_plain_messages_that_hold_all(on: Wire) -> None:
    async with listening(on.channel, on.intake):
        for code in ("msg_too_long", "msg_blocks_too_long", "invalid_blocks", "a_code_of_tomorrow"):
            root = await on.control.say("Ada", "dm", "hi")
            await on.control.fail("chat.postMessage", body={"ok": False, "error": code})
            sent = post("D0ADA", BODY, reply_to=root)
            ts = await on.channel.deliver(sent)
            pieces = await on.control.replies("D0ADA", root)
            assert (len(pieces), whole(pieces)) == (2, "".join(BODY.split())), code
            assert await on.channel.find(sent) == FoundPost(ts, finished=True), code


async def test_a_plain_piece_whose_response_was_lost_is_not_posted_twice(on: Wire) -> None:
    root = await on.control.say("Ada", "dm", "hi")
    refused = {"ok": False, "error": "msg_blocks_too_long"}
    sent = post("D0ADA", BODY, reply_to=root)
    async with listening(on.channel, on.intake):
        await on.control.fail("chat.postMessage", body=refused)
        await on.control.fail("chat.postMessage", mode="accept_then_answer")
        await on.control.fail("chat.postMessage", status=429, headers={"Retry-After": "0"})
        with pytest.raises(DeliveryUncertain):
            await on.channel.deliver(sent)
        found = await on.channel.find(sent)
        assert found is not None
        assert not found.finished
        await on.control.fail("chat.update", body=refused)
        await on.control.fail("chat.postMessage", body=refused)
        await on.channel.deliver(post("D0ADA", BODY, reply_to=root, draft=found.ts))
        assert (await on.channel.find(sent)) == FoundPost(found.ts, finished=True)
    assert whole(await on.control.replies("D0ADA", root)) == "".join(BODY.split())


async def test_a_draft_beside_the_whole_is_deleted_when_the_whole_is_found(on: Wire) -> None:
    root, ts = await drafted(on.channel, on.control, "begun " * 20)
    sent = post("D0ADA", "Another answer.", reply_to=root, draft=ts)
    await on.control.fail("chat.update", body={"ok": False, "error": "cant_update_message"})
    await on.control.fail("chat.postMessage", mode="accept_then_drop")
    async with listening(on.channel, on.intake):
        with pytest.raises(DeliveryUncertain):
            await on.channel.deliver(sent)
        found = await on.channel.find(sent)
    (message,) = await on.control.replies("D0ADA", root)
    assert found == FoundPost(message["ts"], finished=True)


async def test_metadata_that_slack_refuses_does_not_stop_the_text(channel: SlackChannel, control: Control) -> None:
    await control.fail("chat.postMessage", body={"ok": False, "error": "invalid_metadata_schema"})
    await channel.deliver(post("D0ADA", "All the same."))
    (message,) = (await control.see("messages", channel="D0ADA"))["messages"]
    assert message["text"] == "All the same."


async def test_where_a_thread_takes_no_reply_it_is_in_the_timeline(channel: SlackChannel, control: Control) -> None:
    codes = ("thread_not_found", "cannot_reply_to_message", "restricted_action_thread_locked", "invalid_thread_ts")
    for code in codes:
        root = await control.say("Ada", "dm", "hi")
        await control.fail("chat.postMessage", body={"ok": False, "error": code})
        ts = await channel.deliver(post("D0ADA", "Here then.", reply_to=root))
        timeline = (await control.see("messages", channel="D0ADA"))["messages"]
        assert [one["ts"] for one in timeline][-2:] == [root, ts], code


async def test_a_channel_without_threads_shows_answers_in_its_timeline_where_they_are_found(on: Wire) -> None:
    root = await on.control.say("Ada", "general", "@soul hi")
    await on.control.do("fault_room", room="general", posting="restricted_action_non_threadable_channel")
    sent = post("C0GENERAL", "Here then.", reply_to=root)
    ts = await on.channel.deliver(sent)
    assert [one["ts"] for one in (await on.control.see("messages", channel="general"))["messages"]] == [root, ts]
    async with listening(on.channel, on.intake):
        assert await on.channel.find(sent) == FoundPost(ts, finished=True)


async def test_a_room_that_takes_nothing_is_a_refusal_at_once(channel: SlackChannel, control: Control) -> None:
    root, codes = await control.say("Ada", "general", "@soul hi"), []
    for order in (
        {"archived": True},
        {"posting": "restricted_action"},
        {"posting": "restricted_action_read_only_channel"},
    ):
        await control.do("clear_faults")
        await control.do("fault_room", room="general", **order)
        with pytest.raises(ChannelRefused) as refused:
            await channel.deliver(post("C0GENERAL", "words " * 2_000, reply_to=root))
        codes.append(refused.value.code)
    assert codes == ["is_archived", "restricted_action", "restricted_action_read_only_channel"]
    assert len(await control.calls("chat.postMessage")) == 3


async def spoken_into(channel: SlackChannel, room: str, thread: str, place: Place) -> FakeDrafts:
    """A reply of a hundred characters that may be streamed."""
    log = FakeDrafts()
    asked = perception(channel=room, thread=thread, ts=thread, source="U0ADA", place=place, team="T0LOCAL")
    speech = channel.speak(asked, log.log)
    await speech.say("w" * 100)
    return log


async def test_a_refused_start_may_rest_its_channel(open_channel: Open, control: Control, events: Events) -> None:
    room, root = "C0GENERAL", await control.say("Ada", "general", "@soul hi")
    dm, asked = "D0ADA", await control.say("Ada", "dm", "hi")
    rests = {
        "thread_not_found": False,
        "msg_too_long": False,
        "channel_type_not_supported": True,
        "missing_scope": True,
    }
    for number, (code, rested) in enumerate(rests.items(), 1):
        channel, before = open_channel(), len(await control.calls("chat.startStream"))
        await control.fail("chat.startStream", body={"ok": False, "error": code})
        await spoken_into(channel, room, root, Place.PUBLIC_CHANNEL)
        await events.until("slack.speech_silent", number)
        await (await spoken_into(channel, dm, asked, Place.DM)).settled.wait()
        again = await spoken_into(channel, room, root, Place.PUBLIC_CHANNEL)
        await (await spoken_into(channel, dm, asked, Place.DM) if rested else again).settled.wait()
        starts = [call["args"]["channel"] for call in (await control.calls("chat.startStream"))[before:]]
        assert starts.count(room) == (1 if rested else 2), code


async def test_streams_can_be_kept_to_dms(open_channel: Open, control: Control) -> None:
    channel = open_channel(slack_streaming="dms")
    root, asked = await control.say("Ada", "general", "@soul hi"), await control.say("Ada", "dm", "hi")
    await spoken_into(channel, "C0GENERAL", root, Place.PUBLIC_CHANNEL)
    await (await spoken_into(channel, "D0ADA", asked, Place.DM)).settled.wait()
    assert [call["args"]["channel"] for call in await control.calls("chat.startStream")] == ["D0ADA"]


async def test_no_status_line_is_set_once_the_reply_is_streamed(open_channel: Open, control: Control) -> None:
    clock = FakeClock()
    channel = open_channel(clock)
    root, log = await control.say("Ada", "dm", "hi"), FakeDrafts()
    asked = perception(channel="D0ADA", ts=root, place=Place.DM)
    async with channel.thinking(asked):
        await clock.sleepers()
        await clock.advance(0.2)
        await control.until(lambda: control.calls("assistant.threads.setStatus"), 1)
        speech = channel.speak(asked, log.log)
        await speech.say("w" * 100)
        await log.settled.wait()
        await clock.sleepers()
        await clock.advance(100)
        await speech.show(Task("1", "Reading", TaskState.IN_PROGRESS))
        await speech.settle()
    await channel.deliver(post("D0ADA", "w" * 100, reply_to=root, draft=log.steps[1]))
    assert len(await control.calls("assistant.threads.setStatus")) == 1
    assert await sessions(control) == ["active"]


async def test_no_session_stays_at_work_on_any_way_out(on: Wire) -> None:
    troubles = ("none", "sealed", "restart", "stop refused", "update refused", "draft deleted", "session refused")
    for trouble in troubles:
        root, ts = await drafted(on.channel, on.control, "begun " * 20)
        delivering = on.channel
        match trouble:
            case "sealed":
                await on.control.do("clock", advance=321.0)
            case "restart":
                delivering = on.open()
            case "stop refused":
                await on.control.fail("chat.stopStream", times=3, body={"ok": False, "error": "msg_too_long"})
            case "update refused":
                await on.control.do("clock", advance=321.0)
                await on.control.fail("chat.update", times=2, body={"ok": False, "error": "cant_update_message"})
            case "draft deleted":
                gone = on.control.server.workspace.state.message("D0ADA", ts)
                assert gone is not None
                on.control.server.workspace.withdraw(gone)
            case "session refused":
                await on.control.fail("chat.stopStream", body={"ok": False, "error": "invalid_arguments"})
        assert (await sessions(on.control)).count("processing") == 1, trouble
        await delivering.deliver(post("D0ADA", "begun " * 20 + "and done", reply_to=root, draft=ts))
        await on.control.do("clear_faults")
        assert set(await sessions(on.control)) == {"active"}, trouble
        assert whole(await on.control.replies("D0ADA", root)) == "begun" * 20 + "anddone", trouble
