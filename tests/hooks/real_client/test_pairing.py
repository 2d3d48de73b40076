"""`/soul:pair` in a session of the real client: its person types the code to the soul and clicks, and has a key."""

import asyncio
import json
import re
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.hooks.real_client.rig import ClientTerminal, Installed
from tests.hooks.real_client.stand_in import StandIn
from tests.journeys.asking import door
from tests.journeys.conftest import empty_house, house
from tests.journeys.house import House, said
from tests.journeys.problems import press

__all__ = ("empty_house", "house")
pytestmark = pytest.mark.slow
CODE = re.compile(r"pair ([A-Z]{4}-[A-Z]{4})")


async def _code(api: StandIn) -> str:
    """The code that the model was shown, once it was."""
    async with asyncio.timeout(TIMEOUT):
        while not (found := CODE.search(json.dumps([body["messages"] for body in api.bodies]))):  # noqa: ASYNC110  # no event says so
            await asyncio.sleep(0.05)
    return found[1]


async def test_a_session_pairs_its_machine_and_joins(house: House, api: StandIn, tmp_path: Path) -> None:
    async with door(house) as url:
        client = Installed(tmp_path / "machine", api.url, url, "")
        await client.install()
        fetching = f"python3 {client.home.parent / 'market' / 'hooks' / 'pair.py'} --finish"
        api.uses["Then run the command above"] = ("Bash", {"command": fetching})
        async with ClientTerminal(client, "--permission-mode", "default") as terminal:
            await client.until_hook("SessionStart")
            await terminal.type(f"/soul:pair {url}")
            await house.say("Ada", "dm", f"pair {await _code(api)}")
            asked = await house.reply("D0ADA", "A machine asks for a key of yours")
            await house.idle()
            assert await press(house, "Ada", "D0ADA", asked["ts"], "soul_pair_project") == "accepted"
            assert "fetches its key now" in said(await house.reply("D0ADA", "fetches its key now"))
            await client.until_hook("Stop")
            await house.when(lambda: _is_there(house))  # the session joins with the first hook that finds the key
        kept = json.loads((client.home / ".config" / "soul" / "session.json").read_text())
        assert kept["url"] == url
        told = json.dumps(api.bodies)
        assert "This machine is paired" in told
        assert kept["key"] not in told


async def _is_there(house: House) -> bool:
    ada = await house.person("Ada")
    return bool(await house.rows("SELECT 1 FROM sessions WHERE person = ? AND state = 'idle'", ada))
