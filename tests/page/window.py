"""A real browser window of one user, with a record of its errors."""

import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, ConsoleMessage, Dialog, Locator, Page, async_playwright, expect
from yarl import URL

FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
MISSING: Final = (
    "CHROMIUM IS NOT INSTALLED, so nothing of the local workspace's page is tested here. "
    "On Debian: apt-get install -y chromium"
)
HANG: Final = 60_000
"""Milliseconds after which a wait for the page counts as a hang, however busy the machine is."""
CONNECTION_LOST: Final = re.compile(
    r"ERR_(CONNECTION_REFUSED|EMPTY_RESPONSE|CONNECTION_RESET|INCOMPLETE_CHUNKED_ENCODING)"
)


def chromium() -> str | None:
    """The path of the browser, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


@asynccontextmanager
async def launched(profile: Path) -> AsyncIterator[Browser]:
    """A headless browser with its profile in an empty folder."""
    expect.set_options(timeout=HANG)
    async with async_playwright() as playwright:
        flags = [*FLAGS, f"--disk-cache-dir={profile / 'cache'}", f"--crash-dumps-dir={profile / 'crashes'}"]
        environment: dict[str, str | float | bool] = {"HOME": str(profile), "LANG": "C.UTF-8", "PATH": "/usr/bin:/bin"}
        browser = await playwright.chromium.launch(
            executable_path=chromium(), headless=True, args=flags, env=environment
        )
        yield browser
        await browser.close()


@dataclass
class Window:
    """One user's window; `faults` lists console errors, uncaught exceptions and dialogs."""

    page: Page
    faults: list[str] = field(default_factory=list)
    connection_may_break: bool = False

    def watch(self) -> "Window":
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.faults.append(f"uncaught: {error}"))
        self.page.on("dialog", self._dialog)
        self.page.set_default_timeout(HANG)
        return self

    async def open(self, url: str, person: str = "", conversation: str = "") -> "Window":
        """Open the page as a user (default: the first one) and wait until it is live."""
        address = URL(url).update_query({"as": person} if person else {})
        await self.page.goto(f"{address}{f'#/{conversation}' if conversation else ''}")
        await expect(self.composer).to_be_editable()
        return self

    @property
    def composer(self) -> Locator:
        return self.page.locator("#composer")

    @property
    def reply_box(self) -> Locator:
        return self.page.locator("#thread-composer")

    @property
    def timeline(self) -> Locator:
        return self.page.get_by_role("log", name="Messages")

    @property
    def thread(self) -> Locator:
        return self.page.get_by_role("log", name="Thread")

    def message(self, text: str) -> Locator:
        return self.timeline.locator(".message").filter(has_text=text)

    async def say(self, text: str) -> None:
        await self.composer.fill(text)
        await self.composer.press("Enter")
        await expect(self.composer).to_have_value("")

    async def go(self, name: str) -> None:
        await self.page.locator("#sidebar").get_by_role("link", name=name, exact=True).click()
        await expect(self.page.get_by_role("heading", level=1)).to_have_text(name)

    async def move_the_clock(self, choice: str) -> None:
        """Move the workspace's time forward by a choice of its menu."""
        await self.page.get_by_role("button", name="The workspace's time").click()
        await self.page.get_by_role("button", name=choice, exact=True).click()

    def _console(self, line: ConsoleMessage) -> None:
        if line.type in ("error", "warning") and not (self.connection_may_break and CONNECTION_LOST.search(line.text)):
            self.faults.append(f"{line.type}: {line.text}")

    async def _dialog(self, dialog: Dialog) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        await dialog.dismiss()


async def use_shortcut(message: Locator, name: str) -> None:
    await message.hover()
    await message.get_by_role("button", name="More actions").click()
    menu = message.get_by_role("dialog", name="More actions")
    await expect(menu.get_by_role("button")).to_have_text(["Why did you say that?", "Ask about this"])
    await menu.get_by_role("button", name=name).click()
    await expect(menu).to_have_count(0)
