"""Souls that expect something, for the tests of expectations."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from daemon.core.expectations import Check
from daemon.core.lineage import kept_readers
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.timeframes import Timeframe
from daemon.memory.expectations.expected import Expected, expected_at_hand
from daemon.memory.expectations.settling import DuePredictions, NewPrediction, PredictionsMade
from daemon.memory.records import Speaks, Worker, as_json
from tests.fakes import FakeClock
from tests.given import DM, effect, new_message
from tests.store.parts import WORKER
from tests.store.thinking import Thinker, members, new_thought

MINE = members("dm:D1")
HOUR_MS = 3_600_000


def prediction(
    check: Check, what: str = "they write", confidence: float = 0.8, until_ms: int = 0, exchanges: int | None = None
) -> NewPrediction:
    """Something that is expected until a moment, an hour of the fake clock from its begin if none is given."""
    return NewPrediction(what, confidence, "soon", Timeframe(until_ms or 10**13, exchanges), check)


@dataclass
class Expecter(Thinker):
    clock: FakeClock = field(default_factory=FakeClock)

    async def expects(self, *new: NewPrediction, where: ConversationKey = DM, readers: Readers = MINE) -> str:
        """Think a thought that expects this; gives its id."""
        thought = replace(new_thought("hm"), parts=(PredictionsMade(new),))
        await self.thinks("go on", where, readers, thoughts=[thought])
        row = await self.database.one("SELECT id FROM thoughts ORDER BY seq DESC LIMIT 1")
        assert row is not None
        return str(row["id"])

    async def expects_in_passing(self, *new: NewPrediction) -> None:
        """The same while a person wants nothing remembered."""
        thought = replace(new_thought("hm"), parts=(PredictionsMade(new),))
        await self.thinks("go on", DM, MINE, thoughts=[thought], passing=True)

    async def has_goals(self, *ids: str) -> None:
        for name in ids:
            await self.database.run(
                """
                INSERT INTO goals (soul, id, workspace, conversation, audience, readers, behalf, goal, same_words,
                  priority, state, follow_up, created_ms, touched_ms, why, thought, changed_by)
                VALUES ('ada', :id, 'T1', :where, 'dm:D1', :readers, '', 'x', :id, 0.5, 'open', 0, 0, 0, '', '', '')
                """,
                id=name,
                where=str(DM),
                readers=as_json(kept_readers(MINE)),
            )

    async def hears(
        self,
        words: str,
        author: str = "U1",
        *,
        name: str = "",
        where: ConversationKey = DM,
        tools: Sequence[str] = (),
        given: Sequence[str] = (),
        bot: bool = False,
    ) -> str:
        """Answer a message; gives its ts."""
        self.number += 1
        ts = f"{self.number}.000001"
        message = new_message(ts, words, conversation=where, author=author)
        await self.stores.inbox.accept(message)
        claim = await self.stores.claim()
        done = replace(effect(claim), used_tools=frozenset(tools), given=tuple(given))
        answered = tuple(replace(one, perception=_as(one.perception, name, bot=bot)) for one in done.answered)
        turns = done.turns if Speaks.of(author) is Speaks.PERSON else ()
        assert await self.stores.commits.commit(replace(done, answered=answered, turns=turns)) is None
        return ts

    async def states(self) -> list[tuple[str, str]]:
        rows = await self.database.rows("SELECT id, state FROM predictions ORDER BY seq")
        return [(row["id"], row["state"]) for row in rows]

    async def refused(self) -> list[str]:
        row = await self.database.one("SELECT refused FROM thoughts ORDER BY seq DESC LIMIT 1")
        assert row is not None
        return str(row["refused"]).split('"')[3::4]

    async def at_hand(self, where: ConversationKey = DM, readers: Readers = MINE) -> Expected:
        return await self.database.read(lambda transaction: expected_at_hand(transaction, where, readers))

    @property
    def worker(self) -> Worker:
        return WORKER

    @property
    def due(self) -> DuePredictions:
        return DuePredictions(self.database, self.clock, WORKER)


def _as(perception: Perception, name: str, *, bot: bool) -> Perception:
    return replace(perception, name=name or perception.name, bot=bot)
