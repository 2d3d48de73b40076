"""A day in a team of four: the page, a daemon process that lives by the page's clock, and a scripted model together."""

from pathlib import Path

import pytest

from tests.page.conftest import OpenWindow
from tests.page.day import begun
from tests.page.journey import no_picture

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.timeout(400)  # fifteen seconds on an idle machine
async def test_a_team_invites_it_in_the_morning_and_reads_its_digest_on_the_next(
    tmp_path: Path, new_window: OpenWindow
) -> None:
    async with begun(tmp_path, new_window, no_picture) as day:
        await day.is_lived()
        for window in day.windows.values():
            window.connection_may_break = True  # the daemon stops before the windows are closed
        assert [line for line in day.daemon.log_lines() if " error " in line or " warning " in line] == []
