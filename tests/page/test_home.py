"""The app's home tab on the page: always there, as in Slack, and its buttons reach the app."""

from typing import Any

import pytest
from playwright.async_api import expect

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer
from tests.page.conftest import OpenWindow
from tests.page.manual_app import ManualApp

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_home_tab_is_shown_and_its_buttons_reach_the_app(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    button = {"type": "button", "action_id": "soul_home:1:0", "value": "pause"}
    view: Any = {
        "type": "home",
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "What I know about you"}},
            {"type": "section", "text": {"type": "mrkdwn", "text": "1. keeps *bees*"}},
            {"type": "actions", "elements": [{**button, "text": {"type": "plain_text", "text": "Pause remembering"}}]},
        ],
    }
    await soul.api.views_publish(user_id="U0ADA", view=view)
    ada = await new_window(server.page_url, "U0ADA")
    await ada.page.get_by_role("button", name="Home", exact=True).click()
    home = ada.page.get_by_role("region", name="Home")
    await expect(home).to_contain_text("What I know about you")
    await expect(home).to_contain_text("keeps bees")
    await home.get_by_role("button", name="Pause remembering").click()

    async def delivered() -> list[dict[str, Any]]:
        return [one for one in await people.deliveries() if one["event_type"] == "block_actions"]

    assert len(await people.wait_for(delivered)) == 1
