"""*my keys* and *end key 2*: whoever lost a machine ends its key in Slack, without an admin and at once."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from daemon.local_slack.model import ZONE
from tests.fakes import TIMEOUT
from tests.given import counted_anew
from tests.hooks.client import Client
from tests.journeys.asking import AskedSession, door, new_key
from tests.journeys.house import House

DAY_S = 24 * 3_600.0


@dataclass
class Machines:
    """Two machines of Ada's, each with a session, and one of Ben's."""

    first: AskedSession
    second: AskedSession
    bens: AskedSession


@pytest.fixture
async def machines(house: House, tmp_path: Path) -> AsyncIterator[Machines]:
    async with door(house) as url:
        made = list[AskedSession]()
        for number, (person, name) in enumerate((("U0ADA", "laptop"), ("U0ADA", "*desk*`top"), ("U0BEN", "bens-box"))):
            key = await new_key(house, person)
            await house.change(f"UPDATE keys SET machine = '{name}' WHERE id = '{key.split('-')[2]}'")
            client = Client(tmp_path / f"api{number}", url, key)
            await client.report("SessionStart", session_id=f"s{number}", source="startup")
            made.append(AskedSession(house, client))
            house.clock.turn(DAY_S)
        yield Machines(*made)


async def opens(session: AskedSession) -> bool:
    """Whether its key still opens the door."""
    got = await session.ask("GET", "/api/sessions")
    assert got.status in {200, 401}
    return got.status == 200


async def test_a_person_sees_their_own_machines_with_when_they_were_used(house: House, machines: Machines) -> None:
    listed = await house.answered("Ada", "dm", "My keys?")
    rows = await house.rows("SELECT created_ms FROM keys ORDER BY created_ms")
    days = [f"{datetime.fromtimestamp(one['created_ms'] / 1000, ZoneInfo(ZONE)):%Y-%m-%d}" for one in rows]
    assert listed.splitlines() == [
        "These machines have a key of yours, for the sessions of Claude Code there:",
        f"#1. `laptop`: made {days[0]}, used last {days[0]}",
        f"#2. `*desk*'top`: made {days[1]}, used last {days[1]}",
        "*end key 1* ends that one at once, *end my keys* ends all of them.",
    ]
    assert not counted_anew(listed)
    await new_key(house)
    assert "\n#3. a machine whose name I don't know: made" in await house.answered("Ada", "dm", "meine Schlüssel")
    assert "bens-box" in await house.answered("Ben", "dm", "list my keys")
    assert await opens(machines.bens)
    assert house.prompts == [], "no model is called"
    for said in ("my keys", "end key 1", "end my keys"):
        answer = await house.answered("Ada", "general", f"@soul {said}")
        assert answer == "Others read here. Say that to me in a direct message."
    assert await opens(machines.first)


async def test_an_ended_key_opens_nothing_and_the_others_keep_their_numbers(house: House, machines: Machines) -> None:
    assert "that of `laptop`" in await house.answered("Ada", "dm", "end key 1")
    assert [await opens(one) for one in (machines.first, machines.second, machines.bens)] == [False, True, True]
    listed = await house.answered("Ada", "dm", "my keys")
    assert "laptop" not in listed
    assert "\n#2. `*desk*'top`" in listed
    for number in (0, 1, 3, 9999):
        assert f"You have no active key {number}." in await house.answered("Ada", "dm", f"end key {number}")
    assert await opens(machines.second)
    acts = await house.rows("SELECT actor, act FROM audit WHERE act = 'end own key'")
    assert [tuple(row) for row in acts] == [("U0ADA", "end own key")]


async def test_whoever_waits_with_a_key_hears_at_once_that_it_is_ended(house: House, machines: Machines) -> None:
    waits = "{}/notes?wait=25", "none/notes?wait=25&wakes=yes&process=far/boot/1/4/99"
    paths = [f"/api/sessions/{wait}" for wait in waits]
    waiting = [asyncio.create_task(machines.first.ask("GET", path.format("s0"))) for path in paths]
    others = [asyncio.create_task(machines.second.ask("GET", path.format("s1"))) for path in paths]
    await house.answered("Ada", "dm", "end key 1")
    async with asyncio.timeout(TIMEOUT):
        assert [(await one).status for one in waiting] == [401, 401]
    assert not any(one.done() for one in others)
    await house.answered("Ada", "dm", "end my keys")
    async with asyncio.timeout(TIMEOUT):
        assert [(await one).status for one in others] == [401, 401]


async def test_all_keys_end_with_what_is_to_be_fetched_and_threads_hear_so(house: House, machines: Machines) -> None:
    await machines.second.client.report("SessionStart", session_id="s1", source="resume")  # it was silent for two days
    await house.change(f"UPDATE sessions SET seen_ms = {house.clock.now_ms()}")  # the hooks have the machine's clock
    name = (await house.one("SELECT name FROM sessions WHERE id = 's1'"))["name"]
    await house.say("Ada", "general", f"@soul bind {name} here")
    await house.reply("general", "From now on what")
    await house.change(
        """
        INSERT INTO pairings (id, workspace, front, code, secret, machine, state, person, key, created_ms, until_ms)
        VALUES ('p1', 'T0LOCAL', 'f', 'c', 's', 'new-box', 'allowed', 'U0ADA', '0a1b2c3d', 1, 9e15)
        """
    )
    assert "All your keys are ended (2)" in await house.answered("Ada", "dm", "End all my keys!")
    assert [await opens(one) for one in (machines.first, machines.second, machines.bens)] == [False, False, True]
    assert (await house.one("SELECT state FROM pairings"))["state"] == "dead"
    await house.settled("general", "takes nothing from here now")
    for said in ("my keys", "end my keys"):
        assert await house.answered("Ada", "dm", said) == "No machine has a key of yours."
