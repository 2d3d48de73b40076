"""vectors.db follows memory.db: what is stored is embedded, what is deleted leaves, after any fault in between."""

import asyncio
import os
import shutil
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.errors import ModelRefused, ModelUnavailable
from daemon.core.ports.library import IndexedFile, IndexedPassage
from daemon.core.ports.vectors import NearQuery, View
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.library import LibraryIndex, codes_of_passage
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.knowledge.records.kinds import Fact, JournalEntry, Trust
from daemon.memory.knowledge.records.store import change, erase, put
from daemon.memory.knowledge.turn_index import delete_turns, reword_turns
from daemon.memory.records import TurnKind
from daemon.memory.retrieval.keeper import VectorKeeper, do_without, owner_of
from daemon.memory.retrieval.sources import Order, count_embeddable, enqueue, next_queued, queued
from daemon.memory.retrieval.statistics import statistics
from daemon.memory.retrieval.vectors import FILE, Vectors
from tests.fake_embedder import WordEmbedder
from tests.fakes import Events, FakeClock
from tests.given import DM, HERE, SOUL, TEAM
from tests.store.indexed import CHANNEL, EVERYBODY, MINE, OURS, Indexed, whole
from tests.store.parts import a_fact


def fact(text: str = "Ann fixes radiators") -> Fact:
    return a_fact(text, predicate="fixes", object="radiators")


async def test_a_turn_is_found_by_its_words_alone_and_with_the_turn_before(indexed: Indexed) -> None:
    await indexed.say("the boiler leaks", "call the plumber")
    assert await indexed.keeper.catch_up()
    assert await indexed.best("boiler leaks") == "TU_1"
    assert await indexed.best("plumber") == "TU_2"
    assert (await indexed.near("boiler", view=View.BEFORE)).cosines["TU_2"] > 0.15
    assert (await indexed.near("boiler", view=View.OWN)).cosines["TU_2"] < 0.1
    assert 'On 1 January 1970, Ann said, "the boiler leaks" On 1 January 1970, Ann said, "call the plumber"' in (
        indexed.embedder.texts
    )
    await whole(indexed)
    del indexed.embedder.texts[:]
    await indexed.database.write(partial(enqueue, ids=["TU_1", "TU_2", "nothing of the kind", "LB_7"]))
    await indexed.keeper.catch_up()
    assert indexed.embedder.texts == [], "nothing has changed"
    assert await indexed.database.read(queued) == 0


async def test_facts_and_passages_are_embedded_and_thoughts_apologies_and_the_journal_never(indexed: Indexed) -> None:
    await indexed.say("hello", thought={"monologue": "SECRET THOUGHT"})
    await indexed.say("SECRET APOLOGY", kind=TurnKind.APOLOGY)
    await indexed.say("SECRET OF A PAUSE", passing=True)
    await indexed.say("hello again")
    entry = JournalEntry(
        soul=SOUL, workspace=TEAM, audience=HERE, channel=DM.channel, text="SECRET ENTRY", at_ms=1, trust=Trust.OWN
    )
    kept = await indexed.database.write(partial(put, record=fact(), now=1))
    await indexed.database.write(partial(put, record=entry, now=1))
    library = LibraryIndex(indexed.database, FakeClock(auto=True))
    await library.put([IndexedFile("docs/a.md", "s", [IndexedPassage(1, "limits of the pump")])])
    await indexed.keeper.catch_up()
    assert await indexed.best("radiators") == kept.id
    assert await indexed.best("pump limits", *codes_of_passage("docs/a.md")[:1]) == "LB_1"
    assert await indexed.best("pump limits", *codes_of_passage("docs/b.md")[1:2]) == "LB_1"
    assert await indexed.best("pump limits", *codes_of_passage("other/b.md")[1:2]) == ""
    assert "SECRET" not in " ".join(indexed.embedder.texts)
    await whole(indexed)
    assert (await indexed.difference()).wanted == await indexed.database.read(count_embeddable) == 4


async def test_a_partition_holds_its_own_rows_alone(indexed: Indexed) -> None:
    await indexed.say("private plumber")
    await indexed.say("public plumber", where=CHANNEL, audience=EVERYBODY)
    await indexed.keeper.catch_up()
    assert set((await indexed.near("plumber", *MINE)).cosines) == {"TU_1"}
    for code in OURS:  # the workspace's, and the channel's for readers who aren't all members
        assert set((await indexed.near("plumber", code)).cosines) == {"TU_2"}
    assert set((await indexed.near("plumber", *MINE, *OURS)).cosines) == {"TU_1", "TU_2"}
    assert (await indexed.near("plumber", *MINE, also=["TU_2"])).cosines.keys() == {"TU_1", "TU_2"}


async def test_what_is_edited_deleted_or_for_others_is_embedded_anew_with_the_turn_after(indexed: Indexed) -> None:
    await indexed.say("the boiler leaks", "call the plumber", "thanks")
    kept = await indexed.database.write(partial(put, record=fact(), now=1))
    await indexed.keeper.catch_up()
    del indexed.embedder.texts[:]
    await indexed.database.write(partial(reword_turns, conversation=str(DM), ts="0.0", text="the attic is dry", now=2))
    await indexed.keeper.catch_up()
    assert len(indexed.embedder.texts) == 4  # two views of the turn and of the one after it
    assert (await indexed.near("boiler")).cosines["TU_1"] < 0.1
    assert (await indexed.near("attic dry", view=View.BEFORE)).cosines["TU_2"] > 0.15
    await indexed.database.write(partial(delete_turns, conversation=str(DM), ts="0.0", now=2))
    await indexed.database.write(lambda transaction: change(transaction, kept.id, 2, audience=EVERYBODY, channel="C1"))
    await indexed.keeper.catch_up()
    assert (await indexed.near("attic dry", view=View.BEFORE)).cosines["TU_2"] < 0.1
    assert "TU_1" not in (await indexed.near("attic", also=["TU_1"])).cosines
    assert await indexed.best("radiators", OURS[0]) == kept.id
    assert kept.id not in (await indexed.near("radiators", *MINE)).cosines
    await indexed.database.write(partial(erase, record=kept, now=3, reason="asked"))
    await indexed.keeper.catch_up()
    await whole(indexed)
    assert (await indexed.difference()).wanted == 2


async def test_another_embedder_embeds_everything_anew_and_old_vectors_answer_nothing(indexed: Indexed) -> None:
    await indexed.say("the boiler leaks")
    await indexed.keeper.catch_up()
    generation = indexed.fact("generation")
    indexed.embedder.id, indexed.embedder.length = "others", 32
    later, boiler = Vectors(indexed.folder, "others", indexed.events), indexed.embedder.vector("boiler")
    assert (await later.near(MINE, [NearQuery(View.OWN, boiler)], 3))[0].kind == "none"
    await indexed.keeper.catch_up()
    assert (await later.near(MINE, [NearQuery(View.OWN, boiler)], 3))[0].cosines["TU_1"] > 0.3
    assert (await indexed.near("boiler")).kind == "none"
    assert indexed.fact("generation") != generation
    await whole(indexed)
    await later.aclose()


async def _wipe(indexed: Indexed) -> None:
    shutil.rmtree(indexed.folder)


async def _garble(indexed: Indexed) -> None:
    path = indexed.folder / FILE
    path.write_bytes(os.urandom(path.stat().st_size))


async def _tear(indexed: Indexed) -> None:
    path = indexed.folder / FILE
    raw = bytearray(path.read_bytes())
    raw[4096:20_000] = os.urandom(20_000 - 4096)
    path.write_bytes(raw)


async def _replace_by_foreign(indexed: Indexed) -> None:
    path = indexed.folder / FILE
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")


async def _lose_rows(indexed: Indexed) -> None:
    with sqlite3.connect(indexed.folder / FILE) as connection:
        connection.execute("DELETE FROM vectors WHERE id = 'TU_1'")
        connection.execute("UPDATE vectors SET id = 'TU_99' WHERE id = 'TU_2'")
        connection.execute("UPDATE vectors SET digest = 'x' WHERE id = 'TU_3'")


@pytest.mark.parametrize("harm", [_wipe, _garble, _tear, _replace_by_foreign, _lose_rows])
async def test_a_wiped_damaged_foreign_or_stale_file_leaves_nothing_missing_and_nothing_too_much(
    indexed: Indexed, harm: Callable[[Indexed], Awaitable[None]]
) -> None:
    await indexed.say(*(f"turn number {number}" for number in range(40)))
    await indexed.keeper.catch_up()
    await indexed.near("turn")
    await harm(indexed)
    await indexed.say("while it was broken")
    await indexed.near("turn")  # no cycle fails
    await indexed.keeper.catch_up()
    await whole(indexed)
    for event in indexed.events.named("vectors.damaged"):
        assert "vectors.db" in str(event["reason"])
        assert "memory.db" not in str(event["reason"])
    assert len((await indexed.near("turn", also=[f"TU_{n}" for n in range(1, 42)])).cosines) == 41


async def test_a_restored_memory_db_loses_the_vectors_of_what_came_after(indexed: Indexed, path: Path) -> None:
    await indexed.say("before the backup")
    await indexed.keeper.catch_up()
    await indexed.say("after the backup")
    await indexed.keeper.catch_up()
    await indexed.database.run("DELETE FROM turns WHERE seq = 2")
    await indexed.database.run("DELETE FROM vector_queue")  # as in a file from before
    assert (await indexed.difference()).orphaned == ("TU_2",)
    await indexed.keeper.catch_up()
    await whole(indexed)


async def test_one_process_owns_the_index_and_others_scan_by_themselves(indexed: Indexed, clock: FakeClock) -> None:
    await indexed.say("the boiler leaks")
    async with indexed.owning() as work:
        while await work.feed():
            pass
        second = Indexed(indexed.database, indexed.folder, clock)
        assert owner_of(indexed.folder) == os.getpid()
        assert not await second.keeper.catch_up()
        assert (await second.near("boiler leaks")).cosines["TU_1"] > 0.5
        await indexed.say("and the attic")
        while await work.feed():
            pass
        assert await second.best("attic") == "TU_2"  # what the owner adds is seen
        await second.index.aclose()
    assert owner_of(indexed.folder) is None
    assert await indexed.keeper.catch_up()


async def test_an_embedder_that_is_down_loses_nothing_and_the_queue_waits(indexed: Indexed) -> None:
    await indexed.say("the boiler leaks")
    indexed.embedder.down = ModelUnavailable("no line", hint="wait")
    with pytest.raises(ModelUnavailable):
        await indexed.keeper.catch_up()
    assert await indexed.database.read(queued) == 1
    indexed.embedder.down = None
    await indexed.keeper.catch_up()
    indexed.embedder.length = 32
    await indexed.say("two")
    with pytest.raises(ModelRefused, match="32 numbers, those that are stored 512"):
        await indexed.keeper.catch_up()
    indexed.embedder.length = 512  # as an endpoint that has its model back
    await indexed.keeper.catch_up()
    await whole(indexed)


async def test_while_vectors_have_another_length_the_queue_waits_and_a_rebuild_helps(indexed: Indexed) -> None:
    still = FakeClock()
    keeper = VectorKeeper(replace(indexed.parts, clock=still), lambda _: indexed.free)
    await indexed.say("the boiler leaks")
    life = asyncio.create_task(keeper.run())
    await indexed.events.until("vectors.followed")
    indexed.embedder.length = 32
    await indexed.say("the attic is dry")
    await _turn_until(still, indexed.events, "vectors.wait")
    found = await statistics(indexed.database, indexed.folder, "words")
    assert (found.queued, found.have, found.length) == (1, 1, 512)
    assert "vectors have 32 numbers, those that are stored 512" in found.trouble
    assert "soul memory rebuild" in found.hint
    assert (await indexed.near("boiler leaks")).kind == "none"  # full text alone serves
    assert "32 numbers" in str(indexed.events.named("vectors.unread")[-1])
    await indexed.database.write(partial(enqueue, ids=[Order.REBUILD]))
    await _turn_until(still, indexed.events, "vectors.go_on")
    while (found := await statistics(indexed.database, indexed.folder, "words")).queued:
        await still.sleepers()
        await still.advance(60)
    assert (found.have, found.length, found.trouble, found.hint) == (2, 32, "", "")
    assert set((await indexed.near("boiler leaks")).cosines) == {"TU_1", "TU_2"}
    await whole(indexed)
    life.cancel()
    await asyncio.wait((life,))


async def test_queries_of_another_length_cost_those_of_the_right_one_nothing(indexed: Indexed) -> None:
    await indexed.say("the boiler leaks")
    await indexed.keeper.catch_up()
    right, wrong = indexed.embedder.vector("boiler"), WordEmbedder(length=32).vector("boiler")
    for also in ((), ("TU_1",)):
        queries = [NearQuery(View.OWN, one, also) for one in (wrong, right)]
        refused, answered = await indexed.index.near(MINE, queries, 3)
        assert (refused.kind, refused.cosines, set(answered.cosines)) == ("none", {}, {"TU_1"})
    meaning = Meaning(indexed.embedder, indexed.index)
    await meaning.vectors_of(["the topic"])
    indexed.embedder.length = 32
    vectors = await meaning.vectors_of(["the topic", "the newest words"])
    assert [len(one) for one in vectors if one is not None] == [32, 32], "an older one is embedded again"


async def _turn_until(clock: FakeClock, events: Events, event: str) -> None:
    """Let the keeper go on, however often it rests, until one more such event."""
    wanted = len(events.named(event)) + 1
    while len(events.named(event)) < wanted:
        await clock.sleepers()
        await clock.advance(60)


async def test_a_change_while_a_memory_is_embedded_is_not_lost(indexed: Indexed) -> None:
    await indexed.say("the boiler leaks")
    embed = indexed.embedder.embed

    async def slowly(texts: list[str]) -> list[object]:
        indexed.embedder.embed = embed  # type: ignore[method-assign]
        await indexed.database.write(
            partial(reword_turns, conversation=str(DM), ts="0.0", text="the attic is dry", now=2)
        )
        return await embed(texts)  # type: ignore[return-value]

    indexed.embedder.embed = slowly  # type: ignore[assignment, method-assign]
    await indexed.keeper.catch_up()
    assert (await indexed.near("attic dry")).cosines["TU_1"] > 0.5
    await whole(indexed)


async def test_the_folder_is_renewed_after_what_was_deleted_before_has_left(indexed: Indexed) -> None:
    await indexed.say(*(f"word{number}" for number in range(20)))
    await indexed.database.write(partial(enqueue, ids=[Order.RENEW]))
    await indexed.say("later")
    first = await indexed.database.read(partial(next_queued, most=100))
    assert list(first)[20:22] == [Order.RENEW, "TU_21"]
    await indexed.database.write(partial(enqueue, ids=[Order.REBUILD]))
    assert next(iter(await indexed.database.read(partial(next_queued, most=1)))) == Order.REBUILD


async def test_without_an_embedder_nothing_is_kept(indexed: Indexed, clock: FakeClock) -> None:
    await indexed.say("the boiler leaks")
    await indexed.keeper.catch_up()
    (indexed.folder / "chroma-x-1").mkdir()
    await indexed.say("more")
    still = FakeClock()
    task = asyncio.ensure_future(do_without(indexed.database, indexed.folder, still))
    await still.sleepers()
    task.cancel()
    assert [path.name for path in indexed.folder.iterdir()] == ["owner.lock"]
    assert await indexed.database.read(queued) == 0


async def test_the_next_daemon_takes_over_within_half_a_minute(indexed: Indexed, clock: FakeClock) -> None:
    await indexed.say("the boiler leaks")
    async with indexed.owning() as work:
        await work.note_trouble("no line")
    second = Indexed(indexed.database, indexed.folder, clock)
    first_life = asyncio.create_task(indexed.keeper.run())
    await indexed.events.until("vectors.followed")
    second_life = asyncio.create_task(second.keeper.run())
    await asyncio.sleep(0)
    assert second.events.names == []
    first_life.cancel()
    await asyncio.wait((first_life,))
    ended = clock.monotonic()
    await second.events.until("vectors.owned")
    assert clock.monotonic() - ended <= 30
    await indexed.say("and the attic")
    await second.events.until("vectors.followed")
    assert await second.best("attic") == "TU_2"
    trouble = (await statistics(indexed.database, indexed.folder, "words")).trouble
    assert trouble == "", "what an owner before waited for is none of the next"
    second_life.cancel()
    await asyncio.wait((second_life,))
    assert owner_of(indexed.folder) is None
    await second.index.aclose()


async def test_a_folder_that_is_wiped_while_a_daemon_runs_is_made_anew(indexed: Indexed) -> None:
    await indexed.say("the boiler leaks")
    life = asyncio.create_task(indexed.keeper.run())
    await indexed.events.until("vectors.followed")
    await _wipe(indexed)
    await indexed.near("boiler")  # finds nothing, or is served again already
    await indexed.events.until("vectors.owned", times=2)
    await indexed.events.until("vectors.followed", times=2)
    assert await indexed.best("boiler") == "TU_1"
    life.cancel()
    await asyncio.wait((life,))
    await whole(indexed)
