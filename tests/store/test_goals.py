"""The goals of a soul: what a thought may change of them, before whom they are shown, and when they go."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.memory.admin.schedule_admin import AdminsGoals
from daemon.memory.database import open_database
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.mind.goal_changes import MOST_OPEN, GoalChange, GoalChanges
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.people.known import KnownOfPerson
from daemon.memory.people.residues import residues, texts_of
from daemon.memory.people.retention import prune
from daemon.memory.thought_parts import StoredThought
from tests.fakes import Events, FakeClock
from tests.given import DM, SOUL, TEAM, deleted, edited, thread
from tests.store.aiming import Aiming, add, complete
from tests.store.parts import WORKER, Stores
from tests.store.thinking import Thinker, members, outsiders

MINE, THEIRS, EVERYBODY = members("dm:D1"), members("dm:D2"), members(f"workspace:{TEAM}")
OTHER_DM = ConversationKey(SOUL, TEAM, "D2")
OPEN, OPEN_TOO = thread("1.0"), thread("2.0", "C2")
HOUR, DAY = 3_600, 86_400  # seconds


@pytest.fixture
def soul(stores: Stores, clock: FakeClock) -> Aiming:
    return Aiming(Thinker(stores), clock)


# -- what a thought may change -----------------------------------------------------------------------------------------


async def test_a_goal_is_added_by_a_number_of_the_soul_and_completed(soul: Aiming) -> None:
    due = soul.clock.now_ms() + 1
    assert await soul.thinks(DM, MINE, add("the import", priority=0.9, due_ms=due), add("the docs")) == []
    first, second = await soul.rows()
    assert (first["id"], second["id"], first["behalf"], first["audience"]) == ("G1", "G2", "U1", "dm:D1")
    assert (first["priority"], first["due_ms"], first["why"], second["priority"]) == (0.9, due, "they asked", 0.5)
    assert first["thought"].startswith("TH_")
    assert await soul.thinks(DM, MINE, complete("g1 "), GoalChange("abandon", id="G2", why="no reader")) == []
    states = [(row["state"], row["why"], row["closed_ms"] is not None) for row in await soul.rows()]
    assert states == [("done", "it works", True), ("abandoned", "no reader", True)]
    assert await soul.at_hand(DM, MINE) == ()
    assert await soul.thinks(DM, MINE, add("the import")) == []
    assert [row["id"] for row in await soul.rows()] == ["G1", "G2", "G3"], "a number is never given twice"


async def test_a_goal_gets_another_priority_and_time_and_keeps_what_is_not_said(soul: Aiming) -> None:
    due = soul.clock.now_ms() + 60_000
    await soul.thinks(DM, MINE, add("a", priority=0.3), add("b", priority=0.6))
    await soul.thinks(DM, MINE, GoalChange("reprioritize", id="G1", priority=0.8, due_ms=due, why="the demo"))
    await soul.thinks(DM, MINE, GoalChange("reprioritize", id="G1", why="still"))
    row, _ = await soul.rows()
    assert (row["priority"], row["due_ms"], row["why"]) == (0.8, due, "still")
    assert [one.id for one in await soul.at_hand(DM, MINE)] == ["G1", "G2"]


async def test_what_is_unknown_foreign_closed_or_not_to_be_remembered_is_refused(soul: Aiming) -> None:
    assert await soul.thinks(DM, MINE, add("a"), add("b"), passing=True) == ["private", "private"]
    assert await soul.goals() == []
    await soul.thinks(OTHER_DM, THEIRS, add("theirs"), author="U2")
    await soul.thinks(DM, MINE, add("mine"), complete("G2"))
    changes = (complete("G1"), complete("G2"), complete("G9"), complete("' OR 1=1 --"))
    assert await soul.thinks(DM, MINE, *changes) == ["foreign", "unknown", "unknown", "unknown"]
    assert [row["state"] for row in await soul.rows()] == ["open", "done"]


async def test_a_goal_of_another_soul_is_unknown(soul: Aiming, ben: Stores) -> None:
    await soul.thinks(DM, MINE, add("ada's"))
    other = Aiming(Thinker(ben), soul.clock)
    there = ConversationKey("ben", TEAM, "D1")
    assert await other.at_hand(there, MINE) == ()
    assert await other.thinks(there, MINE, complete("G1"), add("ben's")) == ["unknown"]
    assert [(row["soul"], row["id"], row["state"]) for row in await soul.rows()] == [
        (SOUL, "G1", "open"),
        ("ben", "G1", "open"),
    ]


async def test_a_repeated_goal_is_touched_and_added_only_before_others_who_may_not_know_it(soul: Aiming) -> None:
    await soul.thinks(OPEN, EVERYBODY, add("The import, again!"))
    (before,) = await soul.rows()
    await soul.clock.sleep(HOUR)
    assert await soul.thinks(OPEN, EVERYBODY, add("  the IMPORT again"), add("THE import: again")) == []
    (after,) = await soul.rows()
    assert after["touched_ms"] > before["touched_ms"]
    assert (after["goal"], after["why"]) == ("The import, again!", "they asked")
    others = outsiders(f"workspace:{TEAM}")
    await soul.thinks(OPEN_TOO, others, add("the import, again"))
    assert [one.id for one in await soul.at_hand(OPEN_TOO, others)] == ["G2"]


async def test_an_audience_has_twelve_open_goals_at_most(soul: Aiming) -> None:
    asked = [add(f"goal {number}") for number in range(MOST_OPEN + 2)]
    assert await soul.thinks(DM, MINE, *asked) == ["too_many", "too_many"]
    assert await soul.thinks(DM, MINE, add("goal 3"), complete("G1"), add("one more"), add("and one")) == ["too_many"]
    assert await soul.thinks(OTHER_DM, THEIRS, add("elsewhere"), author="U2") == [], "another audience has its own"


async def test_goals_of_two_daemons_and_many_threads_keep_the_bound(soul: Aiming, path: Path, clock: FakeClock) -> None:
    async with open_database(path, clock) as other, asyncio.TaskGroup() as group:
        for number in range(2 * MOST_OPEN):
            database = (soul.thinker.database, other)[number % 2]
            part = GoalChanges((add(f"goal {number}"), add("of all")))
            stored = StoredThought("", thread(f"{number}.0"), EVERYBODY.audience, EVERYBODY, "U1", clock.now_ms())
            group.create_task(database.write(partial(part.take, thought=stored)))
    rows = await soul.rows()
    assert [row["id"] for row in rows] == [f"G{number}" for number in range(1, MOST_OPEN + 1)]
    assert [row["goal"] for row in rows].count("of all") == 1


# -- before whom they are shown ----------------------------------------------------------------------------------------


async def test_goals_are_shown_before_no_wider_readers(soul: Aiming) -> None:
    others = outsiders(f"workspace:{TEAM}")
    for made, made_before, where, readers, shown in (
        (DM, MINE, DM, MINE, True),
        (DM, MINE, OTHER_DM, THEIRS, False),
        (DM, MINE, OPEN, EVERYBODY, False),
        (OPEN, EVERYBODY, DM, MINE, True),
        (OPEN, EVERYBODY, OPEN_TOO, EVERYBODY, True),
        (OPEN, EVERYBODY, OPEN, others, False),
        (OPEN, others, OPEN, others, True),
        (OPEN, others, OPEN_TOO, others, False),
        (DM, members("dm:D1", ["C9"]), DM, MINE, False),
        (DM, MINE, DM, Readers(MINE.audience, members_only=True, apart=True), False),
    ):
        given = (made, made_before, where, readers)
        await soul.thinks(made, made_before, add("the import"))
        (row,) = await soul.rows()
        assert [one.goal for one in await soul.at_hand(where, readers)] == ["the import"] * shown, given
        assert await soul.thinks(where, readers, complete(row["id"])) == ([] if shown else ["foreign"]), given
        await soul.thinker.database.run("DELETE FROM goals")


async def test_what_is_due_comes_first_then_by_priority(soul: Aiming) -> None:
    now = soul.clock.now_ms()
    far, near = now + 10 * DAY * 1000, now + 1_000
    timed = (add("later", priority=0.7, due_ms=far), add("soon", priority=0.1, due_ms=near))
    await soul.thinks(DM, MINE, add("plain", priority=0.2), *timed, add("newest", priority=0.2))
    assert [one.goal for one in await soul.at_hand(DM, MINE)] == ["later", "newest", "plain", "soon"]
    await soul.clock.sleep(2)
    assert [one.goal for one in await soul.at_hand(DM, MINE)] == ["soon", "later", "newest", "plain"]


async def test_an_untouched_goal_is_shown_as_stale_once_and_may_be_taken_up_again(soul: Aiming) -> None:
    await soul.thinks(DM, MINE, add("old"), add("timed", due_ms=soul.clock.now_ms() + 30 * DAY * 1000))
    await soul.clock.sleep(14 * DAY)
    timed, old = sorted(await soul.at_hand(DM, MINE), key=lambda one: one.stale)
    assert (timed.goal, timed.stale, old.goal, old.stale) == ("timed", False, "old", True)
    await soul.were_shown((timed, old), DM, MINE)
    assert [one.goal for one in await soul.at_hand(DM, MINE)] == ["timed"]
    await soul.thinks(DM, MINE, GoalChange("reprioritize", id=old.id, why="it matters again"))
    await soul.were_shown((timed, old), DM, MINE)  # by a reply that began before
    assert sorted(one.goal for one in await soul.at_hand(DM, MINE)) == ["old", "timed"]


async def test_stale_goals_take_no_place_and_come_back_only_where_there_is_room(soul: Aiming) -> None:
    await soul.thinks(DM, MINE, *(add(f"old {number}") for number in range(MOST_OPEN)))
    await soul.clock.sleep(14 * DAY)
    assert await soul.thinks(DM, MINE, *(add(f"new {number}") for number in range(MOST_OPEN))) == []
    assert await soul.thinks(DM, MINE, add("old 1"), GoalChange("reprioritize", id="G1")) == ["too_many", "too_many"]
    assert await soul.thinks(DM, MINE, complete("G1")) == []


# -- when they go ------------------------------------------------------------------------------------------------------


async def test_an_edit_or_a_deletion_takes_the_goals_and_the_reasons_that_were_made_of_the_words(soul: Aiming) -> None:
    accept = soul.thinker.stores.inbox.accept
    await soul.thinks(OPEN, EVERYBODY, add("of the first"))
    await soul.thinks(OPEN, EVERYBODY, add("of the second"))
    await soul.thinks(OPEN_TOO, EVERYBODY, complete("G1", why="Ada said that it runs"))
    await accept(deleted("3.000001", conversation=OPEN_TOO))
    (row, _) = await soul.rows()
    assert (row["goal"], row["state"], row["why"]) == ("of the first", "done", "")
    await accept(edited("2.000001", "I meant something else", conversation=OPEN))
    assert await soul.goals() == ["of the first"]
    await accept(deleted("1.000001", conversation=OPEN))
    assert await soul.goals() == []


async def test_a_goal_goes_with_a_thought_that_saw_another_one_from_elsewhere(soul: Aiming) -> None:
    await soul.thinks(OPEN, EVERYBODY, add("the import"))
    (seen,) = await soul.at_hand(OPEN_TOO, EVERYBODY)
    await soul.thinks(OPEN_TOO, EVERYBODY, add("made of it"), saw=[seen.source])
    await soul.thinks(OPEN_TOO, EVERYBODY, complete("G1", why="closed after it was seen"))
    await soul.thinker.stores.inbox.accept(deleted("1.000001", conversation=OPEN))
    assert await soul.goals() == []


async def test_who_is_forgotten_takes_what_was_made_for_them_and_given_by_their_id(soul: Aiming, path: Path) -> None:
    database = soul.thinker.database
    await soul.thinks(DM, MINE, add("for me"))
    await soul.thinks(OTHER_DM, THEIRS, author="U2")
    await soul.thinks(OPEN, EVERYBODY, add("for you"), author="U2")
    for where, goal, why in (
        (DM, "read the import with them", ""),
        (OTHER_DM, "read the import with the other one", "<@U1> can't"),
        (OPEN, "ask <@U1> for the import", "it is late"),
        (OPEN, "write up the import", "it is late"),
    ):
        await soul.admin_adds(where, goal, why)
    texts = await texts_of(database, TEAM, "U1")
    assert await residues(database, path.parent, TEAM, "U1", texts)
    people = ForgettingPeople(database, soul.clock, Events(), path.parent, path.parent / "index")
    await people.finish(await people.ask(TEAM, "U1"))
    assert await residues(database, path.parent, TEAM, "U1", texts) == 0
    assert [(row["goal"], row["why"]) for row in await soul.rows()] == [
        ("for you", "they asked"),
        ("read the import with the other one", ""),
        ("write up the import", "it is late"),
    ]


async def test_thoughts_that_saw_what_an_admin_gave_lose_their_words_when_it_goes(soul: Aiming, path: Path) -> None:
    thinker = soul.thinker
    for where in (OPEN, OPEN_TOO):
        await soul.thinks(where, EVERYBODY, author="U2")
    await soul.admin_adds(OPEN, "ask <@U1> for the import")
    await soul.admin_adds(OPEN, "write up the import")
    writing, asking = await soul.at_hand(OPEN_TOO, EVERYBODY)
    third, fourth = thread("3.0", "C3"), thread("4.0", "C3")
    await thinker.thinks("asking", third, EVERYBODY, author="U2", sources=[asking.source])
    await thinker.thinks("writing", fourth, EVERYBODY, author="U2", sources=[writing.source])
    people = ForgettingPeople(thinker.database, soul.clock, Events(), path.parent, path.parent / "index")
    await people.finish(await people.ask(TEAM, "U1"))
    assert {"asking", "writing"} & set((await thinker.words()).values()) == {"writing"}
    private = Audience.parse("channel:C1")
    await thinker.database.write(lambda transaction: make_private(transaction, TEAM, "C1", private, 5))
    assert {"asking", "writing"} & set((await thinker.words()).values()) == set()


async def test_the_export_holds_what_is_to_be_done_for_its_person_and_in_their_direct_messages(soul: Aiming) -> None:
    await soul.thinks(DM, MINE, add("for me"))
    await soul.thinks(OTHER_DM, THEIRS, add("for another"), author="U2")
    await soul.thinks(OPEN, EVERYBODY)
    for where, goal in ((DM, "by an admin"), (OTHER_DM, "by an admin there"), (OPEN, "by an admin before all")):
        await soul.admin_adds(where, goal)
    known = KnownOfPerson(soul.thinker.database, soul.clock, WORKER)
    for readers, where, shown in ((MINE, DM, ["for me", "by an admin"]), (EVERYBODY, OPEN, [])):
        found = json.loads(json.dumps((await known.export("U1", readers, where))["goals"]))
        assert [one["text"] for one in found] == shown


async def test_what_an_admin_gave_is_kept_while_it_is_open_and_then_for_as_long_as_words(soul: Aiming) -> None:
    database, kept = soul.thinker.database, {"turn_days": 6}
    await soul.thinks(DM, MINE, add("of a thought"))
    for goal in ("open", "closed long ago", "closed lately"):
        await soul.admin_adds(DM, goal)
    admin = AdminsGoals(database, soul.clock, "root")
    await admin.close(SOUL, ("G3",), "done", "it works")
    await soul.clock.sleep(7 * DAY)
    await admin.close(SOUL, ("G4",), "abandoned", "")
    await prune(database, soul.clock, {"fact_days": 6})
    assert await soul.goals() == ["of a thought", "open", "closed long ago", "closed lately"]
    await prune(database, soul.clock, kept)
    assert await soul.goals() == ["open", "closed lately"], "a thought's own goes with its words"
    assert (await soul.admin_adds(DM, "the next"))["id"] == "G5", "a number is never given twice"


async def test_goals_of_a_channel_that_is_made_private_are_for_its_members_and_shown_no_more(soul: Aiming) -> None:
    await soul.thinks(OPEN, EVERYBODY, add("theirs now"))
    (seen,) = await soul.at_hand(OPEN_TOO, EVERYBODY)
    await soul.thinks(OPEN_TOO, EVERYBODY, add("made of it"), saw=[seen.source])
    private = Audience.parse("channel:C1")
    await soul.thinker.database.write(lambda transaction: make_private(transaction, TEAM, "C1", private, 5))
    assert [(row["goal"], row["audience"]) for row in await soul.rows()] == [("theirs now", "channel:C1")]
    for where, readers in ((OPEN, members("channel:C1")), (OPEN_TOO, EVERYBODY), (DM, MINE)):
        assert await soul.at_hand(where, readers) == ()
