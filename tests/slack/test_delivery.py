"""One post becomes one message: new messages, finished drafts, refused blocks, lost responses, and finding posts."""

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.errors import AccessLost, ChannelRefused, DeliveryUncertain, HistoryClosed, NotDelivered
from daemon.core.ports.library import FoundPost
from tests.given import post
from tests.slack.conftest import Wire
from tests.slack.parts import Control, draft, drafted, listening, spoken


async def test_a_post_has_its_key_and_its_last_part_buttons(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "dm", "hi")
    await channel.deliver(post("D0ADA", "one", reply_to=root, last=False))
    ts = await channel.deliver(post("D0ADA", "See **this**: https://example.org", reply_to=root, key="key-7"))
    first, message = await control.replies("D0ADA", root)
    assert message["ts"] == ts
    assert message["metadata"] == {"event_type": "soul_reply", "event_payload": {"key": "key-7", "part": 0}}
    assert [block["type"] for block in message["blocks"]] == ["markdown", "context_actions"]
    assert [block["type"] for block in first["blocks"]] == ["markdown"]
    for call in await control.calls("chat.postMessage"):
        assert (call["args"]["unfurl_links"], call["args"]["unfurl_media"]) == (False, False)


async def test_a_refusal_raises_slacks_error_code(channel: SlackChannel, control: Control) -> None:
    with pytest.raises(ChannelRefused) as refused:
        await channel.deliver(post("C0NOWHERE", "x"))
    assert refused.value.code == "channel_not_found"
    await control.fail("chat.postMessage", body={"ok": False, "error": "is_archived"})
    with pytest.raises(ChannelRefused, match="archived"):
        await channel.deliver(post("D0ADA", "x"))
    root, ts = await drafted(channel, control, "u" * 100)
    for method in ("chat.stopStream", "chat.update", "chat.postMessage"):
        await control.fail(method, times=3, body={"ok": False, "error": "is_inactive"})
    with pytest.raises(ChannelRefused) as refused:
        await channel.deliver(post("D0ADA", "u" * 100 + "?", reply_to=root, draft=ts))
    assert refused.value.code == "is_inactive"


async def test_a_post_without_a_working_token_waits_for_the_admin(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "dm", "hi")
    for ts in (None, await draft(channel, root, "u" * 100)):
        for code in ("token_revoked", "invalid_auth", "missing_scope", "account_inactive"):
            await control.do("clear_faults")
            for method in ("chat.postMessage", "chat.stopStream", "chat.update"):
                await control.fail(method, body={"ok": False, "error": code}, times=3)
            with pytest.raises(AccessLost, match=code) as lost:
                await channel.deliver(post("D0ADA", "u" * 100 + "!", reply_to=root, draft=ts))
            assert (lost.value.retry_after, bool(lost.value.hint)) == (60.0, True), code


async def test_a_history_that_is_refused_for_good_is_told_from_one_that_is_away(on: Wire) -> None:
    with pytest.raises(DeliveryUncertain):
        await on.channel.find(post("D0ADA", "our ids are unknown"))
    for_good = dict.fromkeys(("missing_scope", "not_in_channel", "channel_not_found"), True)
    for_good |= dict.fromkeys(("token_revoked", "ratelimited", "internal_error"), False)
    closed = dict[str, bool]()
    async with listening(on.channel, on.intake):
        for code in for_good:
            await on.control.do("clear_faults")
            await on.control.fail("conversations.history", body={"ok": False, "error": code}, times=9)
            await on.control.fail("conversations.replies", body={"ok": False, "error": code}, times=9)
            with pytest.raises(DeliveryUncertain) as doubt:
                await on.channel.find(post("D0ADA", "x"))
            closed[code] = isinstance(doubt.value, HistoryClosed)
    assert closed == for_good


async def test_after_a_429_posts_to_the_channel_fail_without_a_call(channel: SlackChannel, control: Control) -> None:
    await control.fail("chat.postMessage", status=429, headers={"Retry-After": "30"})
    for _ in range(2):
        with pytest.raises(NotDelivered) as held:
            await channel.deliver(post("D0ADA", "x"))
        assert 29 < held.value.retry_after <= 30
    assert len(await control.calls("chat.postMessage")) == 1
    await channel.deliver(post("C0GENERAL", "another channel is free"))


async def test_a_lost_response_is_uncertain_and_the_post_is_found_by_its_key(on: Wire) -> None:
    asked = await on.control.say("Ada", "general", "hi")
    shown = post("C0GENERAL", "In the timeline.", newer_than_ts=asked)
    at = await on.channel.deliver(shown)
    async with listening(on.channel, on.intake):
        for fault in ({"mode": "accept_then_drop"}, {"mode": "accept_then_answer", "status": 502}):
            root = await on.control.say("Ada", "dm", "hi")
            await on.control.fail("chat.postMessage", **fault)
            lost = post("D0ADA", "Once.", reply_to=root)
            with pytest.raises(DeliveryUncertain):
                await on.channel.deliver(lost)
            (message,) = await on.control.replies("D0ADA", root)
            assert await on.channel.find(lost) == FoundPost(message["ts"], finished=True), fault
            assert await on.channel.find(post("D0ADA", "Never.", reply_to=root, key="k2")) is None, fault
        assert await on.channel.find(shown) == FoundPost(at, finished=True)


async def test_too_much_history_or_a_response_without_ts_is_uncertain(channel: SlackChannel, control: Control) -> None:
    await channel.identify()
    more = {"ok": True, "messages": [], "response_metadata": {"next_cursor": "more"}}
    await control.fail("conversations.history", times=10, body=more)
    with pytest.raises(DeliveryUncertain, match="too much"):
        await channel.find(post("D0ADA", "x"))
    await control.fail("chat.postMessage", body={"ok": True})
    with pytest.raises(DeliveryUncertain, match="names no message"):
        await channel.deliver(post("D0ADA", "x"))


async def test_finishing_a_draft_appends_only_the_rest(channel: SlackChannel, control: Control) -> None:
    root = await control.say("Ada", "dm", "hi")
    beginning = "The answer begins like this, and it is long enough to open a stream at once, is it not. "
    ts = await draft(channel, root, beginning)
    assert await channel.deliver(post("D0ADA", beginning + "And ends.", reply_to=root, draft=ts)) == ts
    (stop,) = await control.calls("chat.stopStream")
    assert spoken(stop) == "And ends."
    (message,) = await control.replies("D0ADA", root)
    assert message["metadata"]["event_payload"]["key"] == "k1"
    assert await control.calls("chat.update") == []


async def test_a_draft_with_another_text_or_that_expired_is_replaced(channel: SlackChannel, control: Control) -> None:
    for text, waits in (("On second thought: no.", 0.0), ("x" * 100 + " done", 900.0)):
        root, ts = await drafted(channel, control, "x" * 100)
        await control.do("clock", advance=waits)
        await channel.deliver(post("D0ADA", text, reply_to=root, draft=ts))
        (message,) = await control.replies("D0ADA", root)
        assert (message["ts"], message["blocks"][0]["text"]) == (ts, text)
        assert message["metadata"]["event_payload"]["key"] == "k1", text


async def test_a_draft_from_before_a_restart_is_found_and_replaced(on: Wire) -> None:
    root, ts = await drafted(on.channel, on.control, "z" * 100)
    restarted = on.open()
    lost = post("D0ADA", "z" * 100 + " whole", reply_to=root, draft_lost=True)
    async with listening(restarted, on.intake):
        assert await restarted.find(post("D0ADA", "x", reply_to=root)) is None
        assert await restarted.find(lost) == FoundPost(ts, finished=False)
        assert await restarted.find(post("D0ADA", "x", reply_to=root, draft=ts)) == FoundPost(ts, finished=False)
        again = post("D0ADA", "z" * 100 + " whole", reply_to=root, draft=ts)
        await restarted.deliver(again)
        await restarted.deliver(again)
        assert await restarted.find(lost) == FoundPost(ts, finished=True)
    (message,) = await on.control.replies("D0ADA", root)
    assert message["blocks"][0]["text"] == "z" * 100 + " whole"


async def test_a_draft_that_can_not_become_the_reply_is_deleted(channel: SlackChannel, control: Control) -> None:
    for deleted in (True, False):
        root, ts = await drafted(channel, control, "w" * 100)
        if deleted:
            standing = control.server.workspace.state.message("D0ADA", ts)
            assert standing is not None
            control.server.workspace.withdraw(standing)
        else:
            await control.fail("chat.stopStream", times=3, body={"ok": False, "error": "invalid_blocks"})
            await control.fail("chat.update", times=3, body={"ok": False, "error": "a_code_of_tomorrow"})
        anew = await channel.deliver(post("D0ADA", "w" * 100 + "!", reply_to=root, draft=ts))
        (message,) = await control.replies("D0ADA", root)
        assert anew == message["ts"] != ts, deleted
        assert message["blocks"][0]["text"] == "w" * 100 + "!", deleted


async def test_a_lost_response_to_the_finish_leaves_one_complete_message(on: Wire) -> None:
    root, ts = await drafted(on.channel, on.control, "v" * 100)
    whole = post("D0ADA", "v" * 100 + " end", reply_to=root, draft=ts)
    await on.control.fail("chat.stopStream", mode="reset_before")
    with pytest.raises(DeliveryUncertain):
        await on.channel.deliver(whole)
    async with listening(on.channel, on.intake):
        assert await on.channel.find(whole) == FoundPost(ts, finished=False)
        await on.channel.deliver(whole)
    (message,) = await on.control.replies("D0ADA", root)
    assert message["blocks"][0]["text"] == "v" * 100 + " end"
    assert await on.channel.deliver(post("D0ADA", "more", reply_to=root, key="k2")) != ts


async def test_mentions_have_no_effect_on_any_path(channel: SlackChannel, control: Control) -> None:
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
    parts = channel.split("<!channel> " + "word " * 5_000, post("D0ADA", "x").conversation)
    assert len(parts) > 1
    assert not [text for text in (*sent, *parts) if "<!" in text or "<@" in text]
