"""What a thought saw beside turns and records: it loses its words when any of that goes, and for nothing less."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import pytest

from daemon.core.contexts import ADMIN, JSONObject
from daemon.core.lineage import (
    UNFOLLOWED,
    author_id,
    context_id,
    document_id,
    message_id,
    model_id,
    question_id,
    room_id,
    session_id,
    way_id,
)
from daemon.core.perception import Audience, Place
from daemon.core.ports.arrivals import RoomWaySent
from daemon.core.ports.library import IndexedFile, IndexedPassage
from daemon.core.room_ways import ChannelSettings
from daemon.memory.database import Transaction
from daemon.memory.knowledge.forgetting import forget_heard, make_private
from daemon.memory.knowledge.library import LibraryIndex
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import change, put
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.people.retention import prune
from daemon.memory.queues.room_ways import set_way
from daemon.memory.shared.contexts import define_context, write_context
from daemon.memory.stream.emptying import empty_thoughts_on
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, deleted, edited, thread
from tests.store.parts import Stores, a_fact, a_visit, look
from tests.store.thinking import Thinker, members

MINE, EVERYBODY = members("dm:D1"), members(f"workspace:{TEAM}")
OPEN, OPEN_TOO, ELSEWHERE = thread("1.0"), thread("2.0", "C2"), thread("7.0", "C7")
DAY = 86_400_000
MESSAGE: Final = message_id(TEAM, "C7", "7.000001")

Act = Callable[[Thinker], Awaitable[object]]


@pytest.fixture
def soul(stores: Stores) -> Thinker:
    return Thinker(stores)


def unit(work: Callable[[Transaction], Awaitable[object]]) -> Act:
    return lambda soul: soul.database.write(work)


def arrives(arrival: object) -> Act:
    return lambda soul: soul.stores.inbox.accept(arrival)  # type: ignore[arg-type]


def writes(data: JSONObject, seen: int, name: str = "plan") -> Act:
    return unit(lambda one: write_context(one, name, data, seen, writer=ADMIN, workspace=TEAM, now=5))


def asks(instructions: str) -> Act:
    audience = Audience.parse(f"workspace:{TEAM}")
    sent = RoomWaySent(
        instructions, SOUL, TEAM, "C7", Place.PUBLIC_CHANNEL, audience, "U9", ChannelSettings(instructions)
    )
    return unit(lambda one: set_way(one, sent, 5))


def indexes(body: str, path: str = "docs/a.md") -> Act:
    files = [IndexedFile(path, body, [IndexedPassage(1, body)])]
    return lambda soul: LibraryIndex(soul.database, FakeClock()).put(files)


async def nothing(soul: Thinker) -> None:
    """Nothing has to be there."""


FORGOTTEN: Final = unit(lambda one: erase(one, TEAM, "U7", Spared(), 5, 10**15))

GOES: Final[Mapping[str, tuple[str, Act, Act]]] = {  # what was seen, what is there before, and what takes the words
    "a message that is no turn is deleted": (MESSAGE, nothing, arrives(deleted("7.000001", conversation=ELSEWHERE))),
    "a message that is no turn is edited": (MESSAGE, nothing, arrives(edited("7.000001", "x", conversation=ELSEWHERE))),
    "who wrote a message is forgotten": (author_id(TEAM, "U7"), nothing, FORGOTTEN),
    "who is guessed about is forgotten": (model_id(SOUL, TEAM, "U7", "dm:D7"), nothing, FORGOTTEN),
    "a shared context says something else": (
        context_id("plan"),
        writes({"by": "Friday"}, 0),
        writes({"by": "Monday"}, 1),
    ),
    "a shared context is for fewer": (
        context_id("rota"),
        writes({"by": "Friday"}, 0, "rota"),
        unit(lambda one: define_context(one, "rota", workspace=TEAM, now=5, audience=Audience.parse("channel:C9"))),
    ),
    "a channel is worked in otherwise": (way_id(TEAM, "C7"), asks("Be brief."), asks("Be thorough.")),
    "a file of the library says something else": (document_id("docs/a.md"), indexes("one"), indexes("two")),
    "a file of the library is gone": (
        document_id("docs/b.md"),
        indexes("one", "docs/b.md"),
        lambda soul: LibraryIndex(soul.database, FakeClock()).remove(["docs/b.md"]),
    ),
    "what a question came from changes": (
        question_id(TEAM, "C7"),
        nothing,
        unit(lambda one: forget_heard(one, str(ELSEWHERE), 0, 5)),
    ),
    "a session is forgotten": (session_id("s1"), nothing, unit(lambda one: empty_thoughts_on(one, [session_id("s1")]))),
}


async def test_a_thought_that_saw_it_loses_its_words_also_while_it_is_being_thought(soul: Thinker) -> None:
    for what, (source, before, act) in GOES.items():
        await before(soul)
        await soul.thinks("saw it", DM, MINE, sources=[source], read_at=(await soul.last(DM, MINE)).read_at)
        *_, name = await soul.words()
        await soul.thinks("saw the thought", OPEN, EVERYBODY, saw=[name])
        await soul.thinks("saw neither", OPEN_TOO, EVERYBODY, sources=[message_id(TEAM, "C7", "8.000001")])
        read_at = (await soul.last(OPEN, EVERYBODY)).read_at
        await act(soul)
        await soul.thinks("read it before", OPEN_TOO, EVERYBODY, sources=[source], read_at=read_at)
        later = (await soul.last(OPEN, EVERYBODY)).read_at
        await soul.thinks("reads it now", OPEN_TOO, EVERYBODY, sources=[source], read_at=later)
        assert list((await soul.words()).values())[-5:] == ["", "", "saw neither", "", "reads it now"], what


async def test_what_is_only_added_to_a_shared_context_takes_no_words(soul: Thinker) -> None:
    await writes({"by": "Friday"}, 0)(soul)
    await soul.thinks("by Friday", DM, MINE, sources=[context_id("plan")])
    await writes({"by": "Friday", "who": "Ada"}, 1)(soul)
    assert list((await soul.words()).values()) == ["by Friday"]


async def test_what_nothing_follows_leaves_a_thought_without_words(soul: Thinker, path: Path) -> None:
    for source in (f"{UNFOLLOWED}my_region", "sem_nowhere", "TU_99", "TH_20261123_999", "NT_gone"):
        await soul.thinks(source, DM, MINE, sources=[source])
    assert set((await soul.words()).values()) == {""}
    assert look(path, "SELECT source FROM thought_sources") == [("TH_20261123_999",)]


async def test_a_room_that_is_made_private_takes_what_was_thought_of_it_elsewhere(soul: Thinker) -> None:
    await soul.thinks("there", ELSEWHERE, EVERYBODY, sources=[way_id(TEAM, "C7")])
    for source in (MESSAGE, room_id(TEAM, "C7"), question_id(TEAM, "C7")):
        await soul.thinks(source, OPEN, EVERYBODY, sources=[source])
    await soul.thinks("of another", OPEN_TOO, EVERYBODY, sources=[message_id(TEAM, "C70", "1.000001")])
    await soul.database.write(lambda one: make_private(one, TEAM, "C7", Audience.parse("channel:C7"), 5))
    assert list((await soul.words()).values()) == ["there", "", "", "", "of another"]


async def test_the_private_words_beside_a_reply_go_with_the_thought(soul: Thinker, path: Path) -> None:
    await soul.thinks("a canary", DM, MINE, sources=[MESSAGE])
    await soul.database.run("""UPDATE turns SET thought = '{"monologue": "a canary", "k": 1}', trace_id = 'T'""")
    await soul.database.run("UPDATE thoughts SET trace_id = 'T'")
    await soul.stores.inbox.accept(deleted("7.000001", conversation=ELSEWHERE))
    assert look(path, "SELECT thought FROM turns WHERE speaker = 'soul'") == [('{"k":1}',)]


async def test_no_id_is_left_that_names_who_was_forgotten(soul: Thinker, path: Path) -> None:
    await soul.last(DM, MINE)
    seen = [author_id(TEAM, "U7"), model_id(SOUL, TEAM, "U7", "dm:D7")]
    await soul.thinks("of them", DM, MINE, sources=seen)
    await soul.database.write(lambda one: empty_thoughts_on(one, seen))
    await FORGOTTEN(soul)
    assert look(path, "SELECT source FROM thought_sources UNION SELECT source FROM changed_words") == [("",)]


# -- records -----------------------------------------------------------------------------------------------------------


async def _changes(soul: Thinker, name: str, **fields: object) -> None:
    await soul.database.write(lambda one: change(one, name, 9, "why", **fields))


async def test_only_other_words_or_readers_of_a_record_take_the_words(soul: Thinker) -> None:
    changes: tuple[tuple[dict[str, object], bool], ...] = (
        ({"significance": 9}, True),
        ({"used": 4, "used_ms": 7}, True),
        ({"extra": {"k": "v"}}, True),
        ({"text": "keeps wasps"}, False),
        ({"audience": Audience.parse("channel:D1")}, False),
    )
    for changed, stays in changes:
        name = (await soul.database.write(lambda one: put(one, a_fact(person="U1"), 1))).id
        await soul.thinks("before", DM, MINE, sources=[name])
        read_at = (await soul.last(DM, MINE)).read_at
        await _changes(soul, name, **changed)
        await soul.thinks("meanwhile", OPEN, EVERYBODY, sources=[name], read_at=read_at)
        held = list((await soul.words()).values())[-2:]
        assert held == (["before", "meanwhile"] if stays else ["", ""]), changed


async def test_a_record_that_loses_one_of_its_sources_takes_the_words(soul: Thinker, path: Path) -> None:
    for words, where in (("my word", OPEN), ("another", thread("2.0"))):
        await soul.thinks(words, where, EVERYBODY)
    turns = [f"TU_{seq}" for (seq,) in look(path, "SELECT seq FROM turns WHERE speaker = 'person'")]
    visit = a_visit("they said a word", audience=EVERYBODY.audience, channel="C1")
    links = [Link("", Relation.TURN_REFS, one) for one in turns]
    name = (await soul.database.write(lambda one: put(one, visit, 1, links))).id
    await soul.thinks("of the visit", DM, MINE, sources=[name])
    await soul.stores.inbox.accept(deleted("1.000001", conversation=OPEN))
    assert list((await soul.words()).values()) == ["", "another", ""]


# -- age ---------------------------------------------------------------------------------------------------------------


@pytest.fixture
async def aged(soul: Thinker, clock: FakeClock, path: Path) -> Thinker:
    """An old turn with its thought, and young thoughts: there, on the turn and on a fact made of it; 7 days later."""
    old = await soul.thinks("old", OPEN, EVERYBODY)
    (seq,) = look(path, "SELECT seq FROM turns WHERE ts = ? AND speaker = 'person'", old)[0]
    proof = Link("", Relation.EVIDENCE, f"TU_{seq}", "old")
    fact = a_fact(person="U1", audience=EVERYBODY.audience, channel="C1")
    name = (await soul.database.write(lambda one: put(one, fact, 1, [proof]))).id
    await soul.last(DM, MINE)  # where souls think, what changes is noted
    await clock.sleep(7 * DAY / 1000)
    (first,) = await soul.words()
    await soul.thinks("there", OPEN, EVERYBODY, saw=[first])
    await soul.thinks("of the turn", DM, MINE, sources=[f"TU_{seq}"])
    await soul.thinks("of the fact", OPEN_TOO, EVERYBODY, sources=[name])
    await prune(soul.database, clock, {"turn_days": 6})
    return soul


@pytest.mark.parametrize("act", ["delete", "edit", "forget me"])
async def test_age_takes_the_words_of_old_thoughts_alone_and_who_takes_back_what_aged_empties_all_that_rests_on_it(
    aged: Thinker, clock: FakeClock, path: Path, act: str
) -> None:
    assert list((await aged.words()).values()) == ["", "there", "of the turn", "of the fact"]
    assert look(path, "SELECT count(*) FROM turns WHERE body = 'old'") == [(0,)]
    assert look(path, "SELECT count(*) FROM records") == [(0,)]
    if act == "forget me":
        await aged.database.write(lambda one: erase(one, TEAM, "U1", Spared(), clock.now_ms(), 10**15))
    else:
        gone, other = deleted("1.000001", conversation=OPEN), edited("1.000001", "new", conversation=OPEN)
        await aged.stores.inbox.accept(gone if act == "delete" else other)
    assert list((await aged.words()).values()) == ["", "", "", ""]
    assert look(path, "SELECT count(*) FROM aged_turns WHERE ts = '1.000001'") == [(0,)]


async def test_what_rests_on_a_thought_that_aged_goes_with_what_that_one_saw(soul: Thinker, clock: FakeClock) -> None:
    await soul.thinks("old", DM, MINE, sources=[MESSAGE])
    (name,) = await soul.words()
    await clock.sleep(7 * DAY / 1000)
    await soul.thinks("young", OPEN, EVERYBODY, saw=[name])
    await prune(soul.database, clock, {"turn_days": 6})
    assert list((await soul.words()).values()) == ["", "young"]
    await soul.stores.inbox.accept(deleted("7.000001", conversation=ELSEWHERE))
    assert list((await soul.words()).values()) == ["", ""]


async def test_a_soul_that_thinks_no_whole_thoughts_leaves_no_row(soul: Thinker, clock: FakeClock, path: Path) -> None:
    await soul.stores.inbox.accept(deleted("7.000001", conversation=ELSEWHERE))
    await soul.database.write(lambda one: forget(one, ["TU_1"], 5, "why"))
    await clock.sleep(7 * DAY / 1000)
    await prune(soul.database, clock, {"turn_days": 6})
    assert look(path, "SELECT count(*) FROM changed_words") == [(0,)]
    assert look(path, "SELECT count(*) FROM aged_turns") == [(0,)]
