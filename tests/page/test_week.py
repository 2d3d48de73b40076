"""A week of talk: the page, a daemon process that lives by the page's clock, and a scripted model together."""

from pathlib import Path

import pytest

from tests.page.conftest import OpenWindow
from tests.page.journey import no_picture
from tests.page.week import begun

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.timeout(400)  # ten seconds on an idle machine
async def test_what_is_learned_shown_and_asked_in_a_week_is_remembered_explained_and_forgotten(
    tmp_path: Path, new_window: OpenWindow
) -> None:
    async with begun(tmp_path, new_window, no_picture) as week:
        await week.gets_to_know_her()
        await week.is_shown_a_picture()
        await week.tells_what_it_knows()
        await week.forgets_her()
        week.window.connection_may_break = True  # the daemon stops before the window is closed
        assert [line for line in week.daemon.log_lines() if " error " in line or " warning " in line] == []
