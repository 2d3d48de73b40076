"""First days, a day in a team, a week and a promise: the page, a daemon process on its clock, and a scripted model."""

import json
from pathlib import Path

import pytest
from playwright.async_api import expect

from daemon.core.sentences import SENTENCES
from tests.page import day, promised, week
from tests.page.conftest import OpenWindow
from tests.page.journey import Journey, begun
from tests.page.lines import Lines
from tests.page.lines_english import ENGLISH
from tests.page.lines_german import GERMAN
from tests.page.running import RunningDaemon, running_daemon
from tests.page.window import Window

PATH = [  # the states the direct messages lead through; `stay` and the visits that silence causes are left out
    ("enter", "greeting"),
    ("move", "curious"),
    ("enter", "returning"),
    ("move", "engaged"),
    ("move", "poetic"),
    ("move", "academic"),
]


@pytest.mark.timeout(400)  # ten seconds on an idle machine
@pytest.mark.parametrize("lines", [ENGLISH, GERMAN], ids=lambda lines: lines.locale)
async def test_first_days_show_each_state_and_no_warning(tmp_path: Path, new_window: OpenWindow, lines: Lines) -> None:
    async with begun(tmp_path, lines, new_window, _no_picture) as journey:
        await journey.greets_and_welcomes_back()
        await journey.turns_poet_and_scholar()
        await journey.solves_a_problem()
        await journey.asks_for_permission()
        await journey.meets_a_second_soul()
        await journey.is_reminded()
        daemon = journey.daemon
        await daemon.at_rest()
        assert await _path(journey) == PATH
        assert f"- {lines.noticed}" in await daemon.soul(
            "memory", "people", "show", journey.person, "--words", "--private"
        )
        assert "shelf/write_down" in await daemon.soul("approvals", "list", "--state", "used")
        if lines is not ENGLISH:
            assert await _said_in_english(journey) == []
        warned = [line for line in _ended(daemon, journey.window) if "ignore your soul" not in line]
        assert warned == [], "but of the tool that the shelf offers under a name that is an order"


@pytest.mark.timeout(400)  # fifteen seconds on an idle machine
async def test_a_team_invites_it_and_reads_its_digest_the_day_after(tmp_path: Path, new_window: OpenWindow) -> None:
    async with day.begun(tmp_path, new_window, _no_picture) as team:
        await team.is_lived()
        assert _ended(team.daemon, *team.windows.values()) == []


@pytest.mark.timeout(400)  # ten seconds on an idle machine
async def test_what_a_week_teaches_is_kept_explained_and_forgotten(tmp_path: Path, new_window: OpenWindow) -> None:
    async with week.begun(tmp_path, new_window, _no_picture) as talk:
        await talk.gets_to_know_her()
        await talk.is_shown_a_picture()
        await talk.tells_what_it_knows()
        await talk.forgets_her()
        assert _ended(talk.daemon, talk.window) == []


@pytest.mark.timeout(400)  # ten seconds on an idle machine
async def test_promises_are_kept_in_time_and_admins_see_each_thought(tmp_path: Path, new_window: OpenWindow) -> None:
    async with promised.begun(tmp_path, new_window, _no_picture) as talk:
        await talk.promises()
        await talk.keeps_it()
        thoughts = json.loads(await talk.daemon.soul("mind", "thoughts", "--json"))
        assert [one["occasion"] for one in thoughts] == ["words", "due", "words"]
        assert [one["previous"] for one in thoughts] == ["", *(one["id"] for one in thoughts[:-1])]
        goals = json.loads(await talk.daemon.soul("mind", "goals", "list", "--words", "--private", "--json"))
        assert {one["goal"]: one["state"] for one in goals} == {
            "the nightly import": "done",
            "find out what locks events_archive": "open",
        }
        assert _ended(talk.daemon, talk.window) == []


@pytest.mark.timeout(400)  # seconds on an idle machine
async def test_the_soul_replies_in_the_dm_and_to_a_mention(tmp_path: Path, new_window: OpenWindow) -> None:
    """Without tokens and a model: every message gets the placeholder, and no apology."""
    async with running_daemon(tmp_path, {}) as daemon:
        ada = await new_window(daemon.page_url)
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
        ada.connection_may_break = True  # the daemon stops before the window is closed


async def _no_picture(name: str, view: str) -> None:
    """The tests take none."""


def _ended(daemon: RunningDaemon, *windows: Window) -> list[str]:
    """The warnings and errors in the log; from now on the daemon may stop before the windows are closed."""
    for window in windows:
        window.connection_may_break = True
    return [line for line in daemon.log_lines() if " error " in line or " warning " in line]


async def _path(journey: Journey) -> list[tuple[str, str]]:
    steps = json.loads(await journey.daemon.soul("mind", "trace", journey.dm, "--json"))
    return [(one["act"], one["target"]) for one in steps if one["act"] in ("enter", "move")]


async def _said_in_english(journey: Journey) -> list[str]:
    """Sentences of the house in English that left it, but for the soul in #random, which has no German words."""
    calls = [
        json.dumps(call["args"], ensure_ascii=False)
        for call in await journey.people.calls()
        if call["method"].startswith(("chat.", "assistant.")) and "C0RANDOM" not in call["args"].values()
    ]
    assert calls
    fixed = {key: max(said.replace("}", "{").split("{")[::2], key=len) for key, said in SENTENCES.items()}
    return [key for key, said in fixed.items() if len(said) > 7 and any(said in call for call in calls)]
