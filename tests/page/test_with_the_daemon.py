"""The page and the whole daemon together, as somebody meets them who starts it without Slack."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import expect

from daemon.app import run_daemon
from daemon.core.config import load_settings
from tests.page.conftest import OpenWindow

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(loop_scope="session")
async def daemon_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[str]:
    """A daemon with the placeholder model, connected to its own workspace."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    settings = load_settings(home=tmp_path, workspace_port=0, http_port=0, log_level="minimal")
    said: list[str] = []
    connected = asyncio.Event()

    def announce(line: str) -> None:
        said.append(line)
        if line.startswith("Connected"):
            connected.set()

    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_daemon(settings, announce))
        async with asyncio.timeout(20):
            await connected.wait()
        yield next(line.split()[-1] for line in said if "http" in line)
        running.cancel()


async def test_the_soul_answers_in_the_dm_and_where_it_is_mentioned(daemon_url: str, new_window: OpenWindow) -> None:
    ada = await new_window(daemon_url)
    await ada.say("Is anybody home?")
    answer = ada.timeline.locator(".message.nested")
    await expect(answer.locator(".feedback")).to_be_visible()
    await expect(answer).to_contain_text("Is anybody home?")
    await expect(answer).not_to_have_attribute("aria-busy", "true")
    await answer.get_by_role("button", name="Mark this answer as good").click()
    await expect(answer.get_by_role("button", name="Mark this answer as good")).to_have_attribute(
        "aria-pressed", "true"
    )

    await ada.go("general")
    await ada.say("@Soul and here?")
    await expect(ada.thread.locator(".message").last).to_contain_text("and here?")
    await expect(ada.thread.locator(".feedback")).to_be_visible()


async def test_without_a_model_every_wish_gets_a_plain_word_and_no_apology(
    daemon_url: str, new_window: OpenWindow
) -> None:
    ada = await new_window(daemon_url)
    for number, words in enumerate(
        ("Hello!", "Write me a haiku.", "A scholarly question: what is Linear A?", "Remind me in 2h of the tea."),
        start=1,
    ):
        await ada.say(words)
        answers = ada.timeline.locator(".message.nested")
        await expect(answers.locator(".feedback")).to_have_count(number)
        await expect(answers.last).to_contain_text("only a placeholder")
    await expect(ada.timeline).not_to_contain_text("sorry")
