"""Perceptions without a message (a due time, a decision): no call to Slack refers to a message for them."""

from typing import Any

from daemon.channels.slack.channel import SlackChannel
from daemon.core.perception import Modality, Place
from daemon.core.ports.services import Speech, Task, TaskState
from tests.fakes import FakeDrafts
from tests.given import perception, post
from tests.slack.conftest import Open, Wire
from tests.slack.parts import Control, listening

MODALITIES = (Modality.TIME, Modality.DECISION)


async def _speak(speech: Speech) -> None:
    await speech.show(Task("1", "Looking", TaskState.IN_PROGRESS))
    await speech.say("z" * 100)


async def test_in_a_dm_without_a_thread_nothing_is_streamed(channel: SlackChannel, control: Control) -> None:
    for modality in MODALITIES:
        due = perception(channel="D0ADA", ts="1750000000.000001", source="U0ADA", place=Place.DM, modality=modality)
        assert channel.reply_to(due) == "", modality
        log = FakeDrafts()
        speech = channel.speak(due, log.log)
        async with channel.thinking(due):
            await _speak(speech)
        await speech.settle()
        assert await channel.thread_before(due, 5) == (), modality
        assert log.steps == [], modality
    assert (await control.see("calls"))["calls"] == []
    ts = await channel.deliver(post("D0ADA", "You asked me to remind you.", newer_than_ts="1.0"))
    (message,) = (await control.see("messages", channel="D0ADA"))["messages"]
    assert (message["ts"], message.get("thread_ts")) == (ts, None)


async def test_in_a_thread_the_reply_is_streamed_and_the_whole_thread_is_read(on: Wire) -> None:
    for modality in MODALITIES:
        channel = on.open()
        root = await on.control.say("Ada", "general", "first")
        await on.control.say("Ben", "general", "second", thread=root)
        where: dict[str, Any] = {"channel": "C0GENERAL", "thread": root, "team": on.control.server.team.id}
        due = perception(**where, ts="1.000001", source="U0ADA", modality=modality)
        assert channel.reply_to(due) == root, modality
        log = FakeDrafts()
        speech = channel.speak(due, log.log)
        await _speak(speech)
        await log.settled.wait()
        await speech.settle()
        start = (await on.control.calls("chat.startStream"))[-1]["args"]
        assert (start["thread_ts"], start["recipient_user_id"]) == (root, "U0ADA"), modality
        assert start["recipient_team_id"] == on.control.server.team.id, modality
        async with listening(channel, on.intake):
            thread = await channel.thread_before(due, 5)
        assert [one.text for one in thread][:2] == ["first", "second"], modality
        reads = [call["args"] for call in await on.control.calls("conversations.replies") if call["args"]["ts"] == root]
        assert any("latest" not in one and "oldest" not in one for one in reads), modality


async def test_the_gate_decides_on_the_author_of_an_internal_event(channel: SlackChannel) -> None:
    await channel.identify()
    for modality in MODALITIES:
        for source, admitted in (("U0ADA", True), ("U0GUS", False), ("U0UNKNOWN", False), ("", False)):
            due = perception(channel="D0ADA", ts="x", source=source, place=Place.DM, modality=modality)
            assert (await channel.admit(due)).admitted is admitted, (modality, source)


async def test_nothing_is_streamed_to_a_bot_without_a_user(open_channel: Open, control: Control) -> None:
    root = await control.say("Ada", "general", "@soul hi")
    speech = open_channel().speak(perception(channel="C0GENERAL", ts=root, source="B0OTHER"), FakeDrafts().log)
    await _speak(speech)
    await speech.settle()
    assert await control.calls("chat.startStream") == []
