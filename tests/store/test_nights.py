"""Nights over memory.db: what is merged; once a slot, within bounds, and undone at will."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.errors import ModelUnavailable, StoreError
from daemon.core.ports.services import Completion
from daemon.memory.database import Database, Transaction, open_database
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Trust
from daemon.memory.knowledge.records.store import change
from daemon.processes.consolidation.night import Night
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM
from tests.models import ScriptedLLM
from tests.nights import ANN, DAY_S, EVERYBODY, GENERAL, PLAN, Nights
from tests.store.parts import look, poke

SAME = '{"same": [1]}'


@pytest.fixture
def nights(database: Database, clock: FakeClock) -> Nights:
    return Nights(database, clock)


@pytest.fixture
async def other(path: Path, clock: FakeClock, database: Database) -> AsyncIterator[Nights]:
    async with open_database(path, clock) as opened:
        yield Nights(opened, clock, "worker-2")


async def test_the_older_of_two_same_facts_stays_and_supersedes_the_newer(nights: Nights, path: Path) -> None:
    older = await nights.knows("Ann likes tea.", confidence=0.9)
    newer = await nights.knows("ann  likes TEA", significance=8)
    other = await nights.knows("Ann likes tea.", audience=EVERYBODY, channel="C1", conversation=str(GENERAL))
    await nights.pass_one()
    assert look(path, "SELECT origin, target FROM links WHERE relation = 'supersedes'") == [(older, newer)]
    ended = look(path, "SELECT id, why_ended FROM facts WHERE valid_until_ms IS NOT NULL")
    assert ended == [(newer, "superseded")]
    assert look(path, "SELECT significance FROM records WHERE id IN (?, ?) ORDER BY seq", older, other) == [(8,), (5,)]
    assert nights.llm.prompts == []
    [run] = [one for one in await nights.runs() if one["did"] != "{}"]
    assert (run["state"], run["audience"], run["did"]) == ("done", "dm:D1", '{"merges_facts": 2}')


async def test_claims_and_words_of_different_people_stay_apart_but_no_old_note(nights: Nights, path: Path) -> None:
    await nights.knows("Ann likes tea", trust=Trust.NOTED)
    proved = await nights.knows("Ann likes tea")
    for fields in ({"claimed_by": "U2"}, {"claimed_by": "U3"}):
        await nights.knows("Ann likes tea", trust=Trust.CLAIM, **fields)
    await nights.knows("Ann likes tea", person="U2")
    await nights.pass_one()
    assert len(await nights.standing()) == 4
    standing = "SELECT trust FROM facts JOIN records USING (id) WHERE valid_until_ms IS NULL AND id = ?"
    assert look(path, standing, proved) == [("own",)], "of the note and the fact the proved one stays"


async def test_the_model_is_asked_of_alike_lines_once_and_only_pairs_that_it_was_shown_count(nights: Nights) -> None:
    await nights.knows("Ann likes green tea in the morning")
    await nights.knows("In the morning Ann likes to have green tea")
    await nights.knows("Ann drives a red car")
    nights.llm.default = '{"same": [1, 2, 99, -1]}'
    await nights.pass_one()
    assert await nights.standing() == ["Ann likes green tea in the morning", "Ann drives a red car"]
    assert [prompt.step for prompt in nights.llm.prompts] == ["same_lines"]
    await nights.pass_one()
    assert len(nights.llm.prompts) == 1


async def test_a_model_that_calls_all_the_same_takes_no_more_than_may_be_lost(nights: Nights) -> None:
    for number in range(6):
        await nights.knows(f"Ann likes {'abcdef'[number]} kind of green tea in the morning")
    nights.llm.default = json.dumps({"same": list(range(1, 21))})
    await nights.pass_one()
    assert nights.soul.notes.most_lost < 0.5
    assert len(await nights.standing()) >= 4


async def test_nothing_new_means_no_row_and_no_call(nights: Nights) -> None:
    await nights.pass_one()
    assert await nights.runs() == []
    await nights.knows("Ann likes tea")
    await nights.pass_one()
    rows = len(await nights.runs())
    await nights.pass_one()
    assert len(await nights.runs()) == rows
    assert nights.llm.prompts == []


async def test_a_slot_is_taken_by_one_of_two_that_look_at_the_same_moment(nights: Nights, other: Nights) -> None:
    slots, theirs = nights.stores.slots, other.stores.slots
    for _ in range(2):  # a new one, then one that is to be gone on with
        seen, also = await slots.newest(), await theirs.newest()
        at_ms = seen.at_ms if seen.is_open else seen.at_ms + 1
        taken = [await slots.take(seen, at_ms, by_hand=False), await theirs.take(also, at_ms, by_hand=False)]
        assert [one is None for one in taken] == [False, True]
        assert taken[0] is not None
        await slots.release(taken[0], done=False)


async def test_a_slot_that_was_cut_off_goes_on_where_it_was_with_another_daemon(nights: Nights, other: Nights) -> None:
    ran: list[str] = []

    async def dies(night: Night) -> None:
        await night.stores.runs.begin(night.run)
        if ran:
            raise KeyboardInterrupt
        ran.append(str(night.audience))

    async def goes_on(night: Night) -> None:
        ran.append(f"then {night.audience}")

    await nights.knows("Ann likes tea")
    await nights.knows("Ann likes dogs", audience=EVERYBODY, channel="C1", conversation=str(GENERAL))
    nights.parts, other.parts = {"part": dies}, {"part": goes_on}
    with pytest.raises(KeyboardInterrupt):
        await nights.pass_one()
    await other.daemon.look()
    assert len(ran) == 1
    await other.clock.sleep(120)
    await other.daemon.look()
    assert len(ran) == 2
    assert ran[1] != f"then {ran[0]}"
    await other.daemon.look()
    assert len(ran) == 2


async def test_a_run_that_was_cut_off_can_be_undone_once_another_slot_has_begun(nights: Nights, path: Path) -> None:
    await nights.knows("Ann likes tea")
    await nights.knows("Ann likes tea")
    merges = nights.parts

    async def dies(_: Night) -> None:
        raise KeyboardInterrupt

    nights.parts = {"merges_facts": merges["merges_facts"], "dies": dies}
    with pytest.raises(KeyboardInterrupt):
        await nights.pass_one()
    [run] = await nights.runs()
    with pytest.raises(StoreError, match="under way"):
        await nights.undone(run["id"])
    nights.parts = merges
    await nights.clock.sleep(120)
    await nights.stores.slots.order()
    await nights.daemon.look()
    assert len((await nights.undone(run["id"])).restored) == 2
    assert len(await nights.standing()) == 2


async def test_an_audience_that_fails_is_tried_again_and_stops_no_other(nights: Nights) -> None:
    tried: list[str] = []

    async def part(night: Night) -> None:
        tried.append(night.audience.kind)
        if night.audience == EVERYBODY:
            raise ModelUnavailable("it is down", hint="wait")

    await nights.knows("Ann likes tea")
    await nights.knows("Ann likes dogs", audience=EVERYBODY, channel="C1", conversation=str(GENERAL))
    nights.parts = {"part": part}
    await nights.pass_one()
    assert sorted(tried) == ["dm", "workspace"]
    for _ in range(6):
        await nights.clock.sleep(3600)
        await nights.daemon.look()
    assert tried.count("workspace") == 3
    [run] = [one for one in await nights.runs() if one["audience"] == str(EVERYBODY)]
    assert (run["state"], run["error"]) == ("failed", "part: it is down")


async def test_the_budget_of_tokens_holds_and_the_next_night_goes_on(nights: Nights) -> None:
    for person in ("U1", "U2", "U3"):
        await nights.knows("Ann likes green tea in the morning", person=person)
        await nights.knows("In the morning Ann likes to have green tea", person=person)
    nights.llm = ScriptedLLM(default=SAME, usage=Completion("scripted/test", tokens_in=900, tokens_out=100))
    nights.plan = replace(PLAN, tokens=2_600)
    await nights.pass_one()
    [run] = await nights.runs()
    assert run["state"] == "cut"
    assert isinstance(run["tokens"], int)
    assert 0 < run["tokens"] <= 2_600
    for _ in range(3):
        await nights.pass_one()
    assert len(await nights.standing()) == 3


async def test_it_waits_while_the_disk_is_nearly_full_and_says_so_once(nights: Nights) -> None:
    await nights.knows("Ann likes tea")
    await nights.knows("Ann likes tea")
    nights.has_room = False
    daemon = nights.daemon
    await daemon.look()
    await nights.clock.sleep(DAY_S)
    await daemon.look()
    await daemon.look()
    assert len(await nights.standing()) == 2
    assert nights.events.names.count("consolidation.waits") == 1
    nights.has_room = True
    await daemon.look()
    assert len(await nights.standing()) == 1


async def test_a_person_who_paused_remembering_is_left_out(nights: Nights, path: Path) -> None:
    for person in (ANN, "U2"):
        for _ in range(2):
            await nights.knows(f"{person} likes tea", person=person, audience=EVERYBODY, channel="C1")
    paused = "INSERT INTO remembering (soul, workspace, person, paused_ms) VALUES (?, ?, ?, 1)"
    poke(path, paused, SOUL, TEAM, ANN)
    await nights.pass_one()
    assert await nights.standing() == ["U1 likes tea", "U1 likes tea", "U2 likes tea"]


async def test_undo_restores_a_merge_and_the_next_night_leaves_it(nights: Nights, path: Path) -> None:
    await nights.knows("Ann likes tea", confidence=0.5)
    await nights.knows("Ann likes tea")
    before = look(path, "SELECT confidence, valid_until_ms, why_ended FROM facts ORDER BY id")
    await nights.pass_one()
    [run] = await nights.runs()
    undone = await nights.undone(run["id"])
    assert len(undone.restored) == 2
    assert undone.kept == ()
    assert look(path, "SELECT confidence, valid_until_ms, why_ended FROM facts ORDER BY id") == before
    assert look(path, "SELECT count(*) FROM links") == [(0,)]
    await nights.pass_one()
    assert len(await nights.standing()) == 2


async def test_undo_leaves_what_was_changed_or_forgotten_since(nights: Nights, path: Path) -> None:
    kept = await nights.knows("Ann likes zanzibar")
    gone = await nights.knows("Ann likes zanzibar")
    stays, forgotten = await nights.knows("Ben sells dogs"), await nights.knows("Ben sells dogs")
    await nights.pass_one()
    changes = look(path, "SELECT * FROM consolidation_changes") + look(path, "SELECT * FROM consolidations")
    assert changes
    assert "zanzibar" not in str(changes), "no word is kept for an undo"

    async def wrong(transaction: Transaction) -> None:
        await change(transaction, kept, nights.clock.now_ms(), "wrong", valid_until_ms=1, why_ended="wrong")
        await forget(transaction, [forgotten], nights.clock.now_ms(), "asked")

    await nights.database.write(wrong)
    [run] = await nights.runs()
    undone = await nights.undone(run["id"])
    assert undone.restored == ()
    assert {one.id: one.why for one in undone.kept} == {
        kept: "it was changed since",
        gone: "it was changed since",
        stays: "it was forgotten since",
        forgotten: "it was forgotten since",
    }
    assert await nights.standing() == ["Ben sells dogs"]
    assert look(path, "SELECT count(*) FROM records WHERE id = ?", forgotten) == [(0,)]


async def test_three_in_the_night_is_where_most_people_live(nights: Nights, path: Path) -> None:
    zones = {"U1": "Asia/Tokyo", "U2": "Asia/Tokyo", "U3": "Europe/Berlin"}
    lives = "INSERT INTO person_zones (workspace, person, zone, updated_ms) VALUES (?, ?, ?, 1)"
    for person, zone in zones.items():
        poke(path, lives, TEAM, person, zone)
    assert await nights.stores.slots.zone() == "Asia/Tokyo"
    begun: list[int] = []

    async def part(_: Night) -> None:
        begun.append(nights.clock.now_ms())

    await nights.knows("Ann likes tea")
    nights.parts = {"part": part}
    await nights.daemon.look()
    for _ in range(24):
        await nights.clock.sleep(3600)
        await nights.daemon.look()
    [at] = begun
    hour = datetime.fromtimestamp(at / 1000, UTC).hour
    assert hour == (3 - 9) % 24


async def test_missed_slots_count_as_one_and_off_means_never(nights: Nights) -> None:
    begun: list[int] = []

    async def part(night: Night) -> None:
        begun.append(night.run.slot.at_ms)

    await nights.knows("Ann likes tea")
    nights.parts = {"part": part}
    await nights.pass_one(10)
    for _ in range(3):
        await nights.daemon.look()
    assert len(begun) == 1
    nights.plan = replace(PLAN, every="off")
    await nights.pass_one(3)
    assert len(begun) == 1
    slot = await nights.stores.slots.order()
    await nights.daemon.look()
    assert begun[1:] == [slot]
