"""What a thought noted: it surfaces before no readers who could not have thought it, and goes with its words."""

import asyncio
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.knowledge.episodes import Episodes
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Trust
from daemon.memory.knowledge.records.store import put
from daemon.memory.mind.allowing import NotedInThought
from daemon.memory.people.retention import erase_what_passes
from daemon.memory.queues.remembering import Journaled, Remembered
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.stream.emptying import empty_thoughts_on
from tests.fakes import Events, FakeClock
from tests.given import DM, TEAM, deleted, thread
from tests.store.parts import WORKER, Stores, a_fact
from tests.store.thinking import Thinker, members, new_thought, outsiders

IN_ROOM, MINE, AS_GUEST = members("dm:D1", ["G1"]), members("dm:D1"), outsiders("dm:D1")
EVERYBODY = members(f"workspace:{TEAM}")
OPEN = thread("1.0")
NOTE, LINE = "The harvest moves to April.", "I wonder about the harvest in April."


@pytest.fixture
def soul(stores: Stores) -> Thinker:
    return Thinker(stores)


async def notes(soul: Thinker, where: ConversationKey, readers: Readers, saw: Sequence[str] = ()) -> None:
    parts = (NotedInThought((Remembered(NOTE), Journaled(LINE))),)
    thought = replace(new_thought("hm", saw=saw), parts=parts)
    await soul.thinks("go on", where, readers, thoughts=[thought])


async def known(soul: Thinker, where: ConversationKey, readers: Readers) -> tuple[bool, bool]:
    """Whether the note surfaces there, and whether the line of the journal is in mind."""
    found = await Surfacing(soul.database, FakeClock()).search(where, readers, "when is the harvest in April", 5)
    journal = await Episodes(soul.database, FakeClock(), WORKER).journal(where, readers, 5)
    return NOTE in [one.text for one in found], LINE in [one.text for one in journal]


async def kept(soul: Thinker) -> list[str]:
    return [row["text"] for row in await soul.database.rows("SELECT text FROM records ORDER BY seq")]


async def test_what_was_noted_in_sight_of_a_private_room_is_for_who_is_in_it(soul: Thinker) -> None:
    await notes(soul, DM, IN_ROOM)
    for readers, shown in ((IN_ROOM, True), (members("dm:D1", ["G1", "G2"]), True), (MINE, False), (AS_GUEST, False)):
        assert await known(soul, DM, readers) == (shown, shown), readers


async def test_what_was_noted_among_members_is_not_for_a_channel_where_a_guest_reads(soul: Thinker) -> None:
    await notes(soul, OPEN, EVERYBODY)
    assert await known(soul, OPEN, EVERYBODY) == (True, True)
    assert await known(soul, OPEN, Readers(EVERYBODY.audience, members_only=False)) == (False, False)
    assert (await known(soul, DM, MINE))[0]
    await notes(soul, DM, AS_GUEST)
    assert await known(soul, DM, AS_GUEST) == (True, True), "noted before a guest it is for all who read there"
    assert await known(soul, DM, MINE) == (True, True)
    await soul.database.write(lambda one: one.run("UPDATE records SET extra = '{'"))
    assert (await known(soul, DM, MINE))[0] is False, "whom a record is for can't be read"


async def test_one_that_says_the_same_before_fewer_does_not_hide_the_other(soul: Thinker) -> None:
    await notes(soul, DM, IN_ROOM)
    await notes(soul, DM, MINE)
    assert await known(soul, DM, MINE) == (True, True)
    assert (await kept(soul)).count(NOTE) == 2
    await notes(soul, DM, MINE)
    assert (await kept(soul)).count(NOTE) == 2


async def test_a_note_goes_with_a_fact_that_its_thought_saw_and_with_a_message(soul: Thinker) -> None:
    source = await soul.database.write(lambda one: put(one, a_fact(trust=Trust.NOTED), 1))
    await notes(soul, DM, MINE, saw=[source.id])
    await soul.database.write(lambda one: forget(one, [source.id], 2, "it was asked for"))
    assert await kept(soul) == []
    said = await soul.thinks("the harvest is in April", OPEN, EVERYBODY)
    (*_, seen) = await soul.database.rows("SELECT id FROM thoughts ORDER BY seq")
    await notes(soul, DM, MINE, saw=[seen["id"]])
    (note,) = await soul.database.rows("SELECT id FROM records WHERE kind = 'fact'")
    await soul.thinks("and so on", DM, MINE, saw=[note["id"]])
    await soul.stores.inbox.accept(deleted(said, conversation=OPEN))
    assert await kept(soul) == []
    assert set((await soul.words()).values()) == {""}


async def test_a_note_that_is_adrift_is_shown_to_no_reader_and_forgotten_by_the_sweep(soul: Thinker) -> None:
    await notes(soul, DM, MINE, saw=["MS_x"])
    await soul.database.write(lambda one: empty_thoughts_on(one, ["MS_x"]))
    assert await known(soul, DM, MINE) == (False, False)
    assert NOTE in await kept(soul)
    clock = FakeClock()
    sweep = asyncio.create_task(erase_what_passes(soul.database, clock, Events(), silence_ms=1))
    await clock.sleepers()
    sweep.cancel()
    assert await kept(soul) == []
