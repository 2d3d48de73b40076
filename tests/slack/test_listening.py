"""Each event of the workspace arrives once, and is acknowledged only after it is stored."""

import asyncio
import dataclasses

import pytest

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.channel import SlackChannel
from daemon.core.errors import ChannelRefused
from daemon.core.perception import AudienceKind, Place
from daemon.core.ports.arrivals import Deletion, Edit, Feedback
from daemon.core.ports.channel import Channel
from tests.fakes import TIMEOUT, Events, FakeIntake
from tests.given import post
from tests.slack.conftest import Open
from tests.slack.parts import YES, WorkspaceControl, listening


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
        await control.do("command", person="Ada", channel="general", command="/minoan", text="x")
        await control.say("Ada", "dm", "done")
        await intake.until(2)
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


@pytest.mark.parametrize(
    ("event", "trouble"),
    [
        ({"type": "app_uninstalled"}, "removed from the workspace"),
        ({"type": "tokens_revoked", "tokens": {"oauth": [], "bot": ["U0SOUL"]}}, "token of the app was revoked"),
        ({"type": "tokens_revoked", "tokens": {"oauth": ["U0ADA"], "bot": []}}, ""),
        ({"type": "tokens_revoked", "tokens": 7}, ""),
    ],
)
async def test_the_admin_is_told_when_slack_ends_the_app(
    channel: SlackChannel, control: WorkspaceControl, events: Events, event: dict[str, object], trouble: str
) -> None:
    async with listening(channel, FakeIntake()):
        await control.do("emit", event=event)
        await control.say("Ada", "dm", "after it")
        await events.until("slack.heard")
        assert trouble in channel.trouble()
        assert bool(channel.trouble()) == bool(trouble)
    assert [trouble in str(one["reason"]) for one in events.named("slack.revoked")] == [True] * bool(trouble)
    assert all("SLACK_BOT_TOKEN" in str(one["hint"]) for one in events.named("slack.revoked"))


async def test_a_press_without_effect_is_told_after_the_acknowledgement_where_the_button_is(
    open_channel: Open, intake: FakeIntake, control: WorkspaceControl, events: Events
) -> None:
    channel = open_channel(members=("U0ADA",))
    root = await control.say("Ada", "general", "hi")
    ts = await channel.deliver(post("C0GENERAL", "May I?", reply_to=root, approval="a-1"))
    async with listening(channel, intake):
        await control.fail("*", mode="reset_before")  # no Web API call is made for it
        await control.do("click", person="Ben", channel="general", ts=ts, action_id=YES)

        async def whispers() -> list[dict[str, object]]:
            return await control.calls("(response_url)")

        (whisper,) = await control.until(whispers, 1)
        assert whisper["args"]["thread_ts"] == root
        assert "no effect" in whisper["args"]["text"]
        control.server.workspace.interactions.responses.clear()
        for _ in range(2):
            await control.do("click", person="Ben", channel="general", ts=ts, action_id=YES)
    assert intake.arrivals == []


@pytest.mark.parametrize("url", ["", "x", "http://hooks.slack.com/a", "https://hooks.slack.com.evil.example/a"])
async def test_only_addresses_of_slack_are_answered(client: SlackClient, url: str) -> None:
    with pytest.raises(ChannelRefused):
        await client.respond(url, {"text": "hi"})
