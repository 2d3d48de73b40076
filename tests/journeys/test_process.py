"""The daemon as an admin starts it: its own process, a foreign folder, documented variables alone."""

import signal
from pathlib import Path

import pytest

from daemon.local_slack.server import serve_workspace
from tests.fakes import TIMEOUT
from tests.journeys.house import said
from tests.journeys.processes import started, variables_for
from tests.workspace_client import WorkspaceClient

pytestmark = pytest.mark.slow


async def test_it_starts_answers_a_dm_and_stops_cleanly_on_sigterm(tmp_path: Path) -> None:
    async with (
        serve_workspace() as workspace,
        WorkspaceClient(workspace.page_url) as people,
        started(tmp_path, "run", **variables_for(workspace)) as process,
    ):
        await process.until("Connected.")
        await people.say("Ada", "dm", "are you there?")
        post = (await people.wait_for_post("D0ADA", timeout=TIMEOUT))[0]
        assert "are you there?" in said(post)
        process.tell(signal.SIGTERM)
        assert await process.ended() == 0, process.lines
    assert (tmp_path / "memory.db").stat().st_mode & 0o077 == 0, "it is its owner's alone"
