"""Ada's first days with a soul, played on the page against a daemon that was started as a newcomer starts it."""

import json
from pathlib import Path

import pytest

from daemon.local_slack.client import WorkspaceClient
from tests.page.conftest import OpenWindow
from tests.page.journey import Journey, answer, furnish
from tests.page.mind import thinking
from tests.page.running import Running, running

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = (  # what her direct messages lead through, without staying and without what silence led to
    ("enter", "greeting"),
    ("move", "curious"),
    ("enter", "returning"),
    ("move", "engaged"),
    ("move", "poetic"),
    ("move", "engaged"),
    ("move", "academic"),
)


async def _glance(name: str, view: str) -> None:
    """Nobody takes pictures here."""


async def test_her_first_days_lead_through_every_state_and_end_as_they_should(
    tmp_path: Path, new_window: OpenWindow
) -> None:
    async with (
        thinking(answer) as mind,
        running(tmp_path, furnish(tmp_path) | mind.settings) as daemon,
        WorkspaceClient(daemon.url) as people,
    ):
        journey = Journey(await new_window(daemon.url, "U0ADA", "D0ADA"), daemon, people, mind, _glance)
        await journey.greets_and_welcomes_back()
        await journey.turns_poet_and_scholar()
        await journey.solves_a_problem()
        await journey.asks_back()
        await journey.asks_for_permission()
        await journey.meets_a_second_soul()
        await journey.is_reminded()
        await daemon.at_rest()
        path = iter(await _path(daemon))
        assert [step for step in PATH if step not in path] == [], "in this order, with whatever a slow machine adds"
        known = await daemon.soul("people", "show", "U0ADA")
        assert "- Looks after the nightly imports" in known
        assert "shelf/write_down" in await daemon.soul("approvals", "list", "--state", "used")
        journey.ada.breaks_expected = True  # the daemon ends before the window is closed
        assert [line for line in daemon.log_lines() if " error " in line or " warning " in line] == []


async def _path(daemon: Running) -> tuple[tuple[str, str], ...]:
    steps = json.loads(await daemon.soul("trace", "D0ADA", "--json"))
    return tuple((one["act"], one["target"]) for one in steps if one["act"] in ("enter", "move"))
