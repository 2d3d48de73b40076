"""The page and the whole daemon together, as started without Slack tokens and without a model."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from daemon.app import run_daemon
from daemon.core.config import load_settings
from tests.page.conftest import OpenWindow
from tests.page.running import HANG


@pytest_asyncio.fixture(loop_scope="session")
async def daemon_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A daemon with the placeholder model, which replies without pauses, connected to its own workspace."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("daemon.app._PLACEHOLDER_PACE", 0.0)
    settings = load_settings(home=tmp_path, workspace_port=0, http_port=0, log_level="minimal")
    lines: list[str] = []
    connected = asyncio.Event()

    def announce(line: str) -> None:
        lines.append(line)
        if line.startswith("Connected"):
            connected.set()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_daemon(settings, announce))
        async with asyncio.timeout(HANG):
            await connected.wait()
        yield next(line.split()[-1] for line in lines if "http" in line)
        running.cancel()


async def test_the_soul_replies_in_the_dm_and_to_a_mention(daemon_url: str, new_window: OpenWindow) -> None:
    """Without a model every message gets the placeholder, and no apology."""
    ada = await new_window(daemon_url)
    await ada.say("Are you there?")
    answer = ada.timeline.locator(".message.nested")
    await expect(answer.locator(".feedback")).to_be_visible()
    await expect(answer).to_contain_text("Are you there?")
    await expect(answer).not_to_have_attribute("aria-busy", "true")
    good = answer.locator(".feedback").get_by_role("button").first
    await good.click()
    await expect(good).to_have_attribute("aria-pressed", "true")

    for number, words in enumerate(("Write me a haiku.", "A scholarly question?", "Remind me in 2h of it."), 2):
        await ada.say(words)
        await expect(answer.locator(".feedback")).to_have_count(number)
        await expect(answer.last).to_contain_text("only a placeholder")
    await expect(ada.timeline).not_to_contain_text("sorry")

    await ada.go("general")
    await ada.say("@Soul and here?")
    await expect(ada.thread.locator(".message").last).to_contain_text("and here?")
    await expect(ada.thread.locator(".feedback")).to_be_visible()
