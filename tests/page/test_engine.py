"""A person's first days with a soul: the page, a daemon process and a scripted model together, in two languages."""

import json
from pathlib import Path

import pytest

from daemon.core.sentences import SENTENCES
from tests.page.conftest import OpenWindow
from tests.page.journey import Journey, begun, no_picture
from tests.page.lines import Lines
from tests.page.lines_english import ENGLISH
from tests.page.lines_german import GERMAN

pytestmark = pytest.mark.asyncio(loop_scope="session")

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
async def test_the_first_days_lead_through_every_state_and_leave_no_warning(
    tmp_path: Path, new_window: OpenWindow, lines: Lines
) -> None:
    async with begun(tmp_path, lines, new_window, no_picture) as journey:
        await journey.greets_and_welcomes_back()
        await journey.turns_poet_and_scholar()
        await journey.solves_a_problem()
        await journey.asks_back()
        await journey.asks_for_permission()
        await journey.meets_a_second_soul()
        await journey.is_reminded()
        daemon = journey.daemon
        await daemon.at_rest()
        assert await _path(journey) == PATH
        assert f"- {lines.noticed}" in await daemon.soul("people", "show", journey.person)
        assert "shelf/write_down" in await daemon.soul("approvals", "list", "--state", "used")
        if lines is not ENGLISH:
            assert await _said_in_english(journey) == []
        journey.window.connection_may_break = True  # the daemon stops before the window is closed
        assert [line for line in daemon.log_lines() if " error " in line or " warning " in line] == []


async def _path(journey: Journey) -> list[tuple[str, str]]:
    steps = json.loads(await journey.daemon.soul("trace", journey.dm, "--json"))
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
