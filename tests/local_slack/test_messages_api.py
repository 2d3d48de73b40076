"""The Web API with real slack_sdk clients: post, edit, stream, size limits, and reading back."""

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.server import WorkspaceServer
from tests.local_slack.stock import Json, refusal
from tests.workspace_client import WorkspaceClient

META = {"event_type": "reply", "event_payload": {"key": "k1"}}


async def test_tokens_are_checked_and_auth_test_names_the_scopes(server: WorkspaceServer, api: AsyncWebClient) -> None:
    async def with_token(token: str) -> str:
        return await refusal(AsyncWebClient(token=token, base_url=server.api_url).auth_test())

    answer = await api.auth_test()
    assert (answer["team_id"], answer["user_id"], answer["bot_id"]) == ("T0LOCAL", "U0SOUL", "B0SOUL")
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")
    assert await with_token("xoxb-wrong") == "invalid_auth"
    assert await with_token(server.app_token) == "not_allowed_token_type"
    async with aiohttp.ClientSession() as http:
        async with http.post(f"{server.api_url}auth.test") as response:
            assert (await response.json())["error"] == "not_authed"
        async with http.post(f"{server.api_url}auth.test", data={"token": server.bot_token}) as response:
            assert (await response.json())["ok"]
        who = {"token": server.bot_token, "user": "U0ADA"}
        async with http.get(f"{server.api_url}users.info", params=who) as response:
            assert (await response.json())["user"]["profile"]["display_name"] == "Ada"
    server.workspace.scopes = frozenset({"users:read", "im:history"})
    assert await refusal(api.chat_postMessage(channel="D0ADA", text="x")) == "missing_scope"
    assert await refusal(api.conversations_history(channel="C0GENERAL")) == "missing_scope"
    assert await refusal(api.conversations_history(channel="D0ADA")) == "accepted"


async def test_arguments_may_come_as_a_form(server: WorkspaceServer, api: AsyncWebClient) -> None:
    blocks = '[{"type": "section", "text": {"type": "mrkdwn", "text": "formed"}}]'
    answer = await api.api_call("chat.postMessage", data={"channel": "#general", "text": "form", "blocks": blocks})
    assert answer["message"]["blocks"][0]["text"]["text"] == "formed"
    headers = {"Authorization": f"Bearer {server.bot_token}", "Content-Type": "application/json"}
    async with aiohttp.ClientSession(headers=headers) as http:
        for body, error in (("{", "invalid_json"), ("[]", "json_not_object")):
            async with http.post(f"{server.api_url}chat.postMessage", data=body) as response:
                assert (response.status, (await response.json())["error"]) == (200, error)
        async with http.post(f"{server.api_url}chat.invent", data="{}") as response:
            assert (await response.json())["error"] == "unknown_method"


def _block(kind: str, of: str, length: int) -> Json:
    return {"type": kind, "text": {"type": of, "text": "x" * length}}


async def test_a_post_is_refused_by_name(api: AsyncWebClient, people: WorkspaceClient) -> None:
    for arguments, error in (
        ({"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
        ({"channel": "C0RANDOM", "text": "x"}, "not_in_channel"),
        ({"channel": "D0ADA"}, "no_text"),
        ({"channel": "D0ADA", "text": "x", "thread_ts": ""}, "invalid_thread_ts"),
        ({"channel": "D0ADA", "text": "x", "thread_ts": "1.5"}, "invalid_thread_ts"),
        ({"channel": "D0ADA", "text": "x", "thread_ts": "1700000000.000001"}, "thread_not_found"),
        ({"channel": "D0ADA", "markdown_text": "x" * 12_001}, "msg_too_long"),
        ({"channel": "D0ADA", "markdown_text": "x", "text": "y"}, "markdown_text_conflict"),
        ({"channel": "D0ADA", "text": "x", "blocks": [{"type": "divider"}] * 51}, "invalid_blocks"),
        ({"channel": "D0ADA", "text": "x", "blocks": [{"text": "typeless"}]}, "invalid_blocks"),
        ({"channel": "D0ADA", "text": "x", "blocks": "{"}, "invalid_blocks"),
        ({"channel": "D0ADA", "text": "x", "blocks": [{"type": "section"}]}, "invalid_blocks"),
        ({"channel": "D0ADA", "blocks": [{"type": "divider", "block_id": "b" * 256}]}, "invalid_blocks"),
        ({"channel": "D0ADA", "blocks": [{"type": "markdown"}]}, "invalid_blocks"),
        ({"channel": "D0ADA", "blocks": [{"type": "actions", "elements": []}]}, "invalid_blocks"),
        ({"channel": "D0ADA", "blocks": [_block("section", "mrkdwn", 3_001)]}, "invalid_blocks"),
        ({"channel": "D0ADA", "blocks": [_block("header", "plain_text", 151)]}, "invalid_blocks"),
        ({"channel": "D0ADA", "blocks": [{"type": "markdown", "text": "x" * 6001}] * 2}, "msg_blocks_too_long"),
        ({"channel": "D0ADA", "blocks": [_block("section", "mrkdwn", 2_700)] * 5}, "msg_blocks_too_long"),
        ({"channel": "D0ADA", "text": "x", "metadata": {"event_type": "a"}}, "invalid_metadata_format"),
        ({"channel": "D0ADA", "text": "x", "metadata": "[]"}, "invalid_metadata_format"),
        (
            {"channel": "D0ADA", "text": "x", "metadata": {"event_type": "a", "event_payload": {"b": "x" * 17_000}}},
            "metadata_too_large",
        ),
    ):
        assert await refusal(api.api_call("chat.postMessage", json=arguments)) == error, arguments
        assert await people.messages("D0ADA") == [], arguments


async def test_posts_are_stored_as_slack_stores_them(api: AsyncWebClient, people: WorkspaceClient) -> None:
    root = await api.chat_postMessage(channel="U0ADA", text="x" * 41_000)
    assert (root["channel"], len(root["message"]["text"])) == ("D0ADA", 40_000)
    reply = await api.chat_postMessage(channel="D0ADA", markdown_text="**hi**", thread_ts=root["ts"], metadata=META)
    also = await api.chat_postMessage(channel="D0ADA", text="loud", thread_ts=reply["ts"], reply_broadcast=True)
    assert also["message"]["thread_ts"] == root["ts"]
    timeline = await people.messages("dm", person="Ada")
    assert [message.get("subtype") for message in timeline] == [None, "thread_broadcast"]
    assert timeline[0]["reply_count"] == 2
    thread = await people.messages("dm", person="Ada", thread=str(root["ts"]))
    assert [message["text"][:6] for message in thread] == ["xxxxxx", "**hi**", "loud"]


async def test_update_and_delete_touch_only_own_messages(api: AsyncWebClient, people: WorkspaceClient) -> None:
    theirs = await people.say("Ada", "dm", "mine, says Ada")
    assert await refusal(api.chat_update(channel="D0ADA", ts=theirs["ts"], text="x")) == "cant_update_message"
    assert await refusal(api.chat_delete(channel="D0ADA", ts=theirs["ts"])) == "cant_delete_message"
    assert await refusal(api.chat_update(channel="D0ADA", ts="1700000000.000001", text="x")) == "message_not_found"
    own = await api.chat_postMessage(channel="D0ADA", text="one", blocks=[{"type": "divider"}], metadata=META)
    assert await refusal(api.api_call("chat.update", json={"channel": "D0ADA", "ts": own["ts"]})) == "no_text"
    changed = await api.chat_update(channel="D0ADA", ts=own["ts"], text="two", attachments=[{"fallback": "a"}])
    assert changed["message"]["metadata"] == META
    assert changed["message"]["blocks"] == [{"type": "divider"}]
    cleared = await api.chat_update(
        channel="D0ADA", ts=own["ts"], text="three", blocks=[], metadata={"event_type": "e", "event_payload": {}}
    )
    assert "blocks" not in cleared["message"]
    await api.chat_delete(channel="D0ADA", ts=own["ts"])
    assert [m["text"] for m in await people.messages("D0ADA")] == ["mine, says Ada"]


async def test_the_status_line_disappears_with_time_or_a_post(api: AsyncWebClient, people: WorkspaceClient) -> None:
    root = await people.say("Ada", "dm", "hello")

    async def show(text: str = "is thinking…") -> None:
        await api.assistant_threads_setStatus(
            channel_id="D0ADA", thread_ts=root["ts"], status=text, loading_messages=["a"]
        )

    await show()
    assert await people.status_of("D0ADA", root["ts"]) == "is thinking…"
    await people.advance(100)
    await show()
    await people.advance(100)
    assert await people.status_of("D0ADA", root["ts"]) == "is thinking…"
    await people.advance(21)
    assert await people.status_of("D0ADA", root["ts"]) == ""
    await show()
    await api.chat_postMessage(channel="D0ADA", text="done", thread_ts=root["ts"])
    assert await people.status_of("D0ADA", root["ts"]) == ""
    await show()
    await show("")
    assert await people.status_of("D0ADA", root["ts"]) == ""
    many = api.assistant_threads_setStatus(
        channel_id="D0ADA", thread_ts=root["ts"], status="x", loading_messages=["a"] * 11
    )
    assert await refusal(many) == "invalid_arguments"
    bad = api.assistant_threads_setStatus(channel_id="D0ADA", thread_ts="now", status="x")
    assert await refusal(bad) == "invalid_thread_ts"


async def test_sessions_and_titles(api: AsyncWebClient, server: WorkspaceServer) -> None:
    place = {"channel_id": "D0ADA", "thread_ts": "1700000000.000001"}
    assert await refusal(api.agents_sessions_rename(title="t", **place)) == "session_not_found"
    assert await refusal(api.agents_sessions_setStatus(status="dancing", **place)) == "invalid_status"
    assert await refusal(api.agents_sessions_setStatus(status="active", title="t" * 201, **place)) == "invalid_title"
    await api.agents_sessions_setStatus(status="processing", title="Work", **place)
    await api.agents_sessions_rename(title="Play", **place)
    await api.assistant_threads_setTitle(title="Older", **place)
    session = server.workspace.state.sessions["D0ADA", "1700000000.000001"]
    assert (session.status, session.title) == ("processing", "Play")
