"""The Web API with real slack_sdk clients: post, edit, stream, size limits, and reading back."""

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer
from tests.local_slack.stock import Json, begun, refusal

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


async def test_an_ephemeral_message_is_seen_by_one_user_only(api: AsyncWebClient, people: WorkspaceClient) -> None:
    await api.chat_postEphemeral(channel="C0GENERAL", user="U0BEN", text="psst")
    assert [m["text"] for m in await people.ephemerals("Ben", "general")] == ["psst"]
    assert await people.ephemerals("Ada", "general") == []
    assert await people.messages("general") == []
    assert await refusal(api.chat_postEphemeral(channel="C0FOUNDERS", user="U0GUS", text="x")) == "user_not_in_channel"
    assert (
        await refusal(api.api_call("chat.postEphemeral", json={"channel": "C0FOUNDERS", "user": "U0BEN"})) == "no_text"
    )


async def test_a_stream_grows_and_ends_with_blocks_and_metadata(api: AsyncWebClient, people: WorkspaceClient) -> None:
    root = await people.say("Ada", "general", "@soul tell me")
    stream = await api.chat_stream(
        channel="C0GENERAL", thread_ts=root["ts"], recipient_team_id="T0LOCAL", recipient_user_id="U0ADA", buffer_size=4
    )
    await stream.append(markdown_text="some words ")
    await stream.append(markdown_text="and more ")
    await stream.append(chunks=[{"type": "task_update", "id": "t", "title": "look", "status": "complete"}])
    (growing,) = await people.posts_by_bot("general")
    assert (growing["text"], growing["streaming_state"]) == ("some words and more ", "in_progress")
    assert growing["chunks"][0]["id"] == "t"
    await stream.stop(markdown_text="end", blocks=[{"type": "divider"}], metadata=META)
    (done,) = await people.wait_for_post("general")
    assert (done["text"], done["streaming_state"]) == ("some words and more end", "completed")
    assert (done["blocks"], done["metadata"]) == ([{"type": "divider"}], META)


async def test_a_stream_needs_a_thread_and_elsewhere_a_recipient(api: AsyncWebClient, people: WorkspaceClient) -> None:
    root = await people.say("Ada", "general", "hello")

    async def start(**more: str) -> str:
        arguments = {"channel": "C0GENERAL", "thread_ts": root["ts"]} | more
        return await refusal(api.api_call("chat.startStream", json=arguments))

    assert await start() == "missing_recipient_team_id"
    assert await start(recipient_team_id="T0LOCAL") == "missing_recipient_user_id"
    assert await start(recipient_team_id="T0LOCAL", recipient_user_id="U0UNKNOWN") == "user_not_found"
    assert await start(recipient_team_id="T0LOCAL", recipient_user_id="U0ADA") == "accepted"
    assert await start(thread_ts="") == "invalid_thread_ts"
    assert await refusal(api.api_call("chat.startStream", json={"channel": "D0ADA"})) == "invalid_arguments"


async def test_a_stopped_stream_takes_no_more(api: AsyncWebClient, people: WorkspaceClient) -> None:
    ts = (await begun(api, people, markdown_text="begun"))["ts"]
    assert await refusal(api.chat_appendStream(channel="D0ADA", ts=ts)) == "no_text"
    assert await refusal(api.chat_appendStream(channel="D0ADA", ts=ts, markdown_text="x" * 12_001)) == "msg_too_long"
    assert await refusal(api.chat_appendStream(channel="D0ADA", ts=ts, chunks=[{"type": "poem"}])) == "invalid_chunks"
    await api.chat_stopStream(channel="D0ADA", ts=ts, markdown_text=" well", session_status="active")
    for call in (
        api.chat_appendStream(channel="D0ADA", ts=ts, markdown_text="x"),
        api.chat_stopStream(channel="D0ADA", ts=ts),
    ):
        assert await refusal(call) == "message_not_in_streaming_state"
    (done,) = await people.posts_by_bot("D0ADA")
    assert done["text"] == "begun well"
    ts = (await begun(api, people, markdown_text="begun"))["ts"]
    await api.chat_update(channel="D0ADA", ts=ts, text="changed my mind")
    assert await refusal(api.chat_stopStream(channel="D0ADA", ts=ts)) == "message_not_in_streaming_state"


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


async def test_prompts_with_a_thread_are_accepted_and_not_shown(api: AsyncWebClient, people: WorkspaceClient) -> None:
    prompts = [{"title": "Say hi", "message": "hi"}]

    async def shown() -> object:
        return next(c for c in (await people.state("Ada"))["channels"] if c["id"] == "D0ADA")["prompts"]

    await api.assistant_threads_setSuggestedPrompts(channel_id="D0ADA", thread_ts="1700000000.000001", prompts=prompts)
    assert await shown() is None
    await api.assistant_threads_setSuggestedPrompts(channel_id="D0ADA", prompts=prompts, title="Try")
    assert await shown() == {"title": "Try", "prompts": prompts}
    assert (
        await refusal(api.assistant_threads_setSuggestedPrompts(channel_id="D0ADA", prompts=prompts * 5))
        == "invalid_arguments"
    )


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
