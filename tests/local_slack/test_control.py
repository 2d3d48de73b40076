"""The control API: what each user sees, the live feed, refusals, and which requests it takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from daemon.local_slack.server import WorkspaceServer
from tests.workspace_client import WorkspaceClient, WorkspaceRefused


@pytest.fixture
async def people(server: WorkspaceServer) -> AsyncIterator[WorkspaceClient]:
    """A client that asks over HTTP, as the programs do that act in a workspace."""
    async with WorkspaceClient(server.page_url) as client:
        yield client


async def test_each_user_sees_only_their_own_channels(people: WorkspaceClient) -> None:
    async def rooms(person: str) -> set[str]:
        return {room["id"] for room in (await people.state(person))["channels"]}

    assert await rooms("Ada") == {"C0GENERAL", "C0RANDOM", "C0FOUNDERS", "D0ADA"}
    assert await rooms("Chloe") == {"C0GENERAL", "C0RANDOM", "D0CHLOE"}
    assert await rooms("Gus") == {"D0GUS"}
    assert {"D0ADA", "D0BEN"} <= {room["id"] for room in (await people.state())["channels"]}


async def test_an_impossible_order_is_refused_with_a_name(people: WorkspaceClient) -> None:
    for order, fields, error in (
        ("say", {"person": "Ben", "channel": "D0ADA", "text": "x"}, "channel_not_found"),
        ("say", {"person": "Chloe", "channel": "founders", "text": "x"}, "channel_not_found"),
        ("say", {"person": "Unknown", "channel": "general", "text": "x"}, "user_not_found"),
        ("say", {"person": "Ada", "channel": "general", "text": "  "}, "no_text"),
        ("say", {"person": "Ada", "channel": "general", "text": ["x"]}, "invalid_arguments"),
        ("say", {"person": "Ada", "channel": "general", "text": "x", "thread": "1.2"}, "message_not_found"),
        ("say", {"person": "Ada", "channel": "general", "files": [{"name": "a"}]}, "invalid_arguments"),
        ("say", {"person": "Ada", "channel": "general", "files": [{"base64": "!"}]}, "invalid_arguments"),
        ("say", {"person": "Ada", "channel": "general", "files": "a"}, "invalid_arguments"),
        ("say", {"person": "Soul", "channel": "random", "text": "x"}, "not_in_channel"),
        ("join", {"person": "Ada", "channel": "nowhere"}, "channel_not_found"),
        ("person", {}, "invalid_arguments"),
        ("person", {"name": "X", "standing": "king"}, "invalid_arguments"),
        ("clock", {"advance": -1}, "invalid_arguments"),
        ("clock", {"advance": "soon"}, "invalid_arguments"),
        ("limits", {"profile": "mild"}, "invalid_arguments"),
        ("scopes", {"scopes": "all"}, "invalid_arguments"),
        ("emit", {"event": "x"}, "invalid_arguments"),
        ("repeat", {"event_id": "Ev0"}, "event_not_found"),
        ("fault", {"method": "chat.update", "mode": "explode"}, "invalid_arguments"),
        ("fault_socket", {"socket": "melt"}, "invalid_arguments"),
        ("fault_socket", {"socket": "disconnect", "reason": "boredom"}, "invalid_arguments"),
        ("invent", {}, "unknown_order"),
    ):
        with pytest.raises(WorkspaceRefused) as caught:
            await people.post(order, **fields)
        assert caught.value.code == error, (order, fields)
    with pytest.raises(WorkspaceRefused, match="user_not_found"):
        await anext(people.events("Unknown"))
    with pytest.raises(WorkspaceRefused, match="channel_not_found"):
        await people.get("messages", channel="nowhere")


async def test_users_change_only_their_own_messages(people: WorkspaceClient, api: AsyncWebClient) -> None:
    said = await people.say("Ada", "general", "mine")
    with pytest.raises(WorkspaceRefused, match="cant_update_message"):
        await people.edit("Ben", "general", said["ts"], "yours")
    with pytest.raises(WorkspaceRefused, match="cant_delete_message"):
        await people.delete("Ben", "general", said["ts"])
    button = {"type": "button", "action_id": "go", "value": "1", "text": {"type": "plain_text", "text": "Go"}}
    blocks = [{"type": "actions", "elements": [button]}]
    posted = await api.chat_postMessage(channel="C0GENERAL", text="press", blocks=blocks)
    assert not await people.click("Ada", "general", str(posted["ts"]), "go")
    with pytest.raises(WorkspaceRefused, match="action_not_found"):
        await people.click("Ada", "general", str(posted["ts"]), "stop")
    with pytest.raises(WorkspaceRefused, match="value_not_found"):
        await people.click("Ada", "general", str(posted["ts"]), "go", "2")
    await people.add_person("Yan", standing="deactivated")
    await people.join("Yan", "general")
    with pytest.raises(WorkspaceRefused, match="account_inactive"):
        await people.say("Yan", "general", "x")
    await people.post("channel", name="old", members=["Ada"], archived=True)
    with pytest.raises(WorkspaceRefused, match="is_archived"):
        await people.say("Ada", "old", "x")


async def test_unread_messages_are_counted_until_read_and_pages_go_back_in_time(people: WorkspaceClient) -> None:
    async def unread(person: str) -> int:
        rooms = (await people.state(person))["channels"]
        return int(next(room for room in rooms if room["id"] == "C0GENERAL")["unread"])

    await people.say("Ada", "general", "one")
    await people.say("Ada", "general", "two")
    assert (await unread("Ada"), await unread("Ben")) == (0, 2)
    await people.post("read", person="Ben", channel="general")
    assert await unread("Ben") == 0
    await people.post("read", person="Ben", channel="dm")
    said = [(await people.say("Ada", "general", f"m{i}"))["ts"] for i in range(5)]
    page = await people.get("messages", channel="general", limit="2", before=said[3])
    assert ([m["ts"] for m in page["messages"]], page["has_more"]) == (said[1:3], True)


async def test_the_feed_shows_a_user_nothing_of_other_peoples_dms(people: WorkspaceClient, api: AsyncWebClient) -> None:
    cursor = (await people.state())["cursor"]
    root = await people.say("Ada", "dm", "private to Ada")
    await api.chat_postMessage(channel="D0ADA", text="for Ada", thread_ts=root["ts"])
    await api.chat_postEphemeral(channel="C0GENERAL", user="U0ADA", text="only for Ada")
    await api.views_publish(user_id="U0ADA", view={"type": "home", "blocks": []})
    await people.say("Ben", "founders", "among founders")
    await people.say("Ben", "general", "for the whole channel")

    async def kinds(person: str) -> list[str]:
        seen = []
        async with aclosing(people.events(person, cursor)) as feed:
            async for kind, data in feed:
                seen.append(kind)
                if "for the whole channel" in str(data):
                    return seen
        return seen

    assert await kinds("Chloe") == ["ready", "message"]
    assert await kinds("Ben") == ["ready", "message", "message"]
    assert await kinds("Ada") == ["ready", "message", "message", "thread", "ephemeral", "home", "message", "message"]
    everything = await kinds("")
    assert everything.count("call") == 3
    assert "delivery" in everything


async def test_the_feed_is_live_and_shows_presence(people: WorkspaceClient, api: AsyncWebClient) -> None:
    arrived = asyncio.Event()
    seen: list[str] = []

    async def watch() -> None:
        async with aclosing(people.events("Ada")) as feed:
            async for kind, data in feed:
                arrived.set()
                seen.append(kind)
                if data.get("message", {}).get("streaming_state") == "completed":
                    return

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(watch())
        await arrived.wait()
        assert (await people.state("Ada"))["me"]["active"] is True
        root = await people.say("Ada", "dm", "hello")
        stream = await api.chat_startStream(channel="D0ADA", thread_ts=root["ts"], markdown_text="a")
        await api.chat_appendStream(channel="D0ADA", ts=stream["ts"], markdown_text="b")
        await api.reactions_add(channel="D0ADA", timestamp=root["ts"], name="eyes")
        await api.chat_stopStream(channel="D0ADA", ts=stream["ts"])
    assert seen == [
        *("ready", "presence", "message", "message", "thread", "session", "message_changed", "reaction", "session"),
        "message_changed",
    ]

    async def gone() -> bool:
        await people.advance(16)
        return not (await people.state("Ada"))["me"]["active"]

    await people.wait_for(gone)


async def test_a_reader_that_fell_behind_gets_a_reset(server: WorkspaceServer, people: WorkspaceClient) -> None:
    for number in range(20_050):
        server.workspace.feed.publish("message", {"n": number}, channel="D0ADA")
    async with aclosing(people.events("Ada", 1)) as feed:
        assert [(await anext(feed))[0] for _ in range(2)] == ["ready", "reset"]


async def test_other_web_pages_are_refused(server: WorkspaceServer) -> None:
    async with aiohttp.ClientSession() as http:
        for headers in (
            {"Host": "evil.example"},
            {"Host": "evil.example:80", "Origin": "http://evil.example:80"},
            {"Origin": "http://evil.example"},
            {"Origin": "null"},
            {"Sec-Fetch-Site": "cross-site"},
            {"Host": "[::1"},
        ):
            for request in (
                http.get(f"{server.url}/_control/state", headers=headers),
                http.post(f"{server.url}/_control/clock", json={}, headers=headers),
            ):
                async with request as response:
                    assert (response.status, (await response.json())["error"]) == (403, "not_from_here"), headers


async def test_without_the_key_no_one_reads_or_speaks(server: WorkspaceServer) -> None:
    port = URL(server.url).port
    async with aiohttp.ClientSession() as http:
        for headers in (
            {},
            {"Authorization": "Bearer guessed"},
            {"Cookie": f"workspace_{port}={server.key}; key={server.key}"},
        ):
            for request in (
                http.get(f"{server.url}/_control/state", params={"key": server.key}, headers=headers),
                http.get(f"{server.url}/_control/events", headers=headers),
                http.post(f"{server.url}/_control/say", json={}, headers=headers),
            ):
                async with request as response:
                    assert (response.status, (await response.json())["error"]) == (403, "no_key")


async def test_no_answer_leaves_a_cookie_that_other_ports_would_get(server: WorkspaceServer) -> None:
    async with aiohttp.ClientSession() as http:
        for path in ("/", f"/?key={server.key}", "/?key=guessed", "/_control/state", "/app/main.js"):
            async with http.get(server.url + path) as response:
                assert "Set-Cookie" not in response.headers
                assert server.key not in await response.text()


async def test_no_page_can_frame_or_embed_the_workspace(server: WorkspaceServer) -> None:
    async with aiohttp.ClientSession() as http:
        for path in ("/", "/_control/state", "/missing", "/api/auth.test"):
            async with http.get(server.url + path) as response:
                assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
                assert response.headers["X-Frame-Options"] == "DENY"
                assert response.headers["X-Content-Type-Options"] == "nosniff"
                assert response.headers["Cross-Origin-Resource-Policy"] == "same-origin"
                assert response.headers["Server"] == ""


async def test_its_own_page_is_accepted_but_only_with_json(server: WorkspaceServer) -> None:
    own = {"Origin": server.url, "Sec-Fetch-Site": "same-origin", "Authorization": f"Bearer {server.key}"}
    async with aiohttp.ClientSession(headers=own) as http:
        async with http.get(f"{server.url}/_control/state", params={"person": "Ada"}) as response:
            assert response.status == 200
        for content_type, body in (("text/plain", "{}"), ("application/json", "{"), ("application/json", "[]")):
            headers = {"Content-Type": content_type}
            async with http.post(f"{server.url}/_control/clock", data=body, headers=headers) as response:
                assert (response.status, (await response.json())["error"]) == (400, "invalid_json")


async def test_a_file_is_served_only_to_readers_of_its_room(people: WorkspaceClient, server: WorkspaceServer) -> None:
    said = await people.say("Ada", "dm", "", files=[{"name": "diary.txt", "base64": "aGk="}])
    file = said["files"][0]["id"]
    async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {server.key}"}) as http:
        for person, status in (("Ada", 200), ("Ben", 404)):
            async with http.get(f"{server.url}/_control/file", params={"person": person, "file": file}) as response:
                assert response.status == status
                assert ("sandbox" in response.headers.get("Content-Security-Policy", "")) is (status == 200)
