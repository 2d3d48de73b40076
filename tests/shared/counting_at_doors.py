"""Counts in contexts over HTTP, through several daemons that are killed meanwhile.

Each context holds how far every counter has come, so that one whose daemon is killed goes on where it was: a write in
doubt is looked up.
"""

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Final

import aiohttp

from daemon.core.ports.services import Clock
from daemon.memory.database.sqlite import sqlite3

KEYS: Final = ("left", "right")
_CHANGED: Final = 412
_PAUSE_S: Final = 0.02
_WITHIN: Final = aiohttp.ClientTimeout(total=30.0)


class StepCounter:
    """One that counts under `name`; `doors` is a file with the address of a daemon a line, the token after it.

    Each step takes a connection of its own, to the one or the other.
    """

    def __init__(self, doors: Path, name: str, clock: Clock) -> None:
        self._doors = doors
        self._name = name
        self._clock = clock

    async def count_to(self, times: int) -> None:
        """Count at each key until so many steps are its own."""
        for key in KEYS:
            done = 0
            while done < times:
                while (now := await self._reached(key, times)) <= done:
                    await self._clock.sleep(random.uniform(0.001, _PAUSE_S))
                done = now

    async def _reached(self, key: str, times: int) -> int:
        """As `_step`; 0 where the daemon was killed meanwhile: then the next look tells."""
        try:
            return await self._step(key, times)
        except (aiohttp.ClientError, TimeoutError):
            return 0

    async def _step(self, key: str, times: int) -> int:
        """Read, and add one unless all is done or another was faster; gives how many steps are done now."""
        url, token = random.choice(self._doors.read_text(encoding="utf-8").splitlines()).split()
        where, headers = f"{url}/api/shared-context/{key}", {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(timeout=_WITHIN, headers=headers, raise_for_status=_unless_changed) as client:
            async with client.get(where) as found:
                tag, data = found.headers["ETag"], (await found.json())["data"]
            done = data.get("done", {})
            steps = int(done.get(self._name, 0))
            if steps >= times:
                return steps
            more = {"count": data.get("count", 0) + 1, "done": {**done, self._name: steps + 1}}
            async with client.put(where, json=more, headers={"If-Match": tag}) as written:
                return steps + (written.status != _CHANGED)


async def _unless_changed(response: aiohttp.ClientResponse) -> None:
    if response.status != _CHANGED:
        response.raise_for_status()


def counted(home: Path) -> dict[str, int]:
    """What memory.db has under each key; a context that lost no step holds as many as its counters did."""
    with closing(sqlite3.connect(home / "memory.db")) as connection:
        rows = connection.execute("SELECT context_key, data FROM shared_context").fetchall()
    return {key: json.loads(data)["count"] for key, data in rows}
