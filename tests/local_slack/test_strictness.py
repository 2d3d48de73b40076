"""What Slack refuses and hides beyond its documents: bytes, budgets, seals, sessions, rooms that take nothing."""

from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from tests.local_slack.stock import StockApp, begun, refusal
from tests.workspace_client import WorkspaceClient

ADA: dict[str, Any] = {"recipient_team_id": "T0LOCAL", "recipient_user_id": "U0ADA"}


async def test_a_session_works_until_its_stream_is_stopped(api: AsyncWebClient, people: WorkspaceClient) -> None:
    async def status() -> list[tuple[str, bool]]:
        return [(one["status"], one["covered"]) for one in (await people.state())["sessions"]]

    stream = await begun(api, people, markdown_text="begun")
    assert await status() == [("processing", False)]
    await api.assistant_threads_setStatus(channel_id="D0ADA", thread_ts=stream["thread"], status="is reading…")
    assert await status() == [("processing", True)]
    await people.advance(321)
    await api.chat_update(channel="D0ADA", ts=stream["ts"], text="whole")
    assert (await status())[0][0] == "processing"
    await api.agents_sessions_setStatus(channel_id="D0ADA", thread_ts=stream["thread"], status="active")
    assert await status() == [("active", False)]
    other = await begun(api, people, markdown_text="begun")
    await api.chat_stopStream(channel="D0ADA", ts=other["ts"])
    assert [one for one, _ in await status()] == ["active", "active"]


async def test_only_the_recipient_sees_a_stream_grow(api: AsyncWebClient, people: WorkspaceClient) -> None:
    stream = await begun(api, people, "general", markdown_text="z" * 200)

    async def seen(person: str) -> int:
        (shown,) = [m for m in await people.messages("general", person=person, thread="*") if m["ts"] == stream["ts"]]
        return len(shown["text"])

    assert [await seen(person) for person in ("Ada", "Ben")] == [200, 80]
    await api.chat_stopStream(channel="C0GENERAL", ts=stream["ts"])
    assert await seen("Ben") == 200


async def test_a_mention_names_no_files_and_a_channel_has_no_label(people: WorkspaceClient, stock: StockApp) -> None:
    await people.say("Ada", "general", "@soul see #general", files=[{"name": "plan.txt", "text": "x"}])
    message, mention = await stock.received(lambda event: "see" in str(event.get("text")), 2)
    if message["type"] == "app_mention":
        message, mention = mention, message
    assert ("files" in message, "files" in mention) == (True, False)
    assert "<#C0GENERAL|>" in message["text"]


async def test_a_room_in_a_state_refuses_posts_and_streams(api: AsyncWebClient, people: WorkspaceClient) -> None:
    root = await people.say("Ada", "general", "hello")
    place: dict[str, Any] = {"channel": "C0GENERAL", "thread_ts": root["ts"]}
    for order, in_thread, outside in (
        ({"archived": True}, "is_archived", "is_archived"),
        ({"posting": "restricted_action"}, "restricted_action", "restricted_action"),
        (
            {"posting": "restricted_action_read_only_channel"},
            "restricted_action_read_only_channel",
            "restricted_action_read_only_channel",
        ),
        ({"posting": "restricted_action_thread_only_channel"}, "accepted", "restricted_action_thread_only_channel"),
        (
            {"posting": "restricted_action_non_threadable_channel"},
            "restricted_action_non_threadable_channel",
            "accepted",
        ),
        ({"posting": "channel_type_not_supported"}, "accepted", "accepted"),
        ({"lock": root["ts"]}, "restricted_action_thread_locked", "accepted"),
    ):
        await people.fault(room="general", **order)
        assert await refusal(api.chat_postMessage(text="x", **place)) == in_thread, order
        assert await refusal(api.chat_postMessage(text="x", channel="C0GENERAL")) == outside, order
        streams = "channel_type_not_supported" if order.get("posting") == "channel_type_not_supported" else in_thread
        assert await refusal(api.chat_startStream(markdown_text="x", **place, **ADA)) == streams, order
        await people.clear_faults()
        assert await refusal(api.chat_postMessage(text="x", **place)) == "accepted", order
    own = await api.chat_postMessage(channel="C0GENERAL", text="one")
    stream = await begun(api, people, "general", markdown_text="begun")
    await people.fault(room="general", archived=True)
    assert await refusal(api.chat_update(channel="C0GENERAL", ts=own["ts"], text="two")) == "is_archived"
    assert await refusal(api.chat_stopStream(channel="C0GENERAL", ts=stream["ts"])) == "is_archived"
    for order in ({"room": "nowhere", "archived": True}, {"room": "general", "posting": "sometimes"}):
        with pytest.raises(Exception, match="refused"):
            await people.fault(**order)
