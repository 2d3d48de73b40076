"""A question of the real daemon on the page: its buttons, who may press them, and what takes their place."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import serve_workspace
from tests.fakes import TurnableClock
from tests.given import tagged
from tests.journeys.house import House, settings_for
from tests.page.conftest import OpenWindow

pytestmark = pytest.mark.asyncio(loop_scope="session")

ASKING = f"{tagged('Which one is it?')}\n<short_answers>Postgres | SQLite</short_answers>"


@pytest_asyncio.fixture(loop_scope="session")
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """A workspace with a daemon whose model the test scripts."""
    clock = TurnableClock()
    async with serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
        built = House(workspace, people, clock, settings_for(workspace, tmp_path))
        await built.start()
        try:
            yield built
        finally:
            await built.close()


async def test_the_person_asked_answers_by_a_button_that_gives_way(house: House, new_window: OpenWindow) -> None:
    house.model.steps["respond"].append(ASKING)
    root = await house.say("Ada", "general", "@soul hello")
    question = await house.reply("general", "Which one is it?")
    await house.idle()
    ben = await new_window(house.workspace.page_url, "U0BEN", f"C0GENERAL/{root}")
    ada = await new_window(house.workspace.page_url, "U0ADA", f"C0GENERAL/{root}")
    asked = f'[data-ts="{question["ts"]}"]'
    await ben.thread.get_by_role("button", name="SQLite").click()
    await expect(ben.page.get_by_text("that had no effect")).to_be_visible()
    await expect(ada.thread.get_by_role("button", name="SQLite")).to_be_visible()

    await ada.thread.get_by_role("button", name="SQLite").click()
    await expect(ada.thread.locator(asked)).to_contain_text("\u2713 SQLite")
    await expect(ben.thread.get_by_role("button", name="Postgres")).to_have_count(0)
    await expect(ada.thread.locator(".message").last).to_contain_text("Echo: SQLite")
    await expect(ada.thread.locator(f"{asked} .feedback")).to_be_visible()


async def test_a_reply_that_is_taken_back_is_gone_from_every_page(house: House, new_window: OpenWindow) -> None:
    root = await house.say("Ada", "general", "@soul where is the kiln?")
    reply = await house.reply("general", "Echo: where is the kiln?")
    await house.idle()
    ben = await new_window(house.workspace.page_url, "U0BEN", f"C0GENERAL/{root}")
    stands = ben.thread.locator(f'[data-ts="{reply["ts"]}"]')
    await house.people.react("Ben", "general", reply["ts"], "x")
    await expect(stands.get_by_role("button", name="x, 1")).to_be_visible()
    await expect(stands).to_contain_text("Echo: where is the kiln?")
    await house.people.react("Ada", "general", reply["ts"], "x")
    await expect(stands).to_have_count(0)
