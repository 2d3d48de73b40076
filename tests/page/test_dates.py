"""A time that a message marks reads on each reader's own clock, and what is no time reads as it was written."""

import pytest
from playwright.async_api import expect

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer
from tests.page.conftest import OpenWindow
from tests.page.manual_app import ManualApp

pytestmark = pytest.mark.asyncio(loop_scope="session")

DUE = 1_837_161_000  # 2028-03-20 10:30:00 UTC
MARKED = f"_Due <!date^{DUE}^{{date_num}} {{time}}|2028-03-20 12:30 (Europe/Athens)>: tea_"


@pytest.mark.parametrize(("zone", "shown"), [("Europe/Athens", "2028-03-20 12:30"), ("Asia/Tokyo", "2028-03-20 19:30")])
async def test_a_marked_time_reads_on_each_readers_own_clock(
    *, server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow, zone: str, shown: str
) -> None:
    await people.say("ada", "dm", "Remind me of the tea")
    root = await soul.newest("dm")
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": MARKED}}]
    await soul.api.chat_postMessage(channel=root["channel"], text=MARKED, blocks=blocks)
    ada = await new_window(server.page_url, "U0ADA", timezone_id=zone)
    body = ada.message("tea").last.locator(".body")
    await expect(body).to_have_text(f"Due {shown}: tea")
    await expect(body.locator("em time")).to_have_attribute("datetime", "2028-03-20T10:30:00.000Z")


async def test_what_is_no_time_or_no_format_reads_as_it_was_written(
    server: WorkspaceServer, people: WorkspaceClient, soul: ManualApp, new_window: OpenWindow
) -> None:
    await people.say("ada", "dm", "Hello")
    root = await soul.newest("dm")
    odd = (
        "date^soon^{time}",
        "date^99999999999999^{time}",
        f"date^{DUE}^{{constructor}}",
        f"date^{DUE}",
        f"date^{DUE}^at",
    )
    for number, mark in enumerate(odd):
        await soul.api.chat_postMessage(channel=root["channel"], text=f"<!{mark}|odd {number}>.")
    ada = await new_window(server.page_url, "U0ADA")
    for number in range(len(odd)):
        await expect(ada.message(f"odd {number}").last.locator(".body")).to_have_text(f"odd {number}.")
    await expect(ada.timeline.locator(".body time")).to_have_count(0)
