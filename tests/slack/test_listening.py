"""Each event of the workspace arrives once, and is acknowledged only after it is stored."""

import asyncio

import pytest
from msgspec.structs import replace

from daemon.channels.slack.api import SlackClient
from daemon.core.errors import ChannelRefused
from daemon.core.perception import AudienceKind, Place
from daemon.core.ports.arrivals import Deletion, Edit, Feedback
from tests.fakes import TIMEOUT, Events, FakeIntake
from tests.given import post
from tests.slack.conftest import Open, Wire
from tests.slack.parts import YES, Control, caught_up, listening


async def test_a_direct_message_and_a_mention_arrive_once_and_are_addressed(on: Wire) -> None:
    assert not on.channel.healthy()
    async with listening(on.channel, on.intake):
        ts = await on.control.say("Ada", "dm", "Good morning & welcome")
        await on.intake.until(1)
        assert on.channel.healthy()
        mentioned = await on.control.say("Ada", "general", "@soul what is up?")
        await on.events.until("slack.heard", 3)  # a mention is two events
        await on.channel.deliver(post("D0ADA", "An answer.", reply_to=ts))
        await on.control.say("Ada", "dm", "second", thread=ts)
        await on.intake.until(3)
    assert not on.channel.healthy()
    dm, mention, second = on.intake.messages()
    heard = [(one.perception.content, one.perception.place, one.addressed, one.to_others) for one in (dm, mention)]
    assert heard == [
        ("Good morning & welcome", Place.DM, True, False),
        ("what is up?", Place.PUBLIC_CHANNEL, True, False),
    ]
    assert (dm.perception.ts, dm.perception.conversation.thread) == (ts, "")
    assert mention.perception.conversation.thread == mentioned
    assert mention.perception.audience.kind is AudienceKind.WORKSPACE
    assert second.perception.content == "second", "our own posts never arrive"
    assert second.thread_root == ts
    assert replace(second.perception.conversation, thread="") == dm.perception.conversation


async def test_an_event_that_could_not_be_stored_is_not_acknowledged_and_comes_again(on: Wire) -> None:
    async with caught_up(on.channel, on.intake, on.events):
        on.intake.broken = 1
        await on.control.say("Ada", "dm", "important")
        await on.events.until("slack.library")
        (first,) = (await on.control.see("deliveries"))["deliveries"]
        assert first["acked_at"] is None
        await on.events.until("slack.caught_up", 2)  # without a lost socket, and before Slack delivers it again
        (failed,) = on.events.named("slack.store_failed")
        assert failed["reason"] == "another program holds the database"
        assert [message.perception.content for message in on.intake.messages()] == ["important"], "from history"
        await on.control.do("clock", advance=400.0)
        await on.events.until("slack.duplicate")
    assert [message.perception.content for message in on.intake.messages()] == ["important"]


async def test_edits_deletions_and_feedback_arrive(on: Wire) -> None:
    async with caught_up(on.channel, on.intake, on.events):  # which would find the edit too
        ts = await on.control.say("Ada", "dm", "helo")
        await on.intake.until(1)
        await on.control.do("edit", person="Ada", channel="dm", ts=ts, text="hello")
        await on.intake.until(2)
        dm = on.intake.messages()[0].perception.conversation.channel
        reply = await on.channel.deliver(post(dm, "Hi.", reply_to=ts))
        pressed = await on.control.do(
            "click", person="Ada", channel="dm", ts=reply, action_id="soul_feedback", value="bad"
        )
        assert pressed["delivered"]
        await on.intake.until(3)
        gone = await on.control.say("Ada", "dm", "never mind")
        await on.intake.until(4)
        await on.control.do("delete", person="Ada", channel="dm", ts=gone)
        await on.intake.until(5)
    edit, feedback, deletion = on.intake.arrivals[1], on.intake.arrivals[2], on.intake.arrivals[4]
    assert isinstance(edit, Edit)
    assert (edit.ts, edit.text) == (ts, "hello")
    assert isinstance(feedback, Feedback)
    assert (feedback.ts, feedback.author, feedback.value) == (reply, "U0ADA", "bad")
    assert isinstance(deletion, Deletion)
    assert deletion.ts == gone


async def test_events_that_are_not_for_the_soul_are_acknowledged_too(on: Wire) -> None:
    async with listening(on.channel, on.intake):
        ts = await on.control.say("Ada", "general", "lunch?")
        await on.control.do("react", person="Ben", channel="general", ts=ts, name="eyes")
        await on.control.do("command", person="Ada", channel="general", command="/minoan", text="x")
        await on.control.say("Ada", "dm", "done")
        await on.intake.until(2)
        deliveries = (await on.control.see("deliveries"))["deliveries"]
        async with asyncio.timeout(TIMEOUT):
            while any(one["acked_at"] is None for one in deliveries):
                deliveries = (await on.control.see("deliveries"))["deliveries"]
    assert [message.perception.content for message in on.intake.messages()] == ["done"]
    assert len(deliveries) >= 3


async def test_the_admin_is_told_when_slack_ends_the_app(open_channel: Open, control: Control, events: Events) -> None:
    reasons = []
    for number, (event, trouble) in enumerate(
        (
            ({"type": "app_uninstalled"}, "removed from the workspace"),
            ({"type": "tokens_revoked", "tokens": {"oauth": [], "bot": ["U0SOUL"]}}, "token of the app was revoked"),
            ({"type": "tokens_revoked", "tokens": {"oauth": ["U0ADA"], "bot": []}}, ""),
            ({"type": "tokens_revoked", "tokens": 7}, ""),
        ),
        1,
    ):
        channel = open_channel()
        async with listening(channel, FakeIntake()):
            await control.do("emit", event=event)
            await control.say("Ada", "dm", "after it")
            await events.until("slack.heard", number)
            assert (trouble in channel.trouble(), bool(channel.trouble())) == (True, bool(trouble)), event
        reasons += [trouble] * bool(trouble)
    revoked = events.named("slack.revoked")
    assert [trouble in str(one["reason"]) for one, trouble in zip(revoked, reasons, strict=True)] == [True, True]
    assert all("SLACK_BOT_TOKEN" in str(one["hint"]) for one in revoked)


async def test_a_press_without_effect_is_told_after_the_acknowledgement_where_the_button_is(on: Wire) -> None:
    channel = on.open(members=("U0ADA",))
    root = await on.control.say("Ada", "general", "hi")
    ts = await channel.deliver(post("C0GENERAL", "May I?", reply_to=root, approval="a-1"))
    async with listening(channel, on.intake):
        await on.control.fail("*", mode="reset_before")  # no Web API call is made for it
        await on.control.do("click", person="Ben", channel="general", ts=ts, action_id=YES)
        (whisper,) = await on.control.until(lambda: on.control.calls("(response_url)"), 1)
        assert whisper["args"]["thread_ts"] == root
        assert "no effect" in whisper["args"]["text"]
        on.control.server.workspace.interactions.responses.clear()
        for _ in range(2):
            await on.control.do("click", person="Ben", channel="general", ts=ts, action_id=YES)
    assert on.intake.arrivals == []


async def test_only_addresses_of_slack_are_answered(client: SlackClient) -> None:
    for url in ("", "x", "http://hooks.slack.com/a", "https://hooks.slack.com.evil.example/a"):
        with pytest.raises(ChannelRefused):
            await client.respond(url, {"text": url})
