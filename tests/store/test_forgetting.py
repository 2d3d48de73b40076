"""A deleted message leaves the notes, their history and any revision under way."""

from pathlib import Path

import pytest

from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import Database
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.memory.knowledge.soul_states import NewState, SoulState, SoulStates
from daemon.memory.knowledge.user_models import NotesDiff, TurnRange, UserModels, model_history
from tests.fakes import FakeClock
from tests.given import DM, SOUL, TEAM, deleted, new_message, thread
from tests.store.parts import WORKER, Stores, look, met, poke, room

HERE, THERE = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.CHANNEL, "C1")
THREAD = thread("5.000000")
KEY = ("U1", HERE)


@pytest.fixture
async def models(stores: Stores, clock: FakeClock) -> UserModels:
    await stores.inbox.accept(new_message())
    await met(stores.database)
    return UserModels(stores.database, clock, WORKER)


async def revise(models: UserModels, *notes: str, expected: int, turns: tuple[int, int], change: NotesDiff) -> None:
    assert await models.revise(
        *KEY,
        expected_version=expected,
        notes=notes,
        whispers="a secret worry",
        change=change,
        source=TurnRange(str(DM), *turns),
        most_lost=1.0,
        trace_id="t",
    )


async def forget_turn(database: Database, seq: int, person: str = "U1", conversation: str = str(DM)) -> None:
    await database.write(lambda transaction: forget_derived(transaction, conversation, person, seq, 5))


async def notes_of(models: UserModels) -> tuple[tuple[str, ...], str, int]:
    model = await models.model(*KEY)
    assert model is not None
    return model.notes, model.whispers, model.modelled_to


async def test_notes_derived_from_a_deleted_message_are_gone_everywhere(models: UserModels, path: Path) -> None:
    await revise(models, "likes tea", expected=0, turns=(1, 2), change=NotesDiff(added=("likes tea",)))
    await revise(models, "likes tea", "owes money", expected=1, turns=(3, 6), change=NotesDiff(added=("owes money",)))
    corrected = NotesDiff(corrected=(("owes money", "owes much money"),))
    await revise(models, "likes tea", "owes much money", expected=2, turns=(7, 8), change=corrected)
    more = NotesDiff(added=("has a cat",))
    await revise(models, "likes tea", "owes much money", "has a cat", expected=3, turns=(9, 9), change=more)
    await forget_turn(models._database, 4)
    assert await notes_of(models) == (("likes tea", "has a cat"), "", 2)
    for table in ("user_models", "user_model_history"):
        everything = str(look(path, f"SELECT * FROM {table}"))
        assert "money" not in everything
        assert "cat" in everything
    kept = look(path, "SELECT whispers FROM user_model_history ORDER BY version")
    assert kept == [("a secret worry",), ("",), ("",), ("",), ("",)]


async def test_a_deletion_that_arrives_reaches_the_notes(models: UserModels, stores: Stores) -> None:
    await stores.answer("hello")
    asked, said = (turn.seq for turn in (await stores.turns.transcript(DM, 9)).turns)
    await revise(models, "owes money", expected=0, turns=(asked, said), change=NotesDiff(added=("owes money",)))
    await stores.inbox.accept(deleted("100.000001"))
    assert (await notes_of(models))[0] == ()


@pytest.mark.parametrize(("seq", "person", "conversation"), [(9, "U1", DM), (1, "U2", DM), (1, "U1", thread("1.0"))])
async def test_a_deleted_message_outside_the_range_changes_nothing(
    models: UserModels, stores: Stores, seq: int, person: str, conversation: object
) -> None:
    await stores.inbox.accept(new_message("2.0", conversation=thread("1.0")))
    await revise(models, "likes tea", expected=0, turns=(1, 2), change=NotesDiff(added=("likes tea",)))
    await forget_turn(models._database, seq, person, str(conversation))
    assert await notes_of(models) == (("likes tea",), "a secret worry", 2)


async def test_a_revision_under_way_is_refused(models: UserModels) -> None:
    await forget_turn(models._database, 1)
    assert not await models.revise(
        *KEY,
        expected_version=0,
        notes=("a deleted message",),
        whispers="",
        change=NotesDiff(),
        source=TurnRange(str(DM), 1, 2),
        most_lost=1.0,
        trace_id="t",
    )
    await models.note_modelled(*KEY, expected_version=0, modelled_to=2)
    assert await notes_of(models) == ((), "", 0)


async def test_the_same_note_can_be_learned_and_forgotten_again(models: UserModels) -> None:
    for expected in (0, 2):
        await revise(models, "likes tea", expected=expected, turns=(1, 2), change=NotesDiff(added=("likes tea",)))
        await forget_turn(models._database, 1)
        assert await notes_of(models) == ((), "", 0)
    assert len(await model_history(models._database, "U1", 9)) == 4


async def test_topic_task_and_question_are_forgotten_and_the_mood_stays(models: UserModels, clock: FakeClock) -> None:
    states = SoulStates(models._database, clock, WORKER)
    await room(models._database, THREAD)
    new = NewState("weary", topic="money", task="lend some", question="Who lent it first?")
    await states.revise(HERE, DM, new, instead_of=None)
    await states.revise(THERE, THREAD, new, instead_of=None)
    await forget_turn(models._database, 1)
    here, there = await states.known(HERE, DM), await states.known(THERE, THREAD)
    assert here is not None
    assert there is not None
    assert here == SoulState("weary", here.felt_ms, version=2, topic_version=2)
    assert (there.topic, there.question) == ("money", "Who lent it first?")


async def test_a_first_state_under_way_is_refused(models: UserModels, path: Path, clock: FakeClock) -> None:
    states = SoulStates(models._database, clock, WORKER)
    await forget_turn(models._database, 1)
    assert await states.known(HERE, DM) is None
    poke(
        path,
        "INSERT INTO jobs (kind, conversation, soul, workspace, state, created_ms) VALUES ('k', ?, ?, ?, 'running', 1)",
        str(DM),
        SOUL,
        TEAM,
    )
    await forget_turn(models._database, 1)
    assert not await states.revise(HERE, DM, NewState("weary", topic="money"), instead_of=None)
