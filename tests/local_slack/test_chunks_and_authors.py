"""Streams in chunks and their plans, custom names and icons, and Slack's rules for buttons."""

from slack_sdk.web.async_client import AsyncWebClient

from tests.local_slack.stock import Json, begun, refusal
from tests.workspace_client import WorkspaceClient

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
