"""In any order of thoughts, edits, deletions, forgetting and age: what is gone is in no thought, and no more goes."""

import asyncio
import re
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from daemon.core.lineage import author_id, message_id
from daemon.core.perception import ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.database import open_database
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.people.retention import prune
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
WHO = st.sampled_from(("U1", "U2"))
KEPT, FOUR_DAYS = {"turn_days": 6}, 4 * 86_400.0
LONG_AGO = re.compile(r"w\d+x")


class Posted(Value):
    """A message: where it stands, by whom, and which word it holds; `heard` is one that became a turn."""

    where: ConversationKey
    ts: str
    author: str
    word: str
    heard: bool

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids that a thought notes which only reads it along."""
        return message_id(TEAM, self.where.channel, self.ts), author_id(TEAM, self.author)


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
        self.posted: list[Posted] = []
        self.gone: set[str] = set()  # words that people took back
        self.aged: set[str] = set()  # words of turns that grew too old
        self.held: dict[str, frozenset[str]] = {}  # the words that each thought holds
        self.numbers: list[tuple[object, ...]] = []
        self.acts = 0

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        return self.runner.run(work)

    @rule(author=WHO)
    def a_user_writes_what_the_soul_may_only_read_along(self, author: str) -> None:
        number = len(self.posted)
        self.posted.append(Posted(thread("7.0", "C7"), f"{number}.000007", author, f"w{number}x", heard=False))

    @rule(where=WHERE, author=WHO, looks_back=st.booleans(), reads_along=st.booleans(), meanwhile=st.booleans())
    def a_user_is_answered(
        self, where: ConversationKey, author: str, looks_back: bool, reads_along: bool, meanwhile: bool
    ) -> None:
        word = f"w{len(self.posted)}x"
        earlier = {one.word for one in self.posted if one.where == where and one.heard} - self.gone - self.aged
        along = [one for one in self.posted if not one.heard and one.word not in self.gone] if reads_along else []
        last = self.do(self.soul.last(where, ROOMS[where]))
        previous, recent = said(last)
        back = (previous, *recent) if looks_back else ()
        seen = " ".join((word, *sorted(earlier), *(one.word for one in along), *back))
        if meanwhile and along:
            self.takes_back(along[0], edits=False)
        ts = self.do(
            self.soul.thinks(
                seen,
                where,
                ROOMS[where],
                author=author,
                saw=last.ids if looks_back else (),
                sources=[name for one in along for name in one.ids],
                read_at=last.read_at,
            )
        )
        self.posted.append(Posted(where, ts, author, word, heard=True))
        (name,) = look(self.path, "SELECT id FROM thoughts ORDER BY seq DESC LIMIT 1")[0]
        self.held[str(name)] = frozenset(LONG_AGO.findall(seen))
        self.numbers = look(self.path, NUMBERS)

    @precondition(lambda self: self.posted)
    @rule(data=st.data(), edits=st.booleans())
    def its_author_takes_it_back(self, data: st.DataObject, edits: bool) -> None:
        self.takes_back(data.draw(st.sampled_from(self.posted)), edits=edits)

    def takes_back(self, one: Posted, *, edits: bool) -> None:
        self.acts += 1
        act = (
            edited(one.ts, f"other words {self.acts}", conversation=one.where)
            if edits
            else deleted(one.ts, f"gone {self.acts}", conversation=one.where)
        )
        self.do(self.soul.stores.inbox.accept(act))
        self.gone.add(one.word)

    @rule(person=WHO)
    def a_user_is_forgotten(self, person: str) -> None:
        database = self.soul.database
        self.do(database.write(lambda transaction: erase(transaction, TEAM, person, Spared(), 5, 10**15)))
        self.gone |= {one.word for one in self.posted if one.author == person}

    @rule()
    def days_pass(self) -> None:
        self.do(self.clock.sleep(FOUR_DAYS))
        self.do(prune(self.soul.database, self.clock, KEPT))
        left = " ".join(str(body) for (body,) in look(self.path, "SELECT body FROM turns WHERE speaker = 'person'"))
        self.aged = {one.word for one in self.posted if one.heard} - set(LONG_AGO.findall(left))

    @invariant()
    def no_thought_holds_what_is_gone_and_the_chain_is_whole(self) -> None:
        words = self.do(self.soul.words())
        for name, text in words.items():
            assert self.gone.isdisjoint(LONG_AGO.findall(text))
            assert not text or frozenset(LONG_AGO.findall(text)) == self.held[name]
        assert look(self.path, NUMBERS) == self.numbers
        last: dict[object, object] = {}
        for thought, previous, conversation, *_ in self.numbers:
            assert previous == last.get(conversation, "")
            last[conversation] = thought

    @invariant()
    def while_no_one_took_a_word_back_age_alone_takes_words(self) -> None:
        if not self.gone:
            before = self.clock.now_ms() - 6 * 86_400_000
            young = look(self.path, "SELECT count(*) FROM thoughts WHERE emptied AND at_ms >= ?", before)
            assert young == [(0,)]

    def teardown(self) -> None:
        self.do(self.stack.aclose())
        self.runner.close()
        self.folder.cleanup()


NUMBERS = "SELECT id, previous, conversation, occasion, spoke, calls, tokens_in, saw_to FROM thoughts ORDER BY seq"
AT_RANDOM = settings(
    stateful_step_count=14, deadline=None, suppress_health_check=list(HealthCheck), max_examples=15, database=None
)

TestStreams = pytest.mark.slow(Streams.TestCase)
TestStreams.settings = AT_RANDOM
