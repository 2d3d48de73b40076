"""The stream of thought: what is kept of a thought, before whom it is thought again, and when it loses its words."""

import dataclasses
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.arrivals import Withdrawal
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import change, put
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.people.retention import erase_turns, prune
from daemon.memory.queues.feedback import withdraw_reply
from daemon.memory.stream.authority import unfit_until
from daemon.memory.stream.keeping import CycleThoughts
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, call, deleted, edited, effect, new_message, thread
from tests.store.parts import Stores, a_fact, look
from tests.store.thinking import Thinker, members, new_thought, outsiders, said

MINE, EVERYBODY, ROOM = members("dm:D1"), members(f"workspace:{TEAM}"), members("channel:C9")
BELOW = ConversationKey(SOUL, TEAM, "D1", "5.0")
OPEN, OPEN_TOO, PRIVATE = thread("1.0"), thread("2.0", "C2"), thread("3.0", "C9")
DAY, HOUR = 86_400_000, 3_600_000
KEEPS_BEES = a_fact(person="U1")
NUMBERS = "SELECT id, previous, occasion, process, spoke, calls, saw_to FROM thoughts ORDER BY seq"


@pytest.fixture
def soul(stores: Stores) -> Thinker:
    return Thinker(stores)


# -- what is kept ------------------------------------------------------------------------------------------------------


async def test_each_thought_names_the_one_before_it_in_its_conversation(soul: Thinker) -> None:
    for where, readers in ((DM, MINE), (OPEN, EVERYBODY), (DM, MINE), (DM, MINE)):
        await soul.thinks("hm", where, readers)
    rows = await soul.database.rows("SELECT id, previous, conversation, audience, at_ms FROM thoughts ORDER BY seq")
    first, other, second, third = rows
    assert [one["previous"] for one in rows] == ["", "", first["id"], second["id"]]
    assert (other["conversation"], other["audience"]) == (str(OPEN), f"workspace:{TEAM}")
    assert [one["id"][:3] + one["id"][-4:] for one in rows] == ["TH__001", "TH__002", "TH__003", "TH__004"]
    assert third["id"] != second["id"]


async def test_what_a_cycle_cost_is_dealt_out_among_its_thoughts(soul: Thinker, path: Path) -> None:
    await soul.stores.inbox.accept(new_message())
    claim = await soul.stores.claim()
    calls = tuple(dataclasses.replace(call(), tokens_in=10**number, tokens_out=1, cost_usd=0.5) for number in range(4))
    thoughts = (replace(new_thought("a"), calls_made=1), replace(new_thought("b"), calls_made=3))
    kept = await soul.stores.commits.commit(
        replace(effect(claim, "yes"), calls=calls, thoughts=CycleThoughts(thoughts, MINE))
    )
    assert kept is not None
    assert look(path, "SELECT calls, tokens_in, tokens_out, cost_usd FROM thoughts ORDER BY seq") == [
        (1, 1, 1, 0.5),
        (3, 1_110, 3, 1.5),
    ]
    first, second = (row[0] for row in look(path, "SELECT id FROM thoughts ORDER BY seq"))
    assert look(path, "SELECT previous FROM thoughts ORDER BY seq") == [("",), (first,)]
    assert first != second
    assert look(path, "SELECT saw_to FROM thoughts") == [(2,), (2,)], "the message, and the reply that it became"


# -- before whom it is thought again -----------------------------------------------------------------------------------


async def test_the_last_thought_of_a_conversation_comes_back_with_recent_ones_of_the_same_people(soul: Thinker) -> None:
    for words, where, readers in (
        ("in the open", OPEN, EVERYBODY),
        ("one", DM, MINE),
        ("in a private room", PRIVATE, ROOM),
        ("below", BELOW, MINE),
        ("two", DM, MINE),
    ):
        await soul.thinks(words, where, readers)
    assert said(await soul.last(DM, MINE)) == ("two", ["in the open", "one", "below"])
    assert said(await soul.last(BELOW, MINE)) == ("below", ["in the open", "one", "two"])
    assert said(await soul.last(OPEN, EVERYBODY)) == ("in the open", [])
    assert said(await soul.last(PRIVATE, ROOM)) == ("in a private room", ["in the open"])
    assert said(await soul.last(OPEN_TOO, EVERYBODY)) == ("", ["in the open"])


async def test_before_outsiders_it_is_the_conversation_alone(soul: Thinker) -> None:
    await soul.thinks("elsewhere", OPEN_TOO, EVERYBODY)
    await soul.thinks("before members", OPEN, EVERYBODY)
    everybody = outsiders(f"workspace:{TEAM}")
    assert said(await soul.last(OPEN, everybody)) == ("", []), "it may hold what members alone may know"
    await soul.thinks("before a guest", OPEN, everybody)
    await soul.thinks("to the guest", OPEN, everybody)
    assert said(await soul.last(OPEN, everybody)) == ("to the guest", ["before a guest"])
    assert said(await soul.last(OPEN, EVERYBODY)) == ("to the guest", ["elsewhere", "before members", "before a guest"])


async def test_it_is_thought_again_before_no_wider_and_no_other_readers(soul: Thinker) -> None:
    mine, in_room = members("dm:D1"), members("dm:D1", ["C9"])
    apart = replace(mine, apart=True)
    for number, (then, now, again) in enumerate(
        (
            (in_room, in_room, True),
            (in_room, mine, False),
            (mine, in_room, True),
            (mine, outsiders("dm:D1"), False),
            (outsiders("dm:D1"), mine, True),
            (mine, members("dm:D2"), False),
            (mine, apart, False),
            (apart, apart, True),
        )
    ):
        await soul.thinks(f"hm {number}", DM, then)
        assert said(await soul.last(DM, now))[0] == (f"hm {number}" if again else ""), (then, now)


async def test_elsewhere_it_is_no_thought_that_passes_or_of_other_rooms_and_sessions(soul: Thinker) -> None:
    await soul.thinks("of a room", DM, members("dm:D1", ["C9"]))
    assert said(await soul.last(BELOW, members("dm:D1", ["C9"]))) == ("", ["of a room"])
    assert said(await soul.last(BELOW, MINE)) == ("", [])
    assert said(await soul.last(BELOW, replace(MINE, apart=True))) == ("", [])
    ts = await soul.thinks("in passing", DM, MINE, passing=True)
    assert said(await soul.last(DM, MINE)) == ("in passing", [])
    assert said(await soul.last(BELOW, MINE)) == ("", [])
    await soul.stores.inbox.accept(deleted(ts))
    assert said(await soul.last(DM, MINE)) == ("", []), "no older one takes the place of one without its words"


# -- whether the soul is to think at all -----------------------------------------------------------------------------


async def test_answers_that_were_no_thoughts_count_an_hour_also_without_words(soul: Thinker, clock: FakeClock) -> None:
    unread = replace(new_thought("hm"), input="", degraded=True)
    poem = replace(new_thought("a poem"), input="")
    for made in (unread, unread, poem, *[new_thought("read")] * 7, *[poem] * 9, unread):
        ts = await soul.thinks("hm", DM, MINE, thoughts=[made])
    database, conversation = soul.database, (SOUL, TEAM)

    async def until() -> int:
        return await database.read(lambda transaction: unfit_until(transaction, *conversation, clock.now_ms()))

    began = clock.now_ms()
    assert await until() == began + HOUR, "of the ten that were asked for three were none"
    await soul.stores.inbox.accept(deleted("1.000001"))
    await soul.stores.inbox.accept(deleted(ts))
    assert await until() == began + HOUR
    await clock.sleep(HOUR / 1000)
    assert await until() == 0


# -- when it loses its words -------------------------------------------------------------------------------------------


@pytest.fixture
async def chain(soul: Thinker, path: Path) -> tuple[str, ...]:
    """A thought, one in the same DM that saw it, one below that saw this, and one in the open that saw none."""
    await soul.thinks("first", DM, MINE)
    for words, where, readers in (("second", DM, MINE), ("third", BELOW, MINE)):
        ids = [str(row[0]) for row in look(path, "SELECT id FROM thoughts ORDER BY seq")]
        await soul.thinks(words, where, readers, saw=ids[-1:])
    await soul.thinks("free", OPEN, EVERYBODY)
    return tuple(str(row[0]) for row in look(path, "SELECT id FROM thoughts ORDER BY seq"))


@pytest.mark.usefixtures("chain")
@pytest.mark.parametrize("act", ["delete", "withdraw"])
async def test_what_rests_on_changed_words_is_emptied_and_its_numbers_stay(soul: Thinker, path: Path, act: str) -> None:
    before = look(path, NUMBERS)
    if act == "withdraw":
        await soul.database.write(
            lambda transaction: withdraw_reply(transaction, Withdrawal("W1", SOUL, TEAM, "D1", "91.000001", "U1"), 5)
        )
    else:
        await soul.stores.inbox.accept(deleted("1.000001"))
    assert list((await soul.words()).values()) == ["", "", "", "free"]
    assert look(path, NUMBERS) == before
    assert look(path, "SELECT count(*) FROM thoughts WHERE emptied AND (input <> '' OR output <> '')") == [(0,)]


async def test_only_what_rests_on_changed_words_is_emptied_also_what_is_thought_just_then(
    soul: Thinker, chain: tuple[str, ...], path: Path
) -> None:
    await soul.stores.inbox.accept(edited("2.000001", "never mind"))
    assert list((await soul.words()).values()) == ["first", "", "", "free"]
    await soul.thinks("of the third", DM, MINE, saw=[chain[2]])
    await soul.thinks("of a turn that is gone", OPEN, EVERYBODY, sources=["TU_99"])
    await soul.thinks("of a fact that is gone", OPEN_TOO, EVERYBODY, sources=["sem_00000000"])
    assert list((await soul.words()).values())[4:] == ["", "", ""]
    assert look(path, "SELECT count(*) FROM thoughts") == [(7,)]


async def test_a_thought_that_saw_words_or_a_fact_from_elsewhere_goes_with_them(soul: Thinker, path: Path) -> None:
    ts = await soul.thinks("in the open", OPEN, EVERYBODY)
    (seq,) = look(path, "SELECT seq FROM turns WHERE ts = ? AND speaker = 'person'", ts)[0]
    await soul.thinks("recalls it", DM, MINE, sources=[f"TU_{seq}"])
    await soul.thinks("does not", BELOW, MINE)
    assert look(path, "SELECT source FROM thought_sources") == [(f"TU_{seq}",)]
    await soul.stores.inbox.accept(deleted(ts, conversation=OPEN))
    assert list((await soul.words()).values()) == ["", "", "does not"]
    ts = await soul.thinks("I keep bees", DM, MINE)
    (seq,) = look(path, "SELECT seq FROM turns WHERE ts = ? AND speaker = 'person'", ts)[0]
    proof = Link("", Relation.EVIDENCE, f"TU_{seq}", "I keep bees")
    name = (await soul.database.write(lambda transaction: put(transaction, KEEPS_BEES, 1, [proof]))).id
    await soul.thinks("they keep bees", BELOW, MINE, sources=[name])
    await soul.database.write(lambda transaction: forget(transaction, [name], 9, "asked"))
    assert list((await soul.words()).values())[3:] == ["I keep bees", ""]


@pytest.mark.parametrize("act", ["edit", "change", "neither"])
async def test_what_says_something_else_by_now_leaves_an_empty_thought(soul: Thinker, path: Path, act: str) -> None:
    ts = await soul.thinks("I keep bees", OPEN, EVERYBODY)
    (seq,) = look(path, "SELECT seq FROM turns WHERE ts = ? AND speaker = 'person'", ts)[0]
    name = (await soul.database.write(lambda transaction: put(transaction, KEEPS_BEES, 1, []))).id
    last = await soul.last(DM, MINE)
    if act == "edit":
        await soul.stores.inbox.accept(edited(ts, "I keep wasps", conversation=OPEN))
    elif act == "change":
        await soul.database.write(lambda transaction: change(transaction, name, 9, "reworded", text="keeps wasps"))
    await soul.thinks("they keep bees", DM, MINE, sources=[f"TU_{seq}", name], read_at=last.read_at)
    assert list((await soul.words()).values())[1] == ("they keep bees" if act == "neither" else "")
    again = await soul.last(DM, MINE)
    await soul.thinks("what they keep", BELOW, MINE, sources=[f"TU_{seq}", name], read_at=again.read_at)
    assert list((await soul.words()).values())[2] == "what they keep"


@pytest.mark.usefixtures("chain")
async def test_when_a_person_is_forgotten_so_is_all_that_was_thought_of_their_words(soul: Thinker, path: Path) -> None:
    await soul.thinks("of another", OPEN_TOO, EVERYBODY, author="U2")
    before = look(path, NUMBERS)
    await soul.database.write(lambda transaction: erase(transaction, TEAM, "U1", Spared(), 10**6, 10**15))
    assert list((await soul.words()).values()) == ["", "", "", "", "of another"]
    assert look(path, NUMBERS) == before


async def test_what_passes_goes_when_the_visit_ends(soul: Thinker, path: Path) -> None:
    await soul.thinks("before", DM, MINE)
    await soul.thinks("in passing", DM, MINE, passing=True)
    rows = [tuple(row) for row in look(path, "SELECT seq, conversation, speaker, ts FROM turns WHERE seq > 2")]
    await soul.database.write(lambda transaction: erase_turns(transaction, rows, 9, "paused"))  # type: ignore[arg-type]
    assert list((await soul.words()).values()) == ["before", ""]


async def test_it_is_kept_for_as_long_as_turns_are(soul: Thinker, clock: FakeClock, path: Path) -> None:
    await soul.thinks("old", DM, MINE)
    await clock.sleep(7 * DAY / 1000)
    await soul.thinks("new", OPEN, EVERYBODY)
    await prune(soul.database, clock, {"fact_days": 6})
    assert list((await soul.words()).values()) == ["old", "new"]
    await prune(soul.database, clock, {"turn_days": 6})
    assert list((await soul.words()).values()) == ["", "new"]
    assert look(path, "SELECT count(*) FROM thoughts") == [(2,)]


async def test_a_channel_that_is_made_private_keeps_its_thoughts_to_itself(soul: Thinker, path: Path) -> None:
    ts = await soul.thinks("of the channel", OPEN, EVERYBODY)
    (seq,) = look(path, "SELECT seq FROM turns WHERE ts = ? AND speaker = 'person'", ts)[0]
    (name,) = look(path, "SELECT id FROM thoughts")[0]
    await soul.thinks("saw the thought", OPEN_TOO, EVERYBODY, saw=[str(name)])
    await soul.thinks("saw the words", DM, MINE, sources=[f"TU_{seq}"])
    await soul.thinks("saw neither", BELOW, MINE)
    private = Audience.parse("channel:C1")
    await soul.database.write(lambda transaction: make_private(transaction, TEAM, "C1", private, 5))
    assert list((await soul.words()).values()) == ["of the channel", "", "", "saw neither"]
    assert look(path, "SELECT audience FROM thoughts WHERE id = ?", name) == [("channel:C1",)]
    assert said(await soul.last(OPEN_TOO, EVERYBODY)) == ("", [])
    assert said(await soul.last(OPEN, members("channel:C1"))) == ("", []), "it came before all of the workspace"
