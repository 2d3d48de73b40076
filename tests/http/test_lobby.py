"""The lobby of seed 003, played by the example of the documentation beside two daemons; one of each is killed."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import TIMEOUT
from tests.http.births import ROOT, Births, zygote_of_daemons
from tests.http.daemons import bearer

NEVER = 100_000
LOBBY = "/api/shared-context/game-lobby"


@asynccontextmanager
async def player(home: Path, name: str, last: int = NEVER) -> AsyncIterator["Player"]:
    """A process that plays."""
    program = (sys.executable, str(ROOT / "docs" / "examples" / "lobby.py"), str(home), name, str(last))
    process = await asyncio.create_subprocess_exec(*program, cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, stdout=PIPE)
    one = Player(process)
    try:
        yield one
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class Player:
    """What a player prints, line by line."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.version, self.game = 0, dict[str, Any]()

    async def sees(self, **wanted: object) -> dict[str, Any]:
        """Read on to a game with these fields."""
        assert self.process.stdout is not None
        async with asyncio.timeout(TIMEOUT):
            while any(self.game.get(name) != value for name, value in wanted.items()):
                version, _, game = (await self.process.stdout.readline()).partition(b" ")
                self.version, self.game = int(version), json.loads(game)
        return self.game

    async def sees_turns(self, turns: int) -> None:
        """Read on until so many turns were taken."""
        while (await self.sees())["turns"] < turns:
            self.game = {}
            await self.sees(phase="playing")


async def members(births: Births, url: str, key: str) -> set[str]:
    """Who is present at a key, as a daemon says."""
    async with births.client.get(f"{url}/api/shared-context/{key}/presence", headers=bearer()) as response:
        return {one["member"] for one in await response.json()}


async def until_present(births: Births, url: str, key: str, number: int) -> set[str]:
    """Wait until so many are present, and say who; a death rings nobody."""
    async with asyncio.timeout(TIMEOUT):
        while len(found := await members(births, url, key)) != number:  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.02)
    return found


@pytest.mark.slow
async def test_players_join_take_turns_and_go_while_daemons_and_players_are_killed(tmp_path: Path) -> None:
    async with zygote_of_daemons() as births:
        first = await births.start(tmp_path)
        await births.start(tmp_path)
        url = births.url
        async with player(tmp_path, "ada") as ada:
            await ada.sees(phase="lobby", players=["ada"])
            async with player(tmp_path, "ben") as ben:
                await ben.sees(phase="playing", players=["ada", "ben"])
                await ada.sees_turns(6)
                assert await members(births, url, "game-lobby") == {"ada", "ben"}
                await until_present(births, url, "souls", 2)
                await births.kill(first)
                await until_present(births, url, "souls", 1)
                await ada.sees_turns(ada.game["turns"] + 6)
                ben.process.kill()
                await ben.process.wait()
            await ada.sees(phase="lobby", players=["ada"])
            assert await until_present(births, url, "game-lobby", 1) == {"ada"}
            taken = ada.game["turns"]
            async with player(tmp_path, "ben", last=taken + 4) as ben:
                await ben.sees(phase="finished")
                await ada.sees(phase="finished")
                assert await ben.process.wait() == await ada.process.wait() == 0
        assert await members(births, url, "game-lobby") == set()
        async with births.client.get(f"{url}{LOBBY}", headers=bearer()) as response:
            game = (await response.json())["data"]
        assert (game["phase"], game["turns"] >= taken + 4) == ("finished", True)
