"""Each event of the workspace arrives once, and is acknowledged only after it is stored."""

import asyncio
import dataclasses

from daemon.channels.slack.channel import SlackChannel
from daemon.core.perception import AudienceKind, Place
from daemon.core.ports import Channel, Deletion, Edit, Feedback
from tests.fakes import TIMEOUT, Events, FakeIntake
from tests.given import post
from tests.slack.parts import WorkspaceControl, listening


async def test_slack_implements_the_channel_port(channel: SlackChannel) -> None:
    port: Channel = channel
    assert port.name == "slack"
    assert not port.healthy()


async def test_a_direct_message_arrives_once_and_is_addressed(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "dm", "Good morning & welcome")
        (message,) = (await intake.until(1))[:1]
        assert channel.healthy()
    assert intake.messages() == [message]
    assert (intake.messages()[0].perception.content, intake.messages()[0].perception.ts) == (
        "Good morning & welcome",
        ts,
    )
    assert intake.messages()[0].addressed
    assert intake.messages()[0].perception.place is Place.DM
    assert intake.messages()[0].perception.conversation.thread == ""
    assert not channel.healthy()


async def test_a_mention_makes_two_events_but_one_message(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "general", "@soul what is up?")
        await events.until("slack.heard", 2)
    (message,) = intake.messages()
    assert (message.perception.content, message.perception.conversation.thread, message.perception.audience.kind) == (
        "what is up?",
        ts,
        AudienceKind.WORKSPACE,
    )
    assert message.addressed
    assert not message.to_others


async def test_an_event_that_could_not_be_stored_is_not_acknowledged_and_comes_again(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    async with listening(channel, intake):
        await events.until("slack.caught_up")
        intake.broken = 1
        await control.say("Ada", "dm", "important")
        await events.until("slack.library")
        (first,) = (await control.see("deliveries"))["deliveries"]
        assert first["acked_at"] is None
        await control.do("clock", advance=400.0)
        await intake.until(1)
        await events.until("slack.heard")
    assert [message.perception.content for message in intake.messages()] == ["important"]


async def test_an_event_that_could_not_be_stored_is_read_from_history(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    async with listening(channel, intake):
        await events.until("slack.caught_up")
        intake.broken = 1
        await control.say("Ada", "dm", "important")
        await events.until("slack.caught_up", 2)  # without a lost socket, and before Slack delivers it again
        (failed,) = events.named("slack.store_failed")
        assert failed["reason"] == "another program holds the database"
        assert [message.perception.content for message in intake.messages()] == ["important"]
        await control.do("clock", advance=400.0)
        await events.until("slack.duplicate")
    assert [message.perception.content for message in intake.messages()] == ["important"]


async def test_edits_deletions_and_feedback_arrive(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "dm", "helo")
        await intake.until(1)
        await control.do("edit", person="Ada", channel="dm", ts=ts, text="hello")
        await intake.until(2)
        dm = intake.messages()[0].perception.conversation.channel
        reply = await channel.deliver(post(dm, "Hi.", reply_to=ts))
        pressed = await control.do(
            "click", person="Ada", channel="dm", ts=reply, action_id="soul_feedback", value="bad"
        )
        assert pressed["delivered"]
        await intake.until(3)
        gone = await control.say("Ada", "dm", "never mind")
        await intake.until(4)
        await control.do("delete", person="Ada", channel="dm", ts=gone)
        await intake.until(5)
    edit, feedback, deletion = intake.arrivals[1], intake.arrivals[2], intake.arrivals[4]
    assert isinstance(edit, Edit)
    assert (edit.ts, edit.text) == (ts, "hello")
    assert isinstance(feedback, Feedback)
    assert (feedback.ts, feedback.author, feedback.value) == (reply, "U0ADA", "bad")
    assert isinstance(deletion, Deletion)
    assert deletion.ts == gone


async def test_events_that_are_not_for_the_soul_are_acknowledged_too(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "general", "lunch?")
        await control.do("react", person="Ben", channel="general", ts=ts, name="eyes")
        await control.do("command", person="Ada", channel="general", command="/unknown", text="x")
        await control.say("Ada", "dm", "done")
        await intake.until(1)
        deliveries = (await control.see("deliveries"))["deliveries"]
        async with asyncio.timeout(TIMEOUT):
            while any(one["acked_at"] is None for one in deliveries):
                deliveries = (await control.see("deliveries"))["deliveries"]
    assert [message.perception.content for message in intake.messages()] == ["done"]
    assert len(deliveries) >= 3


async def test_our_own_posts_never_arrive_as_messages(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "dm", "first")
        await intake.until(1)
        dm = intake.messages()[0].perception.conversation.channel
        await channel.deliver(post(dm, "An answer.", reply_to=ts))
        await control.say("Ada", "dm", "second", thread=ts)
        await intake.until(2)
    assert [message.perception.content for message in intake.messages()] == ["first", "second"]
    assert (
        dataclasses.replace(intake.messages()[1].perception.conversation, thread="")
        == intake.messages()[0].perception.conversation
    )
    assert intake.messages()[1].thread_root == ts
