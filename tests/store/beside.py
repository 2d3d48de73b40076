"""A memory with one of each thing that a passport holds beside memories."""

from pathlib import Path
from typing import Final

from daemon.core.perception import Place
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import Sense, Trust
from daemon.memory.knowledge.records.store import put
from daemon.memory.knowledge.shared_files import SenseBytes
from daemon.memory.knowledge.soul_states import NewState, SoulStates
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import IDLE, store_intentions
from daemon.memory.records import Worker
from tests.fakes import FakeClock
from tests.store.passports import HERE, MADE, WHERE, remember

HOUR: Final = 3_600_000
PICTURE: Final = b"\xff\xd8\xff a picture"
WORKER: Final = Worker("w1", "minoan", "T1", 60_000)
WHISPER: Final = "She is tired of billing"


async def fill(database: Database, clock: FakeClock, home: Path) -> None:
    now = clock.now_ms()
    shown = SenseBytes(home).put(PICTURE)

    async def unit(transaction: Transaction) -> None:
        await remember(transaction, [], MADE)
        plans = [
            NewIntention(slot="reminder-a", due_ms=now + HOUR, content="Call Ben", behalf="U1"),
            NewIntention(slot="weekly", every="0 9 * * 1", content="Plan the week", behalf="U1"),
            NewIntention(slot="reminder-b", due_ms=now + HOUR, content="Release", behalf="U1", cue="silence"),
            NewIntention(slot=IDLE, due_ms=now + HOUR, behalf="U1"),
        ]
        refused = await store_intentions(
            transaction, conversation=WHERE, place=Place.DM, audience=HERE, intentions=plans, now=now, most=100
        )
        assert refused == ()
        scope = {"soul": "minoan", "workspace": "T1", "person": "U1", "audience": str(HERE)}
        await transaction.insert(
            "user_models", **scope, version=1, name="Ann", whispers=WHISPER, visits=2, interactions=5, updated_ms=now
        )
        await transaction.insert(
            "user_model_history",
            **scope,
            version=1,
            notes="[]",
            whispers=WHISPER,
            change='{"added": []}',
            trace_id="t",
            made_ms=now,
        )
        picture = Sense(
            soul="minoan",
            workspace="T1",
            audience=HERE,
            channel="D1",
            text="A bee",
            at_ms=now,
            trust=Trust.DOCUMENT,
            person="U1",
            conversation=str(WHERE),
            data_type="image",
            raw_data_ref=shown,
            bytes=len(PICTURE),
        )
        await put(transaction, picture, now)

    await database.write(unit)
    states = SoulStates(database, clock, WORKER)
    assert await states.revise(HERE, WHERE, NewState("calm", "bees", "count them", "Why bees?"), instead_of=None)
