"""Reading and the rest of the Web API: paging, people, reactions, files, views, rate limits, injected faults."""

import asyncio

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.server import WorkspaceServer, serve_workspace
from tests.fakes import FakeClock
from tests.local_slack.stock import refusal
from tests.workspace_client import WorkspaceClient

_OPTIONS = [{"text": {"type": "plain_text", "text": "A"}, "value": "a"}]


def _input(element: dict[str, object]) -> dict[str, object]:
    return {"type": "input", "label": {"type": "plain_text", "text": "Words"}, "element": element}


DIALOG = {
    "type": "modal",
    "title": {"type": "plain_text", "text": "One"},
    "submit": {"type": "plain_text", "text": "Send"},
    "blocks": [
        _input({"type": "plain_text_input", "action_id": "words", "max_length": 5}),
        _input({"type": "static_select", "action_id": "kind", "options": _OPTIONS}) | {"optional": True},
    ],
}


async def test_time_bounds_are_exclusive_unless_asked(api: AsyncWebClient, people: WorkspaceClient) -> None:
    said = [(await people.say("Ada", "general", f"m{i}"))["ts"] for i in range(4)]

    async def between(**more: object) -> list[str]:
        page = await api.conversations_history(channel="C0GENERAL", oldest=said[1], latest=said[3], **more)  # type: ignore[arg-type]  # forwarded as they are
        return [message["ts"] for message in page["messages"]]

    assert await between() == [said[2]]
    assert await between(inclusive=True) == said[:0:-1]
    page = await api.conversations_history(channel="C0GENERAL", oldest="0")
    assert len(page["messages"]) == 4
    assert await refusal(api.conversations_history(channel="C0GENERAL", oldest="yesterday")) == "invalid_ts_oldest"
    assert await refusal(api.conversations_history(channel="C0GENERAL", latest="now")) == "invalid_ts_latest"
    assert await refusal(api.conversations_history(channel="C0GENERAL", cursor="!")) == "invalid_cursor"
    assert await refusal(api.conversations_history(channel="C0GENERAL", cursor="Ym9ndXM=")) == "invalid_cursor"
    assert await refusal(api.conversations_history(channel="C0GENERAL", limit=0)) == "invalid_limit"
    assert await refusal(api.conversations_history(channel="C0RANDOM")) == "not_in_channel"


async def test_channels_are_listed_opened_and_joined(api: AsyncWebClient, people: WorkspaceClient) -> None:
    listed = await api.conversations_list(types="public_channel,private_channel", limit=2, exclude_archived=True)
    rest = await api.conversations_list(
        types="public_channel,private_channel", limit=2, cursor=listed["response_metadata"]["next_cursor"]
    )
    names = [room["name"] for room in [*listed["channels"], *rest["channels"]]]
    assert names == ["general", "random", "founders"]
    assert rest["response_metadata"]["next_cursor"] == ""
    assert await refusal(api.conversations_list(cursor="bmV4dDp4")) == "invalid_cursor"
    assert await refusal(api.conversations_list(types="attic")) == "invalid_types"
    assert [r["id"] for r in (await api.users_conversations(types="im", user="U0GUS"))["channels"]] == ["D0GUS"]
    assert await refusal(api.users_conversations(user="U0UNKNOWN")) == "user_not_found"
    assert (await api.conversations_join(channel="C0RANDOM"))["channel"]["is_member"]
    assert await refusal(api.conversations_join(channel="D0ADA")) == "method_not_supported_for_channel_type"
    assert "U0SOUL" in (await api.conversations_members(channel="C0RANDOM"))["members"]
    group = await api.conversations_open(users="U0ADA,U0BEN", return_im=True)
    assert group["channel"]["is_mpim"]
    assert (await api.conversations_open(users="U0ADA,U0BEN"))["channel"]["id"] == group["channel"]["id"]
    assert (await api.conversations_open(users="U0ADA"))["channel"]["id"] == "D0ADA"
    assert (await api.conversations_open(channel="D0ADA"))["channel"]["user"] == "U0ADA"
    assert await refusal(api.conversations_open(users="U0UNKNOWN")) == "user_not_found"
    eve = (await people.add_person("Eve"))["id"]
    assert (await api.conversations_info(channel=(await api.conversations_open(users=eve))["channel"]["id"]))[
        "channel"
    ]["is_im"]
    await people.add_channel("secret", kind="group", members=["Ada"], app=False)
    assert await refusal(api.conversations_info(channel="secret")) == "channel_not_found"


async def test_reactions_are_refused_by_name(api: AsyncWebClient, people: WorkspaceClient) -> None:
    ts = (await people.say("Ada", "dm", "nice"))["ts"]
    await api.reactions_add(channel="D0ADA", timestamp=ts, name="eyes")
    assert await refusal(api.reactions_add(channel="D0ADA", timestamp=ts, name="eyes")) == "already_reacted"
    await api.reactions_remove(channel="D0ADA", timestamp=ts, name="eyes")
    assert await refusal(api.reactions_remove(channel="D0ADA", timestamp=ts, name="eyes")) == "no_reaction"
    assert await refusal(api.reactions_add(channel="D0ADA", timestamp=ts, name="No Such")) == "invalid_name"
    assert await refusal(api.reactions_add(channel="D0ADA", timestamp="1", name="eyes")) == "message_not_found"
    assert await refusal(api.reactions_add(channel="D0ADA", timestamp="", name="eyes")) == "no_item_specified"


async def test_homes_and_views_are_shown(api: AsyncWebClient, people: WorkspaceClient, server: WorkspaceServer) -> None:
    view = {"type": "home", "blocks": [{"type": "divider"}]}
    await api.views_publish(user_id="U0ADA", view=view)
    assert (await people.get("home", person="Ada"))["view"]["blocks"] == view["blocks"]
    assert (await people.post("open_home", person="Ada"))["view"]["type"] == "home"
    assert await refusal(api.views_publish(user_id="U0UNKNOWN", view=view)) == "user_not_found"
    modal = {"type": "modal", "title": {"type": "plain_text", "text": "One"}, "blocks": []}
    assert await refusal(api.views_publish(user_id="U0ADA", view=modal)) == "invalid_arguments"
    trigger = server.workspace.interactions.new_trigger("U0ADA")
    await api.views_open(trigger_id=trigger, view=modal)
    assert await refusal(api.views_open(trigger_id=trigger, view=modal)) == "invalid_trigger_id"
    late = server.workspace.interactions.new_trigger("U0ADA")
    await people.advance(3.1)
    assert await refusal(api.views_open(trigger_id=late, view=modal)) == "expired_trigger_id"


async def test_a_dialog_beyond_slacks_sizes_is_refused(api: AsyncWebClient, server: WorkspaceServer) -> None:
    for wrong in (
        {"title": {"type": "plain_text", "text": "x" * 25}},
        {"title": {"type": "mrkdwn", "text": "One"}},
        {"submit": None},
        {"private_metadata": "x" * 3_001},
        {"callback_id": "x" * 256},
        {"blocks": [{"type": "input", "element": {"type": "plain_text_input"}}]},
        {"blocks": [_input({"type": "plain_text_input", "max_length": 3_001})]},
        {"blocks": [_input({"type": "radio_buttons", "options": _OPTIONS * 11})]},
        {"blocks": [_input({"type": "checkboxes", "options": [{"value": "a"}]})]},
        {"blocks": [_input({"type": "static_select", "options": _OPTIONS, "initial_option": {"value": "b"}})]},
        {"blocks": [_input({"type": "slider"})]},
        {"blocks": [_input({"type": "plain_text_input"}) | {"block_id": "same"}] * 2},
    ):
        view = DIALOG | wrong
        trigger = server.workspace.interactions.new_trigger("U0ADA")
        assert await refusal(api.views_open(trigger_id=trigger, view=view)) == "invalid_arguments", wrong


async def test_a_response_url_works_five_times_within_half_an_hour(
    server: WorkspaceServer, api: AsyncWebClient, people: WorkspaceClient
) -> None:
    ts = str((await api.chat_postMessage(channel="D0ADA", text="buttons"))["ts"])
    url = server.workspace.interactions.new_response_url(server.url, "U0ADA", "D0ADA", ts)
    async with aiohttp.ClientSession() as http:

        async def respond(**body: object) -> tuple[int, str]:
            async with http.post(url, json=body) as response:
                return response.status, str((await response.json()).get("error", ""))

        assert await respond() == (400, "no_text")
        assert await respond(text="new words", replace_original=True) == (200, "")
        assert await respond(text="for all", response_type="in_channel") == (200, "")
        assert await respond(text="for Ada") == (200, "")
        async with http.post(url, data="{") as response:
            assert (await response.json())["error"] == "invalid_payload"
        assert [m["text"] for m in await people.messages("D0ADA")] == ["new words", "for all"]
        assert await respond(delete_original=True) == (200, "")
        assert await respond(text="five") == (200, "")
        assert await respond(text="six") == (404, "used_url")
        url = server.workspace.interactions.new_response_url(server.url, "U0ADA", "D0ADA")
        await people.advance(1801)
        assert await respond(text="late") == (404, "expired_url")


async def test_slacks_limits_answer_429_with_whole_seconds() -> None:
    async with serve_workspace(limits="slack", clock=FakeClock()) as server, WorkspaceClient(server.page_url) as people:
        api = AsyncWebClient(token=server.bot_token, base_url=server.api_url)
        for _ in range(4):
            await api.chat_postMessage(channel="D0ADA", text="burst")
        with pytest.raises(SlackApiError) as caught:
            await api.chat_postMessage(channel="D0ADA", text="too fast")
        assert (caught.value.response.status_code, caught.value.response["error"]) == (429, "ratelimited")
        assert caught.value.response.headers["Retry-After"] == "1"
        await api.chat_postMessage(channel="D0BEN", text="another channel")
        await people.advance(1)
        await api.chat_postMessage(channel="D0ADA", text="slower")
        for _ in range(20):
            await api.users_list()
        assert await refusal(api.users_list()) == "ratelimited"
        await people.advance(60)
        await api.users_list()
        await people.limits("off")
        for _ in range(30):
            await api.users_list()


async def test_faults_answer_delay_and_drop(api: AsyncWebClient, people: WorkspaceClient) -> None:
    async def post(text: str) -> str:
        try:
            return await refusal(api.chat_postMessage(channel="D0ADA", text=text))
        except aiohttp.ClientError:
            return "dropped"

    api.retry_handlers.clear()
    await people.fault("chat.postMessage", status=429, headers={"Retry-After": "2"})
    assert await post("limited") == "ratelimited"
    await people.fault("chat.postMessage", body={"ok": False, "error": "fatal_error"})
    assert await post("refused") == "fatal_error"
    await people.fault("*", mode="reset_before")
    assert await post("never seen") == "dropped"
    await people.fault("chat.postMessage", mode="accept_then_drop")
    assert await post("seen, unanswered") == "dropped"
    await people.fault("chat.postMessage", mode="accept_then_answer", body={"ok": False, "error": "internal_error"})
    assert await post("seen, denied") == "internal_error"
    await people.fault("chat.postMessage", delay=60)
    assert not await people.met("chat.postMessage")
    async with asyncio.TaskGroup() as tasks:
        late = tasks.create_task(post("late"))
        while not late.done():
            await people.advance(30)
    assert late.result() == "accepted"
    assert await people.met("chat.postMessage")
    assert [m["text"] for m in await people.posts_by_bot("D0ADA")] == ["seen, unanswered", "seen, denied", "late"]
    statuses = [call["status"] for call in await people.calls("chat.postMessage")]
    assert statuses == [429, 200, 0, 0, 200, 200]
    assert "token" not in (await people.calls())[0]["args"]
