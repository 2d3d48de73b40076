"""What a colleague does beside talking, on the page with the whole daemon: Home, dialogs, shortcuts, commands."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect

from daemon.local_slack.server import serve_workspace
from daemon.memory.knowledge.records.kinds import Topic
from tests.fakes import TurnableClock
from tests.given import shown, tagged
from tests.journeys.house import House, settings_for
from tests.journeys.own_memory import note
from tests.page.conftest import OpenWindow
from tests.page.window import Window, use_shortcut
from tests.programs import ends_awaited
from tests.workspace_client import WorkspaceClient

pytestmark = pytest.mark.timeout(300)  # two seconds on an idle machine

KILN: Final = "The kiln cracks at 900 degrees."


@pytest_asyncio.fixture(loop_scope="session")
async def house(tmp_path: Path) -> AsyncIterator[House]:
    """The workspace with one running daemon; its time stands still, so that no dialog comes too late."""
    clock = TurnableClock()
    async with ends_awaited(), serve_workspace(clock=clock) as workspace, WorkspaceClient(workspace.page_url) as people:
        built = House(workspace, people, clock, settings_for(workspace, tmp_path))
        try:
            await built.start()
            yield built
        finally:
            await built.close()


@pytest_asyncio.fixture(loop_scope="session")
async def ada(house: House, new_window: OpenWindow) -> AsyncIterator[Window]:
    window = await new_window(house.workspace.page_url, "U0ADA", "D0ADA")
    yield window
    window.connection_may_break = True


async def talked(house: House, window: Window, says: str, reply: str) -> Locator:
    """Say something in the direct messages; gives the answer, once nothing is in work any more."""
    house.model.replies.append(tagged(reply))
    await window.say(says)
    answer = window.timeline.locator(".message.nested").last
    await expect(answer).to_contain_text(reply)
    await expect(answer.locator(".feedback")).to_be_visible()
    await house.idle()
    return answer


async def home_of(window: Window) -> Locator:
    await window.page.get_by_role("button", name="Home", exact=True).click()
    return window.page.get_by_role("region", name="Home")


async def test_on_her_home_tab_ada_corrects_and_forgets_what_is_known_and_pauses(house: House, ada: Window) -> None:
    await talked(house, ada, "I keep bees on the roof", "Noted.")
    await note(house, "U0ADA", "keeps bees", "keep bees on the roof", topic=Topic.OTHER)
    home = await home_of(ada)
    await expect(home).to_contain_text("keeps bees")
    await home.get_by_role("button", name="Correct", exact=True).click()
    asks = ada.page.get_by_role("dialog", name="Correct")
    await asks.get_by_label("What is right?").fill("I keep wasps")
    await asks.get_by_role("button", name="Correct", exact=True).click()
    await expect(asks).to_have_count(0)
    await expect(home).to_contain_text("I keep wasps")
    await expect(home).not_to_contain_text("keeps bees")
    await home.get_by_role("button", name="Forget", exact=True).click()
    sure = ada.page.get_by_role("dialog", name="Forget")
    await expect(sure).to_contain_text("It can't be undone")
    await sure.get_by_role("button", name="✕").click()
    await expect(home).to_contain_text("I keep wasps")
    await home.get_by_role("button", name="Forget", exact=True).click()
    await sure.get_by_role("button", name="Forget", exact=True).click()
    await expect(home).to_contain_text("I have noted nothing about you")
    await home.get_by_role("button", name="Pause remembering").click()
    await expect(home).to_contain_text("Remembering is paused")
    await home.get_by_role("button", name="Resume remembering").click()
    await expect(home.get_by_role("button", name="Pause remembering")).to_be_visible()


async def test_one_asks_about_a_message_and_an_answer(house: House, ada: Window, new_window: OpenWindow) -> None:
    await house.people.say("Ben", "general", KILN)
    ben = await new_window(house.workspace.page_url, "U0BEN", "C0GENERAL")
    await ada.page.locator('#sidebar a[href="#/C0GENERAL"]').click()
    await use_shortcut(ada.message(KILN), "Ask about this")
    asks = ada.page.get_by_role("dialog", name="Ask about this")
    await expect(asks).to_contain_text(KILN)
    await asks.get_by_label("What do you want to know about this message?").fill("Is that hot?")
    house.model.replies.append(tagged("Hot for clay."))
    await asks.get_by_role("button", name="Ask", exact=True).click()
    await expect(asks).to_have_count(0)
    await ada.page.locator('#sidebar a[href="#/D0ADA"]').click()
    answer = ada.timeline.locator(".message", has_text="Hot for clay.")
    await expect(answer.locator(".feedback")).to_be_visible()
    await house.idle()
    assert KILN in shown(house.prompts[-1])
    await use_shortcut(answer, "Why did you say that?")
    await expect(ada.timeline.locator(".message").last).to_contain_text("Where it comes from")
    await expect(ben.timeline.locator(".message")).to_have_count(1)
    ben.connection_may_break = True
