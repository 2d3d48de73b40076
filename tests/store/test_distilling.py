"""Eight visits of one audience become a core, eight cores a sphere; what a model makes of them has to rest on them."""

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.memory.admin.nights import check_memory
from daemon.memory.consolidation.distilling import PATIENCE_MS
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.forgetting import make_private
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Core, StructuredSummary, WorkflowState
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import change, get
from daemon.memory.people.erasure import Spared, erase
from daemon.processes.consolidation.night import distils
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM
from tests.models import ScriptedLLM
from tests.nights import ANN, EVERYBODY, GENERAL, Nights
from tests.store.parts import look, spoken

GATES = ("north", "south", "east", "west", "upper", "lower", "old", "new", "last")
MADE = "SELECT id, text, audience, channel FROM records WHERE kind = 'core' ORDER BY seq"


def said(*claims: tuple[str, Sequence[int]], **more: object) -> str:
    """What a model makes of several visits."""
    of = claims or (("Ann mended the gates of the dam, the last one in the west.", (1, 8)),)
    return json.dumps({"claims": [{"text": text, "notes": list(notes)} for text, notes in of], **more})


@pytest.fixture
def nights(database: Database, clock: FakeClock) -> Nights:
    return Nights(database, clock, parts={"distils": distils}, llm=ScriptedLLM(default=said()))


async def visited(nights: Nights, number: int, text: str = "", **given: Any) -> str:  # noqa: ANN401  # as there
    return await nights.visited(text or f"Ann mended the {GATES[number % 9]} gate of the dam", **given)


async def eight(nights: Nights) -> list[str]:
    return [await visited(nights, number) for number in range(8)]


async def forgotten(nights: Nights, *ids: str) -> None:
    await nights.database.write(lambda transaction: forget(transaction, ids, nights.clock.now_ms(), "deleted"))


async def test_eight_visits_become_one_core_by_one_call_and_are_marked(nights: Nights, path: Path) -> None:
    visits = await eight(nights)
    nights.llm.default = said(significance=8, tags=["dam", "a holiday"], key_outcome="The gate in the west holds.")
    await nights.pass_one()
    await nights.pass_one()
    assert [prompt.step for prompt in nights.llm.prompts] == ["distil"]
    [(core, text, audience, channel)] = look(path, MADE)
    assert (core, audience, channel) == ("core_001", "dm:D1", "D1")
    assert text == "Ann mended the gates of the dam, the last one in the west."
    assert look(path, "SELECT target FROM links WHERE origin = 'core_001' ORDER BY target") == [
        (one,) for one in sorted(visits)
    ]
    assert look(path, "SELECT DISTINCT state FROM episodes WHERE id LIKE 'EP%'") == [("distilled",)]
    kept = await nights.database.read(lambda transaction: get(transaction, "core_001"))
    assert isinstance(kept, Core)
    assert (kept.significance, kept.tags, kept.cues, kept.person, kept.trust) == (
        8,
        ("dam",),
        ("gate",),
        ANN,
        "inferred",
    )
    assert (kept.workflow.pending_items, kept.situation.mission_goal) == (("go on",), "mend the gates")
    assert look(path, "SELECT count(*) FROM record_words WHERE seq = ?", kept.seq) == [(1,)]
    assert (core,) in look(path, "SELECT id FROM vector_queue"), "it is embedded"


async def test_seven_visits_and_small_talk_are_left_alone_without_a_call_or_a_row(nights: Nights, path: Path) -> None:
    for number in range(7):
        await visited(nights, number)
    small = await visited(nights, 7)
    await nights.database.write(lambda transaction: change(transaction, small, 1, text=""))
    await nights.pass_one()
    assert (nights.llm.prompts, await nights.runs(), look(path, MADE)) == ([], [], [])


async def test_visits_of_open_rooms_are_told_in_none_and_to_fewer_once_private(nights: Nights, path: Path) -> None:
    other = ConversationKey(SOUL, TEAM, "C2")
    for number in range(8):
        await visited(nights, number, key=(GENERAL, other)[number % 2], audience=EVERYBODY)
    for number in range(4):
        await visited(nights, number)
    await nights.pass_one()
    assert [row[2:] for row in look(path, MADE)] == [(str(EVERYBODY), "")], "those of the DM are not mixed in"

    async def private(room: str) -> None:
        only = Audience(AudienceKind.CHANNEL, room)
        await nights.database.write(
            lambda transaction: make_private(transaction, TEAM, room, only, nights.clock.now_ms())
        )

    await private("C1")
    assert [row[2] for row in look(path, MADE)] == ["channel:C1"]
    await private("C2")
    assert look(path, MADE) == []
    assert look(path, "SELECT DISTINCT state FROM episodes") == [("closed",)]
    await nights.pass_one()
    assert look(path, MADE) == [], "four of each room are too few"


async def test_eight_cores_become_a_sphere(nights: Nights, path: Path) -> None:
    for _ in range(8):
        await eight(nights)
    await nights.pass_one()
    assert len(look(path, MADE)) == 8
    assert look(path, "SELECT id FROM records WHERE kind = 'sphere'") == [("sphere_001",)]
    assert look(path, "SELECT DISTINCT state FROM episodes WHERE id LIKE 'core%'") == [("distilled",)]
    assert len(nights.llm.prompts) == 9
    assert (await check_memory(nights.database, path.parent, "")).sound
    await forgotten(nights, "TU_1")
    assert look(path, "SELECT id FROM records WHERE kind IN ('core', 'sphere') AND text = ''") == [
        ("core_001",),
        ("sphere_001",),
    ]


async def test_what_rests_not_on_its_visits_is_refused_noted_and_tried_three_times(nights: Nights, path: Path) -> None:
    unproven = (
        ("no JSON at all", "there is no JSON object in it"),
        (said(("Ann mended the gate.", (9,))), "a claim of it names no note that is there"),
        (said(("Ann mended the gate.", ())), "a claim of it names no note that is there"),
        ('{"claims": []}', "it is empty"),
        (said(("Ann mended the west gate 40 times.", (8,))), "a number in it stands nowhere in the notes"),
        (said(("Ann mended the gate, see EP_20260101_001.", (1,))), "ids that it was not shown"),
        (said(key_outcome="Everybody was dismissed."), "a sentence of it names too little"),
    )
    for number, (answer, reason) in enumerate(unproven, 1):
        await eight(nights)
        nights.llm.default = answer
        for _ in range(4):
            await nights.pass_one()
        assert look(path, MADE) == [], answer
        refused = look(path, "SELECT act, reason FROM ledger WHERE act LIKE 'refuse%' ORDER BY rowid")
        assert len(refused) == 3 * number, answer
        assert refused[-1][0] == "refuse core", answer
        assert reason in str(refused[-1][1])
    assert {row["state"] for row in await nights.database.rows("SELECT state FROM episodes")} == {"closed"}
    assert "memory.distillate_refused" in nights.events.names
    assert (await check_memory(nights.database, path.parent, "")).sound
    nights.llm.default = said()
    await eight(nights)
    await nights.pass_one()
    assert len(look(path, MADE)) == 1, "those that were given up do not stand in the way of others"


async def test_a_refused_answer_is_taken_the_next_night_if_it_is_good_by_then(nights: Nights, path: Path) -> None:
    await eight(nights)
    nights.llm.replies.append('{"claims": []}')
    await nights.pass_one()
    assert look(path, MADE) == []
    await nights.pass_one()
    assert len(look(path, MADE)) == 1


async def test_a_deleted_message_empties_its_core_at_once_which_is_made_anew_there(nights: Nights, path: Path) -> None:
    visits = await eight(nights)
    await nights.pass_one()
    await forgotten(nights, visits[7])
    emptied = await nights.database.read(lambda transaction: get(transaction, "core_001"))
    assert isinstance(emptied, Core)
    assert (emptied.text, emptied.summary, emptied.workflow) == ("", StructuredSummary(), WorkflowState())
    assert (emptied.tags, emptied.cues, emptied.situation.mission_goal) == ((), (), "")
    assert look(path, "SELECT * FROM record_words WHERE seq = ?", emptied.seq) == []
    nights.llm.default = said(("Ann mended gates of the dam.", (1, 7)))
    await nights.pass_one()
    assert look(path, "SELECT id, text FROM records WHERE kind = 'core'") == [
        ("core_001", "Ann mended gates of the dam.")
    ]
    assert f"{GATES[7]} gate" not in nights.llm.prompts[-1].messages[-1].text
    assert look(path, "SELECT state FROM episodes WHERE id = 'core_001'") == [("closed",)]


async def test_an_emptied_core_waits_for_its_visit_but_not_for_ever(nights: Nights, path: Path) -> None:
    visits = await eight(nights)
    await nights.pass_one()
    await spoken(nights.database, "more", ts="99.0")
    await nights.linked(Link(visits[0], Relation.TURN_REFS, "TU_9"))
    await forgotten(nights, "TU_1")
    nights.llm.default = said(("Ann mended gates.", (7,)))
    await nights.pass_one()
    assert [row[1] for row in look(path, MADE)] == [""]
    await nights.pass_one(days=PATIENCE_MS / 86_400_000)
    assert [row[1] for row in look(path, MADE)] == ["Ann mended gates."]


async def test_a_core_with_too_little_left_goes_and_the_rest_is_distilled_again(nights: Nights, path: Path) -> None:
    visits = await eight(nights)
    await nights.pass_one()
    await forgotten(nights, *visits[:7])
    await nights.pass_one()
    assert look(path, MADE) == []
    assert look(path, "SELECT id, state FROM episodes") == [(visits[7], "closed")]
    for number in range(7):
        await visited(nights, number)
    await nights.pass_one()
    assert [row[0] for row in look(path, MADE)] == ["core_002"], "an id is never given twice"


async def test_an_undone_distillation_gives_the_visits_back_and_is_not_made_again(nights: Nights, path: Path) -> None:
    await eight(nights)
    await nights.pass_one()
    [run] = await nights.runs()
    await nights.undone(run["id"])
    assert look(path, MADE) == []
    assert look(path, "SELECT DISTINCT state FROM episodes") == [("closed",)]
    await nights.pass_one()
    assert look(path, MADE) == []


async def test_a_failure_at_any_write_loses_no_visit_and_makes_no_second_core(
    nights: Nights, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = nights.database.write
    for step in range(1, 8):
        await eight(nights)
        left = iter(range(step - 1))

        async def failing(unit, left=left, **options):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN003, ANN202
            if next(left, None) is None:
                monkeypatch.undo()
                raise StoreError("the disk is gone", hint="plug it in")
            return await write(unit, **options)

        monkeypatch.setattr(nights.database, "write", failing)
        with suppress(StoreError):
            await nights.pass_one()
        monkeypatch.undo()
        await nights.pass_one()
        await nights.pass_one()
        assert [row[0] for row in look(path, MADE)] == [f"core_{number:03}" for number in range(1, step + 1)], step
        assert len(look(path, "SELECT * FROM links WHERE relation = 'sources'")) == 8 * step, step
        assert look(path, "SELECT DISTINCT state FROM episodes WHERE id LIKE 'EP%'") == [("distilled",)], step


async def test_what_changed_while_the_model_thought_is_not_distilled(nights: Nights, path: Path) -> None:
    visits = await eight(nights)

    async def meanwhile(_: object) -> str:
        await forgotten(nights, visits[3])
        return said()

    nights.llm.replies.append(meanwhile)
    await nights.pass_one()
    assert look(path, MADE) == []
    assert nights.events.named("memory.distillate_outrun")


async def test_visits_with_somebody_who_paused_are_left_out(nights: Nights, path: Path) -> None:
    for number in range(9):
        person = "U2" if number == 4 else ANN
        await visited(nights, number, key=GENERAL, audience=EVERYBODY, person=person)
    await nights.database.run(
        "INSERT INTO remembering (soul, workspace, person, paused_ms) VALUES (:soul, :team, 'U2', 1)",
        soul=SOUL,
        team=TEAM,
    )
    await nights.pass_one()
    assert len(look(path, MADE)) == 1
    assert GATES[4] not in nights.llm.prompts[0].messages[-1].text


async def test_an_unreadable_visit_holds_up_the_others_for_three_nights_at_most(nights: Nights, path: Path) -> None:
    visits = [await visited(nights, number) for number in range(9)]
    await nights.database.run("UPDATE episodes SET tags = 'no JSON' WHERE id = :id", id=visits[0])
    for _ in range(4):
        await nights.pass_one()
    assert len(look(path, MADE)) == 1
    assert look(path, "SELECT object FROM consolidation_items WHERE parked = 1") == [(visits[0],)]


async def test_when_a_person_is_forgotten_their_share_of_a_core_is_gone(nights: Nights, path: Path) -> None:
    for number in range(8):
        person, text = ("U2", "Ben hid the quincunx") if number == 4 else (ANN, "")
        await visited(nights, number, key=GENERAL, audience=EVERYBODY, person=person, text=text)
    nights.llm.default = said(("Ben hid the quincunx by the gates.", (5,)))
    await nights.pass_one()
    assert "quincunx" in str(look(path, MADE))

    async def unit(transaction: Transaction) -> None:
        now = nights.clock.now_ms()
        await erase(transaction, TEAM, "U2", Spared(), now, now)

    await nights.database.write(unit)
    for table in ("records", "episodes", "record_words", "links"):
        assert "quincunx" not in str(look(path, f"SELECT * FROM {table}")), table
    nights.llm.default = said(("Ann mended gates.", (7,)))
    await nights.pass_one()
    assert [row[:2] for row in look(path, MADE)] == [("core_001", "Ann mended gates.")]
