"""In any order of nights, of what people change and forget, and of undoing: what was not touched is as before."""

import asyncio
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from daemon.memory.database import Transaction, open_database
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.store import change
from tests import template
from tests.fakes import FakeClock
from tests.nights import Nights
from tests.store.parts import look

T = TypeVar("T")
State = tuple[object, ...]
Shown = dict[str, State]

LINES = ("Ann likes tea", "ann likes TEA.", "Ann keeps bees", "Ann keeps many bees", "Ann is old")
SAID = "I keep bees and more"
STATE = """
    SELECT r.id, r.trust, r.significance, f.confidence, f.valid_until_ms IS NULL, f.why_ended,
      (SELECT group_concat(target || ' ' || quote, char(10))
       FROM (SELECT target, quote FROM links WHERE origin = r.id ORDER BY target))
    FROM records r JOIN facts f ON f.id = r.id ORDER BY r.rowid
"""


class NightsUndone(RuleBasedStateMachine):
    """Each run remembers what was shown before and after it; `touched` are those that others changed since."""

    @initialize()
    def open_file(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.stack = AsyncExitStack()
        folder = self.stack.enter_context(template.folder())
        self.path = Path(folder) / "memory.db"
        clock = FakeClock(auto=True)
        database = self.do(self.stack.enter_async_context(open_database(self.path, clock)))
        self.nights = Nights(database, clock)
        self.nights.llm.default = '{"same": [1], "found": []}'
        self.runs: dict[str, tuple[Shown, set[str]]] = {}
        self.forgotten: set[str] = set()

    def teardown(self) -> None:
        self.do(self.stack.aclose())
        self.loop.close()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.loop.run_until_complete(work)

    def shown(self) -> Shown:
        return {str(row[0]): row[1:] for row in look(self.path, STATE)}

    def left(self, state: State) -> State:
        """A state without its links to what is forgotten: losing one is no change of that which had it."""
        *fields, links = state
        return (*fields, *(one for one in str(links or "").splitlines() if one.split()[0] not in self.forgotten))

    def changed(self, before: Shown, after: Shown) -> set[str]:
        """What is otherwise than before, or gone, or new."""
        return {
            one
            for one in before.keys() | after.keys()
            if one not in before or one not in after or self.left(before[one]) != self.left(after[one])
        }

    def touch(self, *ids: str) -> None:
        for _, touched in self.runs.values():
            touched |= set(ids)

    @rule(line=st.sampled_from(LINES), significance=st.integers(1, 4))
    def learn(self, line: str, significance: int) -> None:
        self.do(self.nights.knows(line, significance=significance))

    @rule(line=st.sampled_from(LINES), said=st.booleans())
    def note(self, line: str, *, said: bool) -> None:
        self.do(self.nights.noted(line, *([SAID] if said else [])))

    @rule(days=st.sampled_from([1, 31, 61]))
    def night(self, days: int) -> None:
        before = self.shown()
        self.do(self.nights.pass_one(days))
        self.touch(*self.changed(before, self.shown()))
        for run in self.do(self.nights.runs()):
            if run["state"] != "undone":
                self.runs.setdefault(str(run["id"]), (before, set()))

    @precondition(lambda self: self.shown())
    @rule(data=st.data())
    def decide(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(list(self.shown())))
        now = self.nights.clock.now_ms()
        ends = data.draw(st.booleans())
        fields: dict[str, object] = {"valid_until_ms": now, "why_ended": "wrong"} if ends else {"confidence": 0.123}

        async def unit(transaction: Transaction) -> None:
            await change(transaction, one, now, "a person said so", **fields)

        self.do(self.nights.database.write(unit))
        self.touch(one)

    @precondition(lambda self: self.shown())
    @rule(data=st.data())
    def forget_one(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(list(self.shown())))
        before = self.shown()

        async def unit(transaction: Transaction) -> list[str]:
            return await forget(transaction, [one], self.nights.clock.now_ms(), "asked")

        self.forgotten |= set(self.do(self.nights.database.write(unit)))
        self.touch(one, *self.changed(before, self.shown()))

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def undo(self, data: st.DataObject) -> None:
        run = data.draw(st.sampled_from(list(self.runs)))
        before, touched = self.runs.pop(run)
        now_shown = self.shown()
        undone = self.do(self.nights.undone(run))
        after = self.shown()
        changed = self.changed(now_shown, after)
        assert touched.isdisjoint(changed), "what was changed since stays"
        assert touched.isdisjoint(undone.restored)
        assert self.changed(before, after).isdisjoint(undone.restored)
        # What two steps of the night changed may be back from one of them alone: then it is told as kept.
        assert changed <= {*undone.restored, *(one.id for one in undone.kept)}
        self.touch(*changed)

    @invariant()
    def nothing_comes_back(self) -> None:
        assert self.forgotten.isdisjoint(self.shown())

    @invariant()
    def no_link_points_at_nothing_and_none_ends_without_a_reason(self) -> None:
        broken = look(
            self.path,
            """
            SELECT * FROM links WHERE origin NOT IN (SELECT id FROM records)
              OR (target NOT IN (SELECT id FROM records) AND substr(target, 4) NOT IN (SELECT seq FROM turns))
            """,
        )
        assert broken == []
        assert look(self.path, "SELECT id FROM facts WHERE (valid_until_ms IS NULL) <> (why_ended = '')") == []

    @invariant()
    def no_words_are_kept(self) -> None:
        kept = str(look(self.path, "SELECT * FROM consolidation_changes")).casefold()
        assert "bees" not in kept
        assert "tea" not in kept


TestNightsUndone = pytest.mark.slow(NightsUndone.TestCase)
TestNightsUndone.settings = settings(
    max_examples=10, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
