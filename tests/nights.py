"""Consolidation of a memory.db without a platform: what is known of Ann, and the daemon's work on it at night."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.services import Clock
from daemon.core.spending import Charge
from daemon.core.value import Value
from daemon.memory.consolidation.slots import NightStores, night_stores
from daemon.memory.consolidation.undo import Undone, undo
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.kinds import Episode, Fact, StructuredSummary, Trust, WorkflowState
from daemon.memory.knowledge.records.links import Link, Relation, link, turn_id
from daemon.memory.knowledge.records.store import put
from daemon.memory.records import Speaks, Worker
from daemon.mind.cognition import Mind
from daemon.processes.consolidation import PARTS
from daemon.processes.consolidation.night import Parts
from daemon.runtime.consolidation import Consolidator, NightPlan
from daemon.soul import Soul
from daemon.soul_engine import build_prompt
from tests.fakes import Events
from tests.given import DM, HERE, LEASE, SOUL, TEAM, soul
from tests.models import ScriptedLLM
from tests.store.parts import met, room, spoken

ANN = "U1"
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
GENERAL = ConversationKey(SOUL, TEAM, "C1")
PLAN = NightPlan("0 3 * * *", "", 50_000)
DAY_S = 86_400.0
NONCE = "n0nce"


class _AtWork(Value):
    """The clock of a daemon at work: it is not turned meanwhile, and what waits on it waits until the work is done."""

    clock: Clock

    def now_ms(self) -> int:
        return self.clock.now_ms()

    def monotonic(self) -> float:
        return self.clock.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


async def _no_jobs() -> bool:
    return False


@dataclass
class Nights:
    """One daemon's nights on a memory.db; `llm` answers its model calls, `learn` does a job of learning."""

    database: Database
    clock: Clock
    name: str = "worker-1"
    soul_name: str = SOUL
    plan: NightPlan = PLAN
    parts: Parts = field(default_factory=lambda: PARTS)
    soul: Soul = field(default_factory=soul)
    llm: ScriptedLLM = field(default_factory=ScriptedLLM)
    events: Events = field(default_factory=Events)
    has_room: bool = True
    learn: Callable[[], Awaitable[bool]] = _no_jobs
    stores: NightStores = field(init=False)

    def __post_init__(self) -> None:
        self.stores = night_stores(
            self.database, self.clock, Worker(self.name, self.soul_name, TEAM, int(LEASE * 1000))
        )

    @property
    def daemon(self) -> Consolidator:
        async def mind(who: Soul, record, charge: Charge, audiences, _nonce: str) -> Mind:  # type: ignore[no-untyped-def]  # noqa: ANN001
            return Mind(
                llm=self.llm,
                render=lambda memory, step: build_prompt(memory, step, budgets=who.budgets, nonce=NONCE),
                clock=self.clock,
                record=record,
                cost=lambda _: None,
                trace_id=charge.trace_id,
                audience=audiences[0],
            )

        async def no_visits(_: int) -> None:
            """There are no visits here."""

        return Consolidator(
            _AtWork(self.clock),
            self.events,
            lambda: self.soul,
            mind,
            self.stores,
            self.parts,
            self.plan,
            no_visits,
            self.learn,
            lambda: self.has_room,
        )

    async def pass_one(self, days: float = 1.0) -> None:
        """Let the time of a night pass, and do what is due then."""
        await self.daemon.look()  # from now on slots count
        await self.clock.sleep(days * DAY_S)
        await self.daemon.look()

    async def knows(self, line: str, **fields: object) -> str:
        """A fact about Ann; gives its id."""
        here, open_to_all = replace(DM, soul=self.soul_name), replace(GENERAL, soul=self.soul_name)
        given: dict[str, object] = {
            "soul": self.soul_name,
            "workspace": TEAM,
            "audience": HERE,
            "channel": DM.channel,
            "conversation": str(here),
            "person": ANN,
            "trust": Trust.OWN,
            "subject": ANN,
            "predicate": "said",
            "object": line,
            "text": line,
            "at_ms": self.clock.now_ms(),
            "valid_from_ms": self.clock.now_ms(),
        }
        await room(self.database, here)
        await room(self.database, open_to_all, EVERYBODY)
        await met(self.database, name="Ann", soul=self.soul_name)
        fact = Fact(**{**given, **fields})  # type: ignore[arg-type]
        stored = await self.database.write(lambda transaction: put(transaction, fact, self.clock.now_ms()))
        return stored.id

    async def visited(
        self, text: str, *, key: ConversationKey = DM, audience: Audience = HERE, person: str = ANN
    ) -> str:
        """A visit that is closed, in which these words were said; gives its id."""
        now = self.clock.now_ms()
        seq = await spoken(self.database, text, key=key, audience=audience, person=person, ts=f"{now / 1000}")
        episode = Episode(
            soul=SOUL,
            workspace=TEAM,
            audience=audience,
            channel=key.channel,
            conversation=str(key),
            person=person if audience == HERE else "",
            text=text,
            at_ms=now,
            trust=Trust.INFERRED,
            state="closed",
            summary=StructuredSummary(text, key_outcome="It holds."),
            workflow=WorkflowState("mend the gates", (), ("go on",)),
            cues=("gate",),
        )
        links = [Link("", Relation.TURN_REFS, turn_id(Speaks.PERSON, seq))]
        await self.clock.sleep(60)
        return (await self.database.write(lambda transaction: put(transaction, episode, now, links))).id

    async def linked(self, *links: Link) -> None:
        await self.database.write(lambda transaction: link(transaction, links, self.clock.now_ms()))

    async def standing(self) -> list[str]:
        rows = await self.database.rows(
            "SELECT r.text FROM records r JOIN facts f ON f.id = r.id WHERE f.valid_until_ms IS NULL ORDER BY r.seq"
        )
        return [row["text"] for row in rows]

    async def runs(self) -> list[dict[str, object]]:
        rows = await self.database.rows("SELECT * FROM consolidations ORDER BY began_ms, id")
        return [dict(zip(row.keys(), tuple(row), strict=True)) for row in rows]

    async def undone(self, run: object) -> Undone:
        async def unit(transaction: Transaction) -> Undone:
            return await undo(transaction, str(run), self.clock.now_ms())

        return await self.database.write(unit)
