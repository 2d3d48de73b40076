"""The wire: what people do in the workspace arrives once, and is acknowledged only when it is stored."""

import asyncio
import dataclasses

from daemon.channels.slack.channel import SlackChannel
from daemon.core.perception import AudienceKind, Place
from daemon.core.ports import Channel, Deletion, Edit, Feedback
from tests.fakes import TIMEOUT, Events, FakeIntake
from tests.given import post
from tests.slack.parts import WorkspaceControl, listening


async def test_it_is_a_channel_as_the_port_wants_one(channel: SlackChannel) -> None:
    port: Channel = channel
    assert port.name == "slack"
    assert not port.healthy()


async def test_a_direct_message_arrives_once_and_is_addressed(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "dm", "Good morning & welcome")
        (said,) = (await intake.until(1))[:1]
        assert channel.healthy()
    assert intake.messages() == [said]
    assert (intake.messages()[0].perception.content, intake.messages()[0].perception.ts) == (
        "Good morning & welcome",
        ts,
    )
    assert intake.messages()[0].addressed
    assert intake.messages()[0].perception.place is Place.DM
    assert intake.messages()[0].perception.conversation.thread == ""
    assert not channel.healthy()


async def test_a_mention_makes_two_events_but_one_utterance(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "general", "@soul what is up?")
        await events.until("slack.heard", 2)
    (said,) = intake.messages()
    assert (said.perception.content, said.perception.conversation.thread, said.perception.audience.kind) == (
        "what is up?",
        ts,
        AudienceKind.WORKSPACE,
    )
    assert said.addressed
    assert not said.to_others


async def test_a_failing_store_keeps_the_acknowledgement_back_and_slack_delivers_again(
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
    assert [said.perception.content for said in intake.messages()] == ["important"]


async def test_what_slack_repeats_no_more_is_read_from_history_once_the_store_works(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    async with listening(channel, intake):
        await events.until("slack.caught_up")
        intake.broken = 1
        await control.say("Ada", "dm", "important")
        await events.until("slack.caught_up", 2)  # though no socket was lost, and Slack has not delivered it again
        (failed,) = events.named("slack.store_failed")
        assert failed["reason"] == "another program holds the database"
        assert [said.perception.content for said in intake.messages()] == ["important"]
        await control.do("clock", advance=400.0)
        await events.until("slack.duplicate")
    assert [said.perception.content for said in intake.messages()] == ["important"]


async def test_edits_deletions_and_feedback_arrive_as_what_they_are(
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
    revision, feedback, withdrawal = intake.arrivals[1], intake.arrivals[2], intake.arrivals[4]
    assert isinstance(revision, Edit)
    assert (revision.ts, revision.text) == (ts, "hello")
    assert isinstance(feedback, Feedback)
    assert (feedback.ts, feedback.author, feedback.value) == (reply, "U0ADA", "bad")
    assert isinstance(withdrawal, Deletion)
    assert withdrawal.ts == gone


async def test_events_that_are_not_for_us_are_acknowledged_all_the_same(
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
    assert [said.perception.content for said in intake.messages()] == ["done"]
    assert len(deliveries) >= 3


async def test_our_own_words_never_come_back_to_us(
    channel: SlackChannel, intake: FakeIntake, control: WorkspaceControl
) -> None:
    async with listening(channel, intake):
        ts = await control.say("Ada", "dm", "first")
        await intake.until(1)
        dm = intake.messages()[0].perception.conversation.channel
        await channel.deliver(post(dm, "An answer.", reply_to=ts))
        await control.say("Ada", "dm", "second", thread=ts)
        await intake.until(2)
    assert [said.perception.content for said in intake.messages()] == ["first", "second"]
    assert (
        dataclasses.replace(intake.messages()[1].perception.conversation, thread="")
        == intake.messages()[0].perception.conversation
    )
    assert intake.messages()[1].thread_root == ts
