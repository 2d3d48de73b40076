"""Ada's first days with a soul: the page, a daemon process and a scripted model together."""

import json
from pathlib import Path

import pytest

from daemon.local_slack.client import WorkspaceClient
from tests.page.conftest import OpenWindow
from tests.page.journey import Journey, answer, furnish
from tests.page.loopback_model import loopback_model
from tests.page.running import RunningDaemon, running_daemon

pytestmark = pytest.mark.asyncio(loop_scope="session")

PATH = [  # the states her direct messages lead through; `stay` and the visits that silence causes are left out
    ("enter", "greeting"),
    ("move", "curious"),
    ("enter", "returning"),
    ("move", "engaged"),
    ("move", "poetic"),
    ("move", "academic"),
]


async def _no_picture(name: str, view: str) -> None:
    """The test takes no pictures."""


@pytest.mark.timeout(400)  # ten seconds on an idle machine
async def test_the_first_days_lead_through_every_state_and_leave_no_warning(
    tmp_path: Path, new_window: OpenWindow
) -> None:
    async with (
        loopback_model(answer) as model,
        running_daemon(tmp_path, furnish(tmp_path) | model.settings) as daemon,
        WorkspaceClient(daemon.page_url) as people,
    ):
        journey = Journey(await new_window(daemon.page_url, "U0ADA", "D0ADA"), daemon, people, model, _no_picture)
        await journey.greets_and_welcomes_back()
        await journey.turns_poet_and_scholar()
        await journey.solves_a_problem()
        await journey.asks_back()
        await journey.asks_for_permission()
        await journey.meets_a_second_soul()
        await journey.is_reminded()
        await daemon.at_rest()
        assert await _path(daemon) == PATH
        known = await daemon.soul("people", "show", "U0ADA")
        assert "- Looks after the nightly imports" in known
        assert "shelf/write_down" in await daemon.soul("approvals", "list", "--state", "used")
        journey.ada.connection_may_break = True  # the daemon stops before the window is closed
        assert [line for line in daemon.log_lines() if " error " in line or " warning " in line] == []


async def _path(daemon: RunningDaemon) -> list[tuple[str, str]]:
    steps = json.loads(await daemon.soul("trace", "D0ADA", "--json"))
    return [(one["act"], one["target"]) for one in steps if one["act"] in ("enter", "move")]
