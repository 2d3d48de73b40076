"""A promise on the page: the page, a daemon process that lives by the page's clock, and a scripted model together."""

import json
from pathlib import Path

import pytest

from tests.page.conftest import OpenWindow
from tests.page.journey import no_picture
from tests.page.promised import begun

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.timeout(400)  # ten seconds on an idle machine
async def test_what_is_promised_is_kept_in_time_and_the_admin_sees_each_thought(
    tmp_path: Path, new_window: OpenWindow
) -> None:
    async with begun(tmp_path, new_window, no_picture) as talk:
        await talk.promises()
        await talk.says_what_it_has_in_mind()
        await talk.keeps_it()
        thoughts = json.loads(await talk.daemon.soul("thoughts", "--json"))
        assert [one["occasion"] for one in thoughts] == ["words", "words", "due", "words"]
        assert [one["previous"] for one in thoughts] == ["", *(one["id"] for one in thoughts[:-1])]
        goals = json.loads(await talk.daemon.soul("goals", "list", "--words", "--private", "--json"))
        assert {one["goal"]: one["state"] for one in goals} == {
            "the nightly import": "done",
            "find out what locks events_archive": "open",
        }
        talk.window.connection_may_break = True  # the daemon stops before the window is closed
        assert [line for line in talk.daemon.log_lines() if " error " in line or " warning " in line] == []
