"""How fast ten thousand waiting conversations are worked off, against a few hundred, and one user behind a flood."""

import asyncio
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from bench.model_server import model_server
from bench.plan import Bench
from bench.report import Row
from bench.stage import Bot, Stage, stage
from bench.thinker import tagged
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports.arrivals import NewMessage, Source
from daemon.core.ports.services import SystemClock
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.store import open_store

_USERS = 200
_AT_ONCE = 64
_FEW = 700
_WARM, _MEASURED = 200, 400  # replies before the measurement, and in it
_WITHIN = 120.0
_FLOOD = 200  # threads that one user opens
_THINKS = 1.0  # seconds a model call takes meanwhile


async def measure(bench: Bench) -> list[Row]:
    """Replies a second with many and with few waiting; seconds until a DM is answered behind another's flood."""
    many = bench.size(10_000, 3_000)
    rate, plain = await _worked_off(many), await _worked_off(_FEW)
    return [
        Row(f"{many} conversations waiting", "replies/s", rate),
        Row(f"{many} conversations waiting to {_FEW}, replies/s", "", rate / plain, at_least=0.5),
        Row(f"a DM behind {_FLOOD} threads of another, a model of 1 s", "s", await _behind_a_flood(), at_most=10),
    ]


async def _worked_off(number: int) -> float:
    """Replies a second while so many conversations wait; over HTTP, whose replies need no other party."""
    async with stage(Bot.OURS) as set_up:
        await set_up.start()
        await set_up.stop()
        await _fill(set_up.home / "memory.db", number)
        await set_up.start()
        began = await _answered(set_up, _WARM)
        return _MEASURED / (await _answered(set_up, _WARM + _MEASURED) - began)


async def _answered(set_up: Stage, number: int) -> float:
    """Wait until so many are answered; the moment. Raises TimeoutError."""
    path = set_up.home / "memory.db"

    def look() -> int:
        with closing(sqlite3.connect(path, timeout=10)) as connection:
            return int(connection.execute("SELECT count(*) FROM turns WHERE speaker = 'soul'").fetchone()[0])

    async with asyncio.timeout(_WITHIN):
        while await asyncio.to_thread(look) < number:
            await set_up.clock.sleep(0.05)
    return set_up.clock.monotonic()


async def _fill(path: Path, number: int) -> None:
    """Store messages as if they had arrived while the daemon was away, several of each user."""
    clock = SystemClock()
    async with open_store(
        path,
        clock,
        lambda event, /, **fields: None,
        soul="minoan",
        workspace="T0LOCAL",
        kind="bench",
        version="0",
        lease=30.0,
        on_accepted=lambda _: None,
    ) as store:
        for first in range(0, number, _AT_ONCE):
            async with asyncio.TaskGroup() as group:
                for one in range(first, min(number, first + _AT_ONCE)):
                    group.create_task(store.inbox.accept(_message(clock, one)))


def _message(clock: SystemClock, number: int) -> NewMessage:
    user = f"http.u{number % _USERS}"
    perception = Perception.of_message(
        conversation=ConversationKey("minoan", "T0LOCAL", "http", f"s{number}"),
        ts=f"{clock.now_ms() // 1000}.{number:06d}",
        author=user,
        content="please",
        place=Place.TERMINAL,
        audience=Audience(AudienceKind.DM, f"{user}.{number}"),
    )
    message = NewMessage(f"bench-{number}", perception, addressed=True, message_id=f"m{number}")
    return replace(message, source=Source.BACKFILL)


async def _behind_a_flood() -> float:
    async with model_server() as model:
        model.pieces, model.pause = [tagged("Well then.")], _THINKS
        async with stage(Bot.OURS, **model.settings) as set_up:
            await set_up.start()
            async with asyncio.TaskGroup() as group:
                for _ in range(_FLOOD):
                    group.create_task(set_up.say("ben", "general", f"@soul {set_up.marked()}"))
            message = await set_up.say("ada", "dm", set_up.marked())
            return await set_up.reply_to(message, _WITHIN)
