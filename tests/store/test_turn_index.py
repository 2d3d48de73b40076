"""Every write of a turn keeps the full-text index: what is gone can't be found, and what is there can."""

import re
from contextlib import closing, suppress
from functools import partial
from itertools import chain
from pathlib import Path

import pytest

from daemon.core.concurrency import alongside
from daemon.core.errors import IndexDamaged
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.words import LONGEST_STEM, SHORTEST_STEM, terms_of
from daemon.memory.admin.overview import check_file
from daemon.memory.database import Database, open_database, schema
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.turn_index import TURN_INDEX, join, join_all, store_turns, tidy_periodically
from daemon.memory.knowledge.word_index import rebuild
from daemon.memory.reader_codes import code, codes_for_readers, codes_of_turn
from daemon.memory.records import Speaks, Turn, TurnKind
from daemon.memory.retrieval.surfacing import AlreadyShown, Surfacing
from tests.fakes import Events, FakeClock
from tests.given import DM, HERE, deleted, edited, effect, new_message
from tests.store.parts import Stores, content, look, poke, room

READERS = Readers(HERE, members_only=True)


@pytest.fixture
def search(database: Database, clock: FakeClock) -> Surfacing:
    return Surfacing(database, clock)


async def found(search: Surfacing, query: str, shown_from: int | None = None) -> list[str]:
    return [one.text for one in await search.surface(DM, READERS, [query], 5, AlreadyShown(shown_from))]


def indexed(path: Path) -> set[str]:
    """The words that the index holds of all turns, as it keeps them itself."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE VIRTUAL TABLE temp.held USING fts5vocab (main, turn_index, row)")
        return {row[0][12:] for row in connection.execute("SELECT term FROM held")}


async def answered(stores: Stores, ts: str, text: str, reply: str) -> None:
    await stores.inbox.accept(new_message(ts, text))
    await stores.commits.commit(effect(await stores.claim(), reply))


async def test_a_turn_is_found_once_committed_by_its_newest_words_until_deleted(
    stores: Stores, search: Surfacing
) -> None:
    await answered(stores, "1.0", "the kraken sleeps", "so does the leviathan")
    assert await found(search, "krakens") == ["the kraken sleeps"]
    assert "leviathan" not in str(await found(search, "leviathan")), "the soul's own words prove nothing"
    assert "so does the leviathan" in await found(search, "what did you tell me of the leviathan?")
    await stores.inbox.accept(edited("1.0", "the griffin sleeps"))
    assert await found(search, "kraken") == []
    assert await found(search, "griffin") == ["the griffin sleeps"]
    await stores.inbox.accept(deleted("1.0"))
    assert await found(search, "griffin") == []
    assert not {"kraken", "griffin"} & indexed(stores.path)
    assert "griffin" not in str(look(stores.path, "SELECT * FROM turn_words"))


async def test_nothing_is_found_that_is_shown_an_apology_private_or_gone(stores: Stores, search: Surfacing) -> None:
    await answered(stores, "1.0", "the kraken sleeps", "well")
    await answered(stores, "2.0", "a second kraken", "well")
    assert await found(search, "kraken", 3) == ["the kraken sleeps"]
    assert await found(search, "kraken", 1) == []
    sorry = Turn(Speaks.SOUL, "ada", "Ada", "3.0", "the leviathan ate my thoughts", kind=TurnKind.APOLOGY)
    store = partial(store_turns, turns=[sorry], conversation=DM, audience=HERE, trace_id="t", now=1)
    await stores.database.write(store)
    assert await found(search, "what did you tell me of the leviathan?") == []
    poke(stores.path, "UPDATE conversations SET audience = 'channel:G9'")
    assert await found(search, "kraken") == []
    poke(stores.path, f"UPDATE conversations SET audience = '{HERE}'")
    assert await found(search, "kraken")
    poke(stores.path, "DELETE FROM turns")
    assert await found(search, "kraken") == [], "another program deleted it"


async def test_an_hour_after_a_deletion_its_words_have_left_the_file(stores: Stores, clock: FakeClock) -> None:
    await answered(stores, "1.0", "the zanzibar sleeps", "well")
    for number in range(40):
        await answered(stores, f"{number + 2}.0", f"word{number} and others", "well")
    await stores.inbox.accept(deleted("1.0"))
    assert b"nzibar" in content(stores.path), "else this shows nothing"
    events = Events()
    async with alongside(tidy_periodically(stores.database, clock, events)):
        await events.until("memory.wiped")
    assert events.named("memory.wiped") == [{"rows": 1}]
    assert look(stores.path, "SELECT * FROM erased_words") == []
    await stores.database.checkpoint(whole=True)
    assert b"nzibar" not in content(stores.path)
    assert look(stores.path, "SELECT count(*) FROM turn_words") == [(81,)]


def _number(path: Path, statement: str) -> int:
    return int(str(look(path, statement)[0][0]))


async def test_the_many_small_segments_of_a_talk_are_joined_and_nothing_is_lost(
    stores: Stores, search: Surfacing
) -> None:
    for number in range(40):
        await answered(stores, f"{number + 1}.0", f"the kraken sleeps in cave{number}", "well")
    in_segments = "SELECT count(DISTINCT segid) FROM turn_index_idx"
    assert _number(stores.path, in_segments) > 4, "else this shows nothing"
    await join(stores.database, FakeClock(auto=True))
    assert _number(stores.path, in_segments) <= 4
    assert {f"cave{number}" for number in range(40)} <= indexed(stores.path)
    assert (await found(search, "cave7"))[0] == "the kraken sleeps in cave7"


async def test_an_index_is_merged_whole_only_when_it_has_grown_by_a_tenth(stores: Stores, search: Surfacing) -> None:
    async def many(begin: int) -> None:
        for number in range(begin, begin + 20):
            words = " ".join(f"cave{number}x{word}" for word in range(400))
            await answered(stores, f"{number}.0", f"kraken{number} {words}", "well")

    async def segments_after() -> int:
        await join_all(stores.database, FakeClock(auto=True))
        return _number(stores.path, "SELECT count(DISTINCT segid) FROM turn_index_idx")

    await many(1)
    assert await segments_after() == 1
    await answered(stores, "50.0", "the griffin wakes", "well")
    assert await segments_after() > 1, "it was a hundredth"
    await many(101)
    assert await segments_after() == 1
    assert {"griffin", "kraken7", "kraken107"} <= indexed(stores.path)
    assert (await found(search, "griffin"))[0] == "the griffin wakes"


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM turn_index_data",
        "UPDATE turn_index_data SET block = x'ffffffffffff' WHERE id = 10",
        "UPDATE turn_index_data SET block = randomblob(200) WHERE id > 10",
    ],
)
async def test_a_damaged_index_stops_no_message_and_is_built_anew(
    stores: Stores, search: Surfacing, damage: str
) -> None:
    for number in range(1, 4):
        await answered(stores, f"{number}.0", f"the kraken sleeps for {number} years", "well")
    poke(stores.path, damage)
    await answered(stores, "4.0", "the kraken wakes", "well")
    await stores.inbox.accept(edited("1.0", "the griffin sleeps"))
    await stores.inbox.accept(deleted("2.0"))
    with suppress(IndexDamaged):
        await search.search(DM, READERS, "kraken", 9)
    await answered(stores, "5.0", "a kraken again", "well")
    assert look(stores.path, "SELECT name FROM distrusted_indexes") == [("turn",)]
    events = Events()
    async with alongside(tidy_periodically(stores.database, FakeClock(auto=True), events)):
        await events.until("memory.index_rebuilt")
    assert look(stores.path, "SELECT name FROM distrusted_indexes") == []
    found = await search.search(DM, READERS, "kraken griffin", 9)
    assert {one.text for one in found} == {
        *("the griffin sleeps", "the kraken sleeps for 3 years", "the kraken wakes", "a kraken again")
    }
    assert "2" not in indexed(stores.path)
    assert check_file(stores.path, whole=True).faults == ()


async def test_a_daemon_begins_with_a_damaged_index(path: Path, stores: Stores, search: Surfacing) -> None:
    await answered(stores, "1.0", "the kraken sleeps", "well")
    poke(path, "DELETE FROM turn_index_data WHERE id > 10")
    assert check_file(path, whole=True).faults
    async with open_database(path, FakeClock(auto=True)):
        with pytest.raises(IndexDamaged, match="turn_index"):
            await search.search(DM, READERS, "kraken", 9)
    assert look(path, "SELECT name FROM distrusted_indexes") == [("turn",)]


async def test_a_new_index_has_each_change(path: Path, stores: Stores, search: Surfacing, database: Database) -> None:
    for number in range(1, 41):
        await answered(stores, f"{number}.0", f"the kraken{number} sleeps", "well")
    await database.write(TURN_INDEX.distrust)
    unit = partial(rebuild, name="turn")
    assert [await database.write(unit), await database.write(unit)] == [0, 32], "some are in it, some aren't"
    for number in (1, 30):
        await stores.inbox.accept(edited(f"{number}.0", f"the griffin{number} sleeps"))
        await stores.inbox.accept(deleted(f"{number + 1}.0"))
    await answered(stores, "41.0", "the kraken41 sleeps", "well")
    while await database.write(unit) is not None:
        pass
    kept = {word for (words,) in look(path, "SELECT words FROM turn_words") for word in str(words).split()}
    assert indexed(path) == kept
    assert check_file(path, whole=True).faults == ()
    assert (await found(search, "griffin30"))[0] == "the griffin30 sleeps"


def test_the_index_keeps_the_beginnings_of_words_that_a_query_asks_for(path: Path) -> None:
    schema.migrate(path)
    lengths = [len(code("any")) + length for length in range(SHORTEST_STEM, LONGEST_STEM + 1)]
    for table in ("turn_index", "library_index"):
        [(statement,)] = look(path, f"SELECT sql FROM sqlite_schema WHERE name = '{table}'")
        assert f"prefix = '{' '.join(map(str, lengths))}'" in str(statement)


def test_turns_are_written_in_one_place() -> None:
    writes = re.compile(r"INSERT INTO turns\b|UPDATE turns SET body|DELETE FROM turns\b|\binsert\(\s*\"turns\"")
    package = Path(schema.__file__).parents[2]
    found = {path.stem for path in package.rglob("*.py") if writes.search(path.read_text(encoding="utf-8"))}
    assert found == {"turn_index"}


async def test_before_outsiders_no_row_of_another_room_is_visited(database: Database, search: Surfacing) -> None:
    everybody = Audience(AudienceKind.WORKSPACE, DM.workspace)
    here, there = (ConversationKey(DM.soul, DM.workspace, channel, "1.0") for channel in ("C1", "C2"))
    for where in (here, there):
        await room(database, where)
        turn = Turn(Speaks.PERSON, "U1", "Ada", "1.0", f"the kraken of {where.channel}")
        await database.write(
            partial(store_turns, turns=[turn], conversation=where, audience=everybody, trace_id="t", now=1)
        )
    for readers, most in ((Readers(everybody, members_only=True), 2), (Readers(everybody, members_only=False), 1)):
        find = partial(TURN_INDEX.find, readers=codes_for_readers(here, readers), terms=terms_of("kraken"))
        found = await database.read(find)
        assert len(found.found) == most
        assert found.size == most
    own = codes_for_readers(here, Readers(Audience(AudienceKind.DM, "D9"), members_only=False))
    assert not set(chain(*own)) & set(codes_of_turn(there, str(everybody)))
