"""Approval requests: their buttons, the decisions that arrive, and the revision that states the outcome."""

import pytest

from daemon.channels.slack.arrivals import read
from daemon.channels.slack.channel import SlackChannel
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.splitting import plain
from daemon.core.errors import ChannelRefused, DeliveryUncertain
from daemon.core.ports.arrivals import Decision
from daemon.core.sentences import Sentence
from tests.fakes import Events
from tests.given import post
from tests.slack.parts import NO, OURS, TS, YES, Control, draft, press


async def test_an_approval_request_has_two_buttons_instead_of_feedback(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "dm", "hi")
    await channel.deliver(post("D0ADA", "May I **archive** it?", reply_to=root, approval="a-1"))
    (message,) = await control.replies("D0ADA", root)
    words, actions = message["blocks"]
    assert words == {"type": "markdown", "text": "May I **archive** it?"}
    assert actions["type"] == "actions"
    assert [(one["action_id"], one["value"], one["style"]) for one in actions["elements"]] == [
        (YES, "approve:a-1", "primary"),
        (NO, "refuse:a-1", "danger"),
    ]
    assert [one["accessibility_label"] for one in actions["elements"]] == [
        "Approve: allow this once",
        "Refuse: do nothing",
    ]
    streamed = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, streamed, "May I? " * 20)
    await channel.deliver(post("D0ADA", "May I? " * 20, reply_to=streamed, draft=ts, approval="a-1"))
    (message,) = await control.replies("D0ADA", streamed)
    assert message["blocks"][0]["elements"][0]["value"] == "approve:a-1"


async def test_a_request_keeps_its_buttons_without_the_blocks(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "dm", "hi")
    await control.fail("chat.postMessage", body={"ok": False, "error": "invalid_blocks"})
    await channel.deliver(post("D0ADA", "May I? " * 1_000, reply_to=root, approval="a-1"))
    (message,) = await control.replies("D0ADA", root)
    assert [block["type"] for block in message["blocks"]] == ["section", "section", "section", "actions"]
    assert plain(post("D0ADA", "Done.", approval="a-1", revises=TS)) == ({"text": "Done.", "blocks": []},)


def test_foreign_buttons_and_presses_from_other_workspaces_are_no_decisions() -> None:
    for payload in (
        press(YES, "refuse:a-1"),  # the id says approve, the value refuse
        press(NO, "approve:a-1"),
        press(YES, "approve:"),
        press(YES, "approve:a/../1"),
        press(YES, "approve:" + "a" * 65),
        press(YES, "maybe:a-1"),
        press("soul_feedback", "approve:a-1"),
        press(YES, "good"),
        press(user={"id": "U1", "team_id": "T9"}),
        press(user={"id": ""}),
        press(container={"message_ts": "now"}),
        press(channel={"id": "C/1"}),
        press(actions="none"),
    ):
        assert read(EventReader("minoan", OURS), payload) is None, payload
    assert read(EventReader("minoan", OURS, members=frozenset({"U2"})), press()) == Sentence("press_void")
    found = read(EventReader("minoan", OURS, members=frozenset({"U1"})), press())
    where = ("action:C1:" + TS + ":U1:9.1", "minoan", "T1", "C1", TS, "U1")
    assert found == Decision(*where, "a-1", approves=True, answer="approve")


async def test_a_revision_replaces_text_and_buttons_and_may_repeat(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await channel.deliver(post("D0ADA", "May I?", reply_to=root, approval="a-1", key="asks"))
    decided = post("D0ADA", "Ada allowed it. <!channel>", reply_to=root, key="tells", revises=ts, last=False)
    for _ in range(2):
        assert await channel.deliver(decided) == ts
        assert await channel.find(decided) is None
    (message,) = await control.replies("D0ADA", root)
    assert [block["type"] for block in message["blocks"]] == ["markdown"]
    assert message["blocks"][0]["text"].startswith("Ada allowed it. ")
    assert "<!channel>" not in message["blocks"][0]["text"]
    assert message["metadata"]["event_payload"]["key"] == "asks"
    await control.fail("chat.update", body={"ok": False, "error": "invalid_blocks"})
    await channel.deliver(post("D0ADA", "Allowed.", reply_to=root, revises=ts))
    (message,) = await control.replies("D0ADA", root)
    assert (message["text"], message.get("blocks")) == ("Allowed.", None), "no buttons even if Slack refuses the blocks"


async def test_a_revision_of_a_deleted_message_is_none(channel: SlackChannel, control: Control, events: Events) -> None:
    for code in ("message_not_found", "cant_update_message", "edit_window_closed"):
        await control.fail("chat.update", body={"ok": False, "error": code})
        assert await channel.deliver(post("D0ADA", "Refused.", revises=TS)) == TS, code
        assert await control.calls("chat.postMessage") == [], code
        assert events.named("slack.revision_gone")[-1]["reason"] == code, code
    await control.fail("chat.update", body={"ok": False, "error": "is_inactive"})
    with pytest.raises(ChannelRefused):
        await channel.deliver(post("D0ADA", "Refused.", revises=TS))
    await control.fail("chat.update", mode="reset_before")
    with pytest.raises(DeliveryUncertain):
        await channel.deliver(post("D0ADA", "Refused.", revises=TS))
