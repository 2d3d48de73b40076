"""Days with the rehearsal model in a daemon as `./scripts/run` starts it: no language model, and moved time."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import aiohttp
import pytest

from daemon.core.value import Value
from tests.page.running import RunningDaemon, running_daemon
from tests.workspace_client import WorkspaceClient

HOUR: Final = 3_600
_IDLE: Final = """
    SELECT NOT EXISTS (SELECT 1 FROM conversations WHERE waiting_ms IS NOT NULL OR lease_owner <> '')
      AND NOT EXISTS (SELECT 1 FROM outbox WHERE state IN ('drafting', 'pending', 'sending'))
    """
_SOUL: Final = """\
name = "soul"
display_name = "Soul"
mind = "cycle"
subprocesses = []
"""


class Days(Value):
    """A daemon with the workspace that it serves, in which Ada writes."""

    daemon: RunningDaemon
    people: WorkspaceClient

    async def say(self, words: str) -> str:
        """Send a direct message; gives the reply, once nothing is in work."""
        said = self.daemon.count("SELECT count(*) FROM inbox WHERE modality = 'words'")
        await self.people.say("ada", "dm", words)
        await self.daemon.until("SELECT count(*) > ? FROM inbox WHERE modality = 'words' AND state = 'answered'", said)
        await self.daemon.until(_IDLE)
        return (await self.posts())[-1]

    async def posts(self) -> list[str]:
        """All that the soul has posted to Ada."""
        return [str(post["text"]) for post in await self.people.posts_by_bot("D0ADA")]

    async def later(self, seconds: float) -> None:
        """Move the clock of the workspace, by which the daemon lives."""
        base, _, key = self.daemon.page_url.partition("?key=")
        async with aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session:
            order = {"advance": seconds}
            async with session.post(f"{base.rstrip('/')}/_control/clock", json=order) as response:
                assert response.status == 200, await response.text()

    async def thoughts(self) -> list[dict[str, object]]:
        """What `soul mind thoughts` lists."""
        found: list[dict[str, object]] = json.loads(await self.daemon.soul("mind", "thoughts", "--json"))
        return found


@pytest.fixture
async def days(tmp_path: Path) -> AsyncIterator[Days]:
    folder = tmp_path / "souls" / "soul"
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text(_SOUL)
    (folder / "soul.md").write_text("You are a colleague.\n")
    (folder / "awakening.md").write_text("You begin today.\n")
    settings = {
        "SOUL_NAME": "soul",
        "SOUL_PERSONA_MODEL": "placeholder/rehearsal",
        "SOUL_CYCLE_ENABLED": "true",
        "SOUL_QUIET_HOURS": "",
    }
    async with running_daemon(tmp_path, settings) as daemon, WorkspaceClient(daemon.page_url) as people:
        yield Days(daemon, people)


@pytest.mark.slow
@pytest.mark.timeout(400)  # ten seconds on an idle machine
async def test_it_awakens_promises_and_keeps_its_promise_on_the_default_budget(days: Days) -> None:
    await days.daemon.until("SELECT count(*) FROM thoughts WHERE occasion = 'awakening'")
    said = await days.say("say: I'll look.\nfollow up: the import by 2h")
    assert "I'll come back to “the import” by " in said
    await days.daemon.until(_IDLE)
    await days.later(2 * HOUR + 60)
    await days.daemon.until("SELECT count(*) FROM goals WHERE state = 'done'")
    await days.daemon.until(_IDLE)
    assert (await days.posts())[1:] == ["You wanted: the import"]
    assert [(one["occasion"], one["spoke"]) for one in await days.thoughts()] == [
        ("awakening", False),
        ("words", True),
        ("due", True),
    ]
    await days.later(24 * HOUR)
    await days.daemon.until(_IDLE)
    assert len(await days.thoughts()) == 3
    assert not [line for line in days.daemon.log_lines() if "tick.skipped" in line or " error " in line]
