"""In any order of thoughts, edits, deletions and forgetting: what is gone is in no thought, and no more is lost."""

import asyncio
import re
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import open_database
from daemon.memory.people.erasure import Spared, erase
from tests import template
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, deleted, edited, thread
from tests.store.parts import Stores, look
from tests.store.thinking import Thinker, members, said

T = TypeVar("T")

ROOMS: dict[ConversationKey, Readers] = {
    DM: members("dm:D1"),
    ConversationKey(SOUL, TEAM, "D1", "5.0"): members("dm:D1"),
    ConversationKey(SOUL, TEAM, "D2"): members("dm:D2"),
    thread("1.0"): members(f"workspace:{TEAM}"),
    thread("2.0", "C2"): members(f"workspace:{TEAM}"),
}
WHERE = st.sampled_from(sorted(ROOMS, key=str))


class Streams(RuleBasedStateMachine):
    """A soul that repeats in each thought all that it saw, and people who change their minds."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = template.folder()
        self.path = Path(self.folder.name) / "memory.db"
        self.runner, self.stack = asyncio.Runner(), AsyncExitStack()
        self.clock = FakeClock(auto=True)
        database = self.do(self.stack.enter_async_context(open_database(self.path, self.clock)))
        self.soul = Thinker(Stores.of(database, self.clock))
        self.said: dict[str, tuple[ConversationKey, str, str]] = {}  # by ts: where, by whom, which word
        self.gone: set[str] = set()
        self.held: dict[str, frozenset[str]] = {}  # the words that each thought holds
        self.numbers: list[tuple[object, ...]] = []
        self.acts = 0

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @rule(where=WHERE, author=st.sampled_from(("U1", "U2")), looks_back=st.booleans())
    def a_user_writes(self, where: ConversationKey, author: str, looks_back: bool) -> None:
        word = f"w{len(self.said)}x"
        earlier = {one[2] for one in self.said.values() if one[0] == where} - self.gone
        last = self.do(self.soul.last(where, ROOMS[where]))
        previous, recent = said(last)
        seen = " ".join((word, *sorted(earlier), *((previous, *recent) if looks_back else ())))
        saw = last.ids if looks_back else ()
        ts = self.do(self.soul.thinks(seen, where, ROOMS[where], author=author, saw=saw))
        self.said[ts] = (where, author, word)
        (name,) = look(self.path, "SELECT id FROM thoughts ORDER BY seq DESC LIMIT 1")[0]
        self.held[str(name)] = frozenset(re.findall(r"w\d+x", seen))
        self.numbers = look(self.path, NUMBERS)

    @precondition(lambda self: self.said)
    @rule(data=st.data(), edits=st.booleans())
    def its_author_takes_it_back(self, data: st.DataObject, edits: bool) -> None:
        ts = data.draw(st.sampled_from(sorted(self.said)))
        where, _, word = self.said[ts]
        self.acts += 1
        act = (
            edited(ts, f"other words {self.acts}", conversation=where)
            if edits
            else deleted(ts, f"gone {self.acts}", conversation=where)
        )
        self.do(self.soul.stores.inbox.accept(act))
        self.gone.add(word)

    @rule(person=st.sampled_from(("U1", "U2")))
    def a_user_is_forgotten(self, person: str) -> None:
        database = self.soul.database
        self.do(database.write(lambda transaction: erase(transaction, TEAM, person, Spared(), 5, 10**15)))
        self.gone |= {word for _, author, word in self.said.values() if author == person}

    @invariant()
    def no_thought_holds_what_is_gone_and_the_chain_is_whole(self) -> None:
        words = self.do(self.soul.words())
        for name, text in words.items():
            assert self.gone.isdisjoint(re.findall(r"w\d+x", text))
            assert not text or frozenset(re.findall(r"w\d+x", text)) == self.held[name]
        assert look(self.path, NUMBERS) == self.numbers
        last: dict[object, object] = {}
        for thought, previous, conversation, *_ in self.numbers:
            assert previous == last.get(conversation, "")
            last[conversation] = thought

    @invariant()
    def a_conversation_that_no_one_touched_keeps_its_thoughts(self) -> None:
        if not self.gone:
            assert all(self.do(self.soul.words()).values())

    def teardown(self) -> None:
        self.do(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()


NUMBERS = "SELECT id, previous, conversation, occasion, spoke, calls, tokens_in, saw_to FROM thoughts ORDER BY seq"

TestStreams = Streams.TestCase
TestStreams.settings = settings(
    stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck), max_examples=25
)
