"""One post becomes one message: new messages, finished drafts, refused blocks, lost responses, and finding posts."""

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.errors import AccessLost, ChannelRefused, DeliveryUncertain, HistoryClosed, NotDelivered
from daemon.core.ports.posts import FoundPost
from tests.fakes import FakeIntake
from tests.given import post
from tests.slack.conftest import Open
from tests.slack.parts import WorkspaceControl, draft, listening, spoken


async def test_a_post_has_its_key_and_blocks_and_no_link_previews(
    channel: SlackChannel, control: WorkspaceControl
) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await channel.deliver(post("D0ADA", "See **this**: https://example.org", reply_to=root, key="key-7"))
    (message,) = await control.replies("D0ADA", root)
    assert message["ts"] == ts
    assert message["metadata"] == {"event_type": "soul_reply", "event_payload": {"key": "key-7", "part": 0}}
    assert [block["type"] for block in message["blocks"]] == ["markdown", "context_actions"]
    (call,) = await control.calls("chat.postMessage")
    assert (call["args"]["unfurl_links"], call["args"]["unfurl_media"]) == (False, False)


async def test_only_the_last_part_has_feedback_buttons(channel: SlackChannel, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    await channel.deliver(post("D0ADA", "one", reply_to=root, last=False))
    (message,) = await control.replies("D0ADA", root)
    assert [block["type"] for block in message["blocks"]] == ["markdown"]


async def test_a_post_with_refused_blocks_is_sent_again_without_them(
    channel: SlackChannel, control: WorkspaceControl
) -> None:
    root = await control.say("Ada", "dm", "hi")
    await control.fail("chat.postMessage", body={"ok": False, "error": "invalid_blocks"})
    await channel.deliver(post("D0ADA", "# Title\nwords", reply_to=root))
    (message,) = await control.replies("D0ADA", root)
    assert "words" in message["text"]
    assert not message.get("blocks")


async def test_a_refusal_raises_slacks_error_code(channel: SlackChannel) -> None:
    with pytest.raises(ChannelRefused) as refused:
        await channel.deliver(post("C0NOWHERE", "x"))
    assert refused.value.code == "channel_not_found"


@pytest.mark.parametrize("code", ["token_revoked", "invalid_auth", "missing_scope", "account_inactive"])
@pytest.mark.parametrize("way", ["post", "draft"])
async def test_a_post_without_a_working_token_waits_for_the_admin(
    channel: SlackChannel, control: WorkspaceControl, code: str, way: str
) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "u" * 100) if way == "draft" else None
    for method in ("chat.postMessage", "chat.stopStream", "chat.update"):
        await control.fail(method, body={"ok": False, "error": code}, times=3)
    with pytest.raises(AccessLost, match=code) as lost:
        await channel.deliver(post("D0ADA", "u" * 100 + "!", reply_to=root, draft=ts))
    assert lost.value.retry_after == 60.0
    assert lost.value.hint


@pytest.mark.parametrize(
    ("code", "for_good"),
    [("missing_scope", True), ("not_in_channel", True), ("channel_not_found", True), ("token_revoked", False),
     ("ratelimited", False), ("internal_error", False)],
)  # fmt: skip
async def test_a_history_that_is_refused_for_good_is_told_from_one_that_is_away(
    channel: SlackChannel, control: WorkspaceControl, code: str, for_good: bool, intake: FakeIntake
) -> None:
    async with listening(channel, intake):
        await control.fail("conversations.history", body={"ok": False, "error": code}, times=9)
        await control.fail("conversations.replies", body={"ok": False, "error": code}, times=9)
        with pytest.raises(DeliveryUncertain) as doubt:
            await channel.find(post("D0ADA", "x"))
    assert isinstance(doubt.value, HistoryClosed) == for_good


async def test_after_a_429_posts_to_the_channel_fail_without_a_call_until_the_pause_ends(
    channel: SlackChannel, control: WorkspaceControl
) -> None:
    await control.fail("chat.postMessage", status=429, headers={"Retry-After": "30"})
    for _ in range(2):
        with pytest.raises(NotDelivered) as held:
            await channel.deliver(post("D0ADA", "x"))
        assert 29 < held.value.retry_after <= 30
    assert len(await control.calls("chat.postMessage")) == 1
    await channel.deliver(post("C0GENERAL", "another channel is free"))


@pytest.mark.parametrize("fault", [{"mode": "accept_then_drop"}, {"mode": "accept_then_answer", "status": 502}])
async def test_a_lost_response_is_uncertain_and_the_post_is_found_by_its_key(
    channel: SlackChannel, control: WorkspaceControl, intake: FakeIntake, fault: dict[str, object]
) -> None:
    root = await control.say("Ada", "dm", "hi")
    await control.fail("chat.postMessage", **fault)
    lost = post("D0ADA", "Once.", reply_to=root)
    with pytest.raises(DeliveryUncertain):
        await channel.deliver(lost)
    async with listening(channel, intake):
        found = await channel.find(lost)
        absent = await channel.find(post("D0ADA", "Never.", reply_to=root, key="k2"))
    (message,) = await control.replies("D0ADA", root)
    assert found == FoundPost(message["ts"], finished=True)
    assert absent is None


async def test_a_post_in_the_timeline_is_found_too(
    channel: SlackChannel, control: WorkspaceControl, intake: FakeIntake
) -> None:
    asked = await control.say("Ada", "general", "hi")
    sent = post("C0GENERAL", "Once.", newer_than_ts=asked)
    ts = await channel.deliver(sent)
    async with listening(channel, intake):
        assert await channel.find(sent) == FoundPost(ts, finished=True)


async def test_finding_a_post_is_uncertain_while_our_ids_are_unknown(channel: SlackChannel) -> None:
    with pytest.raises(DeliveryUncertain):
        await channel.find(post("D0ADA", "x"))


async def test_too_much_history_is_uncertain(channel: SlackChannel, control: WorkspaceControl) -> None:
    await channel.identify()
    more = {"ok": True, "messages": [], "response_metadata": {"next_cursor": "more"}}
    await control.fail("conversations.history", times=10, body=more)
    with pytest.raises(DeliveryUncertain, match="too much"):
        await channel.find(post("D0ADA", "x"))


async def test_a_response_without_a_ts_is_uncertain(channel: SlackChannel, control: WorkspaceControl) -> None:
    await control.fail("chat.postMessage", body={"ok": True})
    with pytest.raises(DeliveryUncertain, match="names no message"):
        await channel.deliver(post("D0ADA", "x"))


async def test_other_refusals_of_a_post_are_raised(channel: SlackChannel, control: WorkspaceControl) -> None:
    await control.fail("chat.postMessage", body={"ok": False, "error": "is_archived"})
    with pytest.raises(ChannelRefused, match="archived"):
        await channel.deliver(post("D0ADA", "x"))


async def test_a_split_reply_is_inert(channel: SlackChannel) -> None:
    parts = channel.split("<!channel> " + "word " * 5_000, post("D0ADA", "x").conversation)
    assert len(parts) > 1
    assert "<!" not in "".join(parts)


async def test_an_unreadable_history_is_uncertain(
    channel: SlackChannel, control: WorkspaceControl, intake: FakeIntake
) -> None:
    async with listening(channel, intake):
        with pytest.raises(DeliveryUncertain):
            await channel.find(post("C0NOWHERE", "x"))


async def test_finishing_a_draft_appends_only_the_rest(channel: SlackChannel, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    beginning = "The answer begins like this, and it is long enough to open a stream at once, is it not. "
    ts = await draft(channel, root, beginning)
    assert await channel.deliver(post("D0ADA", beginning + "And ends.", reply_to=root, draft=ts)) == ts
    (stop,) = await control.calls("chat.stopStream")
    assert spoken(stop) == "And ends."
    (message,) = await control.replies("D0ADA", root)
    assert message["metadata"]["event_payload"]["key"] == "k1"
    assert await control.calls("chat.update") == []


async def test_a_draft_with_another_text_is_replaced(channel: SlackChannel, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "x" * 100)
    await channel.deliver(post("D0ADA", "On second thought: no.", reply_to=root, draft=ts))
    (message,) = await control.replies("D0ADA", root)
    assert message["ts"] == ts
    assert message["blocks"][0]["text"] == "On second thought: no."
    assert message["metadata"]["event_payload"]["key"] == "k1"


async def test_the_text_of_an_expired_stream_is_replaced(channel: SlackChannel, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "y" * 100)
    await control.do("clock", advance=900.0)
    await channel.deliver(post("D0ADA", "y" * 100 + " done", reply_to=root, draft=ts))
    (message,) = await control.replies("D0ADA", root)
    assert (message["ts"], message["blocks"][0]["text"]) == (ts, "y" * 100 + " done")


async def test_a_draft_from_before_a_restart_is_found_and_replaced(
    channel: SlackChannel, open_channel: Open, control: WorkspaceControl, intake: FakeIntake
) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "z" * 100)
    restarted = open_channel()
    lost = post("D0ADA", "z" * 100 + " whole", reply_to=root, draft_lost=True)
    async with listening(restarted, intake):
        assert await restarted.find(post("D0ADA", "x", reply_to=root)) is None
        assert await restarted.find(lost) == FoundPost(ts, finished=False)
        assert await restarted.find(post("D0ADA", "x", reply_to=root, draft=ts)) == FoundPost(ts, finished=False)
        again = post("D0ADA", "z" * 100 + " whole", reply_to=root, draft=ts)
        await restarted.deliver(again)
        await restarted.deliver(again)
        assert await restarted.find(lost) == FoundPost(ts, finished=True)
    (message,) = await control.replies("D0ADA", root)
    assert message["blocks"][0]["text"] == "z" * 100 + " whole"


async def test_a_deleted_draft_is_posted_again(channel: SlackChannel, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "w" * 100)
    standing = control.server.workspace.state.message("D0ADA", ts)
    assert standing is not None
    control.server.workspace.withdraw(standing)
    anew = await channel.deliver(post("D0ADA", "w" * 100 + "!", reply_to=root, draft=ts))
    (message,) = await control.replies("D0ADA", root)
    assert anew == message["ts"] != ts


async def test_a_lost_response_to_the_finish_leaves_one_complete_message(
    channel: SlackChannel, control: WorkspaceControl, intake: FakeIntake
) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "v" * 100)
    whole = post("D0ADA", "v" * 100 + " end", reply_to=root, draft=ts)
    await control.fail("chat.stopStream", mode="reset_before")
    with pytest.raises(DeliveryUncertain):
        await channel.deliver(whole)
    async with listening(channel, intake):
        assert await channel.find(whole) == FoundPost(ts, finished=False)
        await channel.deliver(whole)
    (message,) = await control.replies("D0ADA", root)
    assert message["blocks"][0]["text"] == "v" * 100 + " end"
    assert await channel.deliver(post("D0ADA", "more", reply_to=root, key="k2")) != ts


async def test_a_draft_that_can_not_become_the_reply_is_posted_anew_and_deleted(
    channel: SlackChannel, control: WorkspaceControl
) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "u" * 100)
    await control.fail("chat.stopStream", times=3, body={"ok": False, "error": "invalid_blocks"})
    await control.fail("chat.update", times=3, body={"ok": False, "error": "a_code_of_tomorrow"})
    anew = await channel.deliver(post("D0ADA", "u" * 100 + "?", reply_to=root, draft=ts))
    (message,) = await control.replies("D0ADA", root)
    assert (message["ts"], message["blocks"][0]["text"]) == (anew, "u" * 100 + "?")
    assert anew != ts


async def test_a_refusal_of_the_place_is_raised_for_a_draft_too(
    channel: SlackChannel, control: WorkspaceControl
) -> None:
    root = await control.say("Ada", "dm", "hi")
    ts = await draft(channel, root, "u" * 100)
    for method in ("chat.stopStream", "chat.update", "chat.postMessage"):
        await control.fail(method, times=3, body={"ok": False, "error": "is_inactive"})
    with pytest.raises(ChannelRefused) as refused:
        await channel.deliver(post("D0ADA", "u" * 100 + "?", reply_to=root, draft=ts))
    assert refused.value.code == "is_inactive"


async def test_mentions_have_no_effect_on_any_path(channel: SlackChannel, control: WorkspaceControl) -> None:
    root = await control.say("Ada", "dm", "hi")
    await channel.deliver(post("D0ADA", "<!channel> <@U0BEN> <!here|x>", reply_to=root))
    ts = await draft(channel, root, "<!everyone> " + "t" * 100)
    await channel.deliver(post("D0ADA", "other <!everyone>", reply_to=root, draft=ts))
    begun = "b" * 100
    await channel.deliver(
        post("D0ADA", f"{begun} and <!channel> ends", reply_to=root, draft=await draft(channel, root, begun))
    )
    sent = [
        str(call["args"])
        for method in ("chat.postMessage", "chat.startStream", "chat.stopStream", "chat.update")
        for call in await control.calls(method)
    ]
    assert len(sent) == 6
    assert not [text for text in sent if "<!" in text or "<@" in text]
