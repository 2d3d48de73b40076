"""From a question in Slack to a session and from its answer to the thread, without the time that the session thinks.

The session is a program on loopback that answers at once: over the long poll for its notes, or as its hooks do at the
end of a turn. How long the hook's script itself takes is the figure `hooks`.
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from bench.household import Household, household
from bench.plan import Bench
from bench.report import Row, quantile
from bench.stage import Stage, everything
from daemon.core.ports.services import SystemClock
from daemon.core.sessions import Visibility
from daemon.memory.database import open_database
from daemon.memory.shared.keys import KeyAdmin

_AN_HOUR: Final = 18  # questions to one session; 20 are the most
_OWNER: Final = "U0ADA"
_WITHIN_S: Final = 30.0


@dataclass
class Times:
    """Milliseconds to the session and back."""

    there: list[float] = field(default_factory=list)
    back: list[float] = field(default_factory=list)


class Asked:
    """One session of Ada's, in a project of its own."""

    def __init__(self, house: Household, client: aiohttp.ClientSession, number: int) -> None:
        self.id, self.name = f"s{number}", f"ada-p{number}"
        self._set_up, self._client, self._events = house.set_up, client, 0
        (self._url,) = house.addresses

    async def event(self, hook: str, *, said: str = "", **fields: object) -> dict[str, Any]:
        """Report what its hook would; `said` is the answer to what it was handed."""
        self._events += 1
        now = SystemClock().now_ms()
        folder = f"/home/ada/{self.name.partition('-')[2]}"
        given = {"session_id": self.id, "hook_event_name": hook, "cwd": folder} | fields
        body = {"id": f"{self.id}-{self._events}", "sent_ms": now, "hook": given, "root": folder, "said": said}
        where = {"process": f"far/boot/1/{4000 + int(self.id[1:])}/99", "host": "far", "branch": "main"}
        async with self._client.post(f"{self._url}/api/sessions/events", json=body | where) as response:
            response.raise_for_status()
            return dict(await response.json())

    async def notes(self) -> list[dict[str, Any]]:
        """Wait for what it is asked."""
        async with self._client.get(f"{self._url}/api/sessions/{self.id}/notes?wait=25") as response:
            return list(await response.json())

    async def answer(self, note: str, text: str) -> None:
        """Answer it."""
        where = f"{self._url}/api/sessions/{self.id}/notes/{note}/answer"
        async with self._client.post(where, json={"text": text}) as response:
            response.raise_for_status()


async def measure(bench: Bench) -> list[Row]:
    """Milliseconds to the session and back, by both ways."""
    size = bench.size(90, 18)
    async with household("wal", daemons=1) as house:
        await house.set_up.until(lambda: _connected(house.set_up), _WITHIN_S)
        headers = {"Authorization": f"Bearer {await _key(house)}"}
        async with aiohttp.ClientSession(headers=headers) as client:
            polled, at_end = Times(), Times()
            for number in range(size):
                if not number % _AN_HOUR:
                    one = Asked(house, client, number // _AN_HOUR)
                    await one.event("SessionStart", source="startup")
                await (_at_end(one, house, number, at_end) if number % 2 else _polled(one, house, number, polled))
    asked = f"{size // 2} questions to a session"
    return [*_rows(f"{asked} by its long poll", polled), *_rows(f"{asked} at the end of its turn", at_end)]


async def _polled(one: Asked, house: Household, number: int, times: Times) -> None:
    poll = asyncio.get_running_loop().create_task(one.notes())
    message = await house.set_up.say("ada", "dm", f"ask {one.name}: number {number}?")
    (note,) = await poll
    times.there.append(_since(float(message["ts"])))
    began = SystemClock().now_ms() / 1000
    await one.answer(note["id"], f"It is {number}.")
    times.back.append(1000 * (await _posted(house.set_up, f"It is {number}.") - began))


async def _at_end(one: Asked, house: Household, number: int, times: Times) -> None:
    message = await house.set_up.say("ada", "dm", f"ask {one.name}: number {number}?")
    await house.set_up.reply_to(message, _WITHIN_S)  # it says that the session reads it
    turn = f"turn {number}"
    await one.event("UserPromptSubmit", prompt_id=turn)
    began = SystemClock().now_ms() / 1000
    found = await one.event("Stop", prompt_id=turn, stop_hook_active=False)
    assert found["note"] is not None, json.dumps(found)
    times.there.append(_since(began))
    began = SystemClock().now_ms() / 1000
    await one.event("Stop", prompt_id=turn, stop_hook_active=True, said=f"It is {number}.")
    times.back.append(1000 * (await _posted(house.set_up, f"It is {number}.") - began))


async def _posted(set_up: Stage, words: str) -> float:
    """When the post with these words was made."""
    found: list[float] = []

    async def look() -> bool:
        calls = await set_up.people.calls("chat.postMessage")
        found.extend(call["at"] for call in calls[-3:] if words in everything(call["args"]))
        return bool(found)

    await set_up.people.wait_for(look, _WITHIN_S)
    return found[0]


async def _connected(set_up: Stage) -> bool:
    return await set_up.people.sockets() > 0


async def _key(house: Household) -> str:
    clock = SystemClock()
    async with open_database(house.home / "memory.db", clock, create=False) as database:
        return (await KeyAdmin(database, clock, "bench").add(_OWNER, Visibility.PROJECT))[1]


def _since(moment: float) -> float:
    return SystemClock().now_ms() - 1000 * moment


def _rows(name: str, times: Times) -> list[Row]:
    both = [there + back for there, back in zip(times.there, times.back, strict=True)]
    kinds = {"to the session": times.there, "from its answer to the thread": times.back, "both": both}
    shares = {"p50": 0.5, "p95": 0.95}
    return [
        Row(f"{name}: {kind}, {called}", "ms", quantile(found, share))
        for kind, found in kinds.items()
        for called, share in shares.items()
    ]
