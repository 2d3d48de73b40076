"""A memory.db in which two people spoke, and much rests on the words of the one who is forgotten."""

from typing import Any

from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import Core, Episode, Fact, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from daemon.memory.records import Speaks, Turn
from daemon.memory.stream.keeping import CycleThoughts
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM, effect, new_message
from tests.store.parts import Stores
from tests.store.thinking import members, new_thought

CANARY = "quincunx"
ADA, BEN = "U0ADA", "U0BEN"
ROOM = ConversationKey(SOUL, TEAM, "C1", "1.0")
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)


async def fill(database: Database) -> None:
    """Ada and Ben spoke; facts, an episode of both and a core of Ada's alone rest on their words."""
    stores = Stores.of(database, FakeClock(auto=True))
    for ts, author, words in (("1.0", ADA, f"my {CANARY}"), ("2.0", BEN, "I weave"), ("3.0", ADA, f"{CANARY} again")):
        message = new_message(ts=ts, text=words, author=author, conversation=ROOM, audience=EVERYBODY)
        await stores.inbox.accept(message)
        claim = await stores.claim()
        said = (Turn(Speaks.PERSON, author, author, ts, words), Turn(Speaks.SOUL, SOUL, SOUL, ts, f"about {words}"))
        thoughts = CycleThoughts((new_thought(f"they said {words}"),), members(f"workspace:{TEAM}"))
        made = replace(effect(claim, f"about {words}"), turns=said, trace_id=f"trace {ts}", thoughts=thoughts)
        delivery = await stores.commits.commit(made)
        assert delivery is not None
        await stores.outbox.sent(delivery, f"9{ts}")
    rows = await database.rows("SELECT seq, author, conversation, audience FROM turns WHERE speaker = 'person'")
    turns = {row["author"]: f"TU_{row['seq']}" for row in rows}
    common: dict[str, Any] = {
        "soul": SOUL,
        "workspace": TEAM,
        "audience": Audience.parse(rows[0]["audience"]),
        "channel": rows[0]["conversation"].split("/")[2],
        "at_ms": 1,
        "trust": Trust.OWN,
    }

    async def unit(transaction: Transaction) -> None:
        fact = Fact(
            **common, person=ADA, text=f"has a {CANARY}", subject=ADA, predicate="has", object=CANARY, valid_from_ms=1
        )
        await put(transaction, fact, 1, [Link("", Relation.EVIDENCE, turns[ADA], f"my {CANARY}")])
        shared = await put(
            transaction,
            Episode(**common, text=f"they spoke of a {CANARY}", state="closed"),
            1,
            [Link("", Relation.TURN_REFS, turns[ADA]), Link("", Relation.TURN_REFS, turns[BEN])],
        )
        await put(
            transaction,
            Core(**common, text=f"a core of a {CANARY}", state="closed"),
            1,
            [Link("", Relation.SOURCES, shared.id)],
        )

    await database.write(unit)
