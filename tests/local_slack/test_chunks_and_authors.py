"""Streams in chunks and their plans, custom names and icons, and Slack's rules for buttons."""

from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.client import WorkspaceClient
from tests.local_slack.stock import Json, begun, refusal

CARD = {"type": "task_update", "id": "t", "title": "Looking", "status": "in_progress"}


async def test_malformed_chunks_are_refused(api: AsyncWebClient, people: WorkspaceClient) -> None:
    malformed: tuple[Json, ...] = (
        {"type": "poem"},
        {"type": "markdown_text"},
        {"type": "plan_update"},
        CARD | {"id": ""},
        CARD | {"title": 5},
        CARD | {"status": "resting"},
        CARD | {"details": {}},
    )
    for chunk in malformed:
        assert await refusal(begun(api, people, chunks=[chunk])) == "invalid_chunks", chunk


async def test_cards_are_replaced_and_open_ones_fail_at_the_end(api: AsyncWebClient, people: WorkspaceClient) -> None:
    title = {"type": "plan_update", "title": "Plan"}
    other = {"type": "blocks", "blocks": [{"type": "divider"}]}
    ts = (await begun(api, people, chunks=[title, CARD | {"details": "a"}], task_display_mode="plan"))["ts"]
    await api.chat_appendStream(channel="D0ADA", ts=ts, chunks=[CARD | {"title": "Found", "details": "b"}, other])
    await api.chat_stopStream(channel="D0ADA", ts=ts, chunks=[title | {"title": "Done"}, other])
    (done,) = await people.posts_by_bot("D0ADA")
    assert done["chunks"] == [
        title | {"title": "Done"},
        CARD | {"title": "Found", "details": "ab", "status": "error"},
        other,
        other,
    ]
    assert await refusal(begun(api, people, task_display_mode="dance")) == "invalid_arguments"


async def test_a_custom_name_and_icon_need_a_scope_and_are_shown(api: AsyncWebClient, people: WorkspaceClient) -> None:
    async def post(**author: str) -> str:
        return await refusal(api.api_call("chat.postMessage", json={"channel": "C0GENERAL", "text": "x"} | author))

    assert await post(username="Tamarru", icon_emoji=":fire:") == "accepted"
    assert await post(username="Gordon") == "accepted"
    assert await post(icon_url="https://example.org/x.png") == "accepted"
    assert await post(username="x" * 81) == "invalid_arguments"
    posts = await people.posts_by_bot("general")
    assert [(post.get("username"), post.get("icons")) for post in posts] == [
        ("Tamarru", {"emoji": ":fire:"}),
        ("Gordon", None),
        (None, {"image_48": "https://example.org/x.png"}),
    ]
    await people.scopes("chat:write")
    assert await post(username="Tamarru") == "missing_scope"
    assert await post() == "accepted"


async def test_buttons_have_bounds_and_ids_of_their_own(api: AsyncWebClient) -> None:
    for change in (
        {"action_id": "b"},
        {"text": {"type": "plain_text", "text": "x" * 76}},
        {"text": {"type": "plain_text", "text": ""}},
        {"value": "x" * 2_001},
        {"accessibility_label": "x" * 76},
        {"style": "golden"},
    ):
        name = {"type": "plain_text", "text": "Press"}
        buttons = [{"type": "button", "action_id": action, "text": name, "value": "v"} for action in ("a", "b")]
        good = [{"type": "actions", "elements": buttons}]
        assert await refusal(api.chat_postMessage(channel="C0GENERAL", text="x", blocks=good)) == "accepted", change
        bad = [{"type": "actions", "elements": [buttons[0] | change, buttons[1]]}]
        assert await refusal(api.chat_postMessage(channel="C0GENERAL", text="x", blocks=bad)) == "invalid_blocks", (
            change
        )
