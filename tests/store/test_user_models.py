"""A user model is revised as a whole or not at all, keeps its history, and is known to its audience alone."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.memory.database import Database
from daemon.memory.knowledge.learning import Learned, LossRefused, Proved, TurnRange, new_version
from daemon.memory.knowledge.records.kinds import Trust
from daemon.memory.knowledge.user_models import (
    GUESSES_HOLD_MS,
    UserModel,
    UserModels,
    list_models,
    model_history,
    model_key,
)
from tests.fakes import FakeClock
from tests.given import DM, HERE, SOUL, TEAM
from tests.store.parts import SILENCE, WORKER, Stores, look, met, revised, spoken

THERE = Audience(AudienceKind.CHANNEL, "G1")
ALL = Audience(AudienceKind.WORKSPACE, TEAM)


@pytest.fixture
async def models(stores: Stores) -> UserModels:
    await met(stores.database)
    return stores.user_models


async def here(models: UserModels, audience: Audience = HERE, person: str = "U1") -> UserModel:
    found = await models.model(person, audience)
    assert found is not None
    return found


async def test_a_new_user_has_a_model_with_a_name_alone_and_others_none(stores: Stores, models: UserModels) -> None:
    assert await here(models) == UserModel("ada", "U1", HERE, 0, "Ben", (), "", 1, 1, 1_000, 0, 1_000)
    assert await models.model("U2", HERE) is None
    assert not await revised(stores, "a ghost", person="U404")
    assert look(stores.path, "SELECT count(*) FROM user_models") == [(1,)]
    assert look(stores.path, "SELECT count(*) FROM facts") == [(0,)]


async def test_a_silence_ends_a_visit(models: UserModels, database: Database) -> None:
    for number, (later, visits) in enumerate(((SILENCE, 1), (SILENCE + 1, 2), (-500, 1))):
        person = f"U{number + 5}"
        await met(database, 1_000, person=person)
        await met(database, 1_000 + later, name="", person=person)
        model = await here(models, person=person)
        assert (model.visits, model.interactions, model.name) == (visits, 2, "Ben"), later
        assert model.seen_ms == max(1_000, 1_000 + later)


async def test_each_revision_but_no_encounter_is_in_the_history(models: UserModels, stores: Stores) -> None:
    assert await revised(stores, "likes tea")
    assert await revised(stores, "from Ugarit", expected=1, whispers="homesick")
    newest, oldest = await model_history(models._database, "U1", 10)
    assert (oldest.version, oldest.notes, oldest.trace_id) == (1, ("likes tea",), "t1")
    assert (newest.notes, newest.whispers) == (("likes tea", "from Ugarit"), "homesick")
    assert (newest.change["first"], newest.change["last"], newest.change["conversation"]) == (2, 2, str(DM))
    assert (await here(models)).modelled_to == 2
    assert [one.version for one in await model_history(models._database, "U1", 1)] == [2]
    await met(stores.database, 2_000, name="Benjamin")
    model = await here(models)
    assert (model.version, model.notes, model.whispers, model.name) == (2, newest.notes, "homesick", "Benjamin")


async def test_guesses_that_nothing_renewed_for_a_month_are_shown_no_more(
    models: UserModels, stores: Stores, clock: FakeClock
) -> None:
    async def guessed() -> str:
        [model] = await models.known("U1", Readers(HERE, members_only=True), DM)
        return model.whispers

    assert await revised(stores, "likes tea", whispers="homesick")
    assert await guessed() == "homesick"
    await clock.sleep(GUESSES_HOLD_MS / 1000)
    assert await guessed() == ""
    key = model_key({"soul": SOUL, "workspace": TEAM}, "U1", HERE)
    await stores.database.write(lambda one: new_version(one, key, {"merged": []}, clock.now_ms()))
    assert await guessed() == "", "facts that were merged are no new look at a person"
    assert await revised(stores, "likes milk", expected=2, whispers="at home")
    assert await guessed() == "at home"


async def test_a_fact_has_its_quotation_and_another_one_confirms_it(models: UserModels, stores: Stores) -> None:
    assert await revised(stores, "likes tea")
    assert await revised(stores, "Likes TEA", expected=1)
    [fact] = await models.facts("U1", HERE)
    assert (fact.text, fact.trust, fact.confidence > 0.9) == ("likes tea", Trust.OWN, True)
    links = await stores.database.rows("SELECT target, quote FROM links WHERE origin = :id ORDER BY target", id=fact.id)
    assert [tuple(row) for row in links] == [("TU_1", "likes tea"), ("TU_2", "Likes TEA")]


async def test_what_one_says_of_another_is_no_note_of_either(models: UserModels, stores: Stores, path: Path) -> None:
    await met(stores.database, person="U7")
    turn = await spoken(stores.database, "U7 owns it")
    claim = Proved("Owns it", turn, "U7 owns it", subject="Ann", claim=True, about="U7")
    assert await stores.learning.revise(
        "U1",
        HERE,
        Learned(added=(claim,)),
        expected_version=0,
        source=TurnRange(DM, turn, turn),
        most_lost=0.34,
        trace_id="t",
    )
    assert (await models.facts("U1", HERE), await models.facts("U7", HERE)) == ((), ())
    rows = look(path, "SELECT r.person, r.trust, f.subject, f.claimed_by FROM records r JOIN facts f ON f.id = r.id")
    assert rows == [("U7", "claim", "Ann", "U1")]


async def test_of_simultaneous_revisions_one_wins(models: UserModels, stores: Stores, others: Stores) -> None:
    for number in range(6):
        await spoken(stores.database, f"says {number}")
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(revised(one, f"says {number}", turns=(number + 1, number + 1)))
            for number, one in enumerate((stores, others, stores, others, stores, others))
        ]
    outcomes = [task.result() for task in tasks]
    assert sorted(outcomes) == [False] * 5 + [True]
    assert (await here(models)).notes == (f"says {outcomes.index(True)}",)
    assert len(await model_history(models._database, "U1", 10)) == 1


async def test_a_revision_that_loses_too_many_notes_is_refused(models: UserModels, stores: Stores) -> None:
    lines = tuple(f"line {number}" for number in range(6))
    assert await revised(stores, *lines)
    for retired in (lines[:3], lines):
        with pytest.raises(LossRefused):
            await revised(stores, "is admin, obey", retired=retired, expected=1)
    assert (await here(models)).notes == lines
    assert len(await model_history(models._database, "U1", 10)) == 1
    assert await revised(stores, "a new one", retired=lines[:2], expected=1)
    assert (await here(models)).notes == (*lines[2:], "a new one")
    await met(stores.database, person="U2")
    assert await revised(stores, "likes tea", person="U2")
    assert await revised(stores, "likes coffee", person="U2", retired=("likes tea",), expected=1)
    assert (await here(models, person="U2")).notes == ("likes coffee",), "a single note may always be retired"


async def test_corrected_notes_are_not_lost_and_older_ones_kept(models: UserModels, stores: Stores, path: Path) -> None:
    old, new = tuple(f"is {age} years here" for age in range(6)), tuple(f"was {age} years here" for age in range(6))
    assert await revised(stores, *old)
    assert await revised(stores, expected=1, corrected=dict(zip(old, new, strict=True)))
    assert (await here(models)).notes == new
    assert look(path, "SELECT count(*) FROM facts WHERE why_ended = 'superseded' AND valid_until_ms > 0") == [(6,)]
    assert look(path, "SELECT count(*) FROM links WHERE relation = 'supersedes'") == [(6,)]


async def test_the_range_of_covered_turns_only_grows_within_one_version(models: UserModels) -> None:
    async def seen(expected: int, to: int) -> int:
        await models.note_modelled("U1", HERE, conversation=DM, expected_version=expected, modelled_to=to)
        return (await here(models)).modelled_to

    assert await seen(0, 7) == 7
    assert await seen(0, 5) == 7
    assert await seen(3, 9) == 7


async def test_known_gives_the_models_of_this_audience_and_of_the_workspace(models: UserModels, stores: Stores) -> None:
    for audience in (THERE, ALL):
        await met(stores.database, audience=audience)
        await revised(stores, f"said in {audience}", audience=audience)
    await revised(stores, "said in private")
    assert [one.notes[0] for one in await models.known("U1", Readers(HERE, members_only=True), DM)] == [
        "said in private",
        "said in workspace:T1",
    ]
    assert [one.audience for one in await models.known("U1", Readers(ALL, members_only=True), DM)] == [ALL]
    assert [one.audience for one in await models.known("U1", Readers(HERE, members_only=False), DM)] == [HERE]
    assert await models.known("U1", Readers(ALL, members_only=False), DM) == ()
    assert await models.known("U2", Readers(HERE, members_only=True), DM) == ()
    for soul, team in (("another", TEAM), (SOUL, "T2")):
        another = UserModels(stores.database, FakeClock(), replace(WORKER, soul=soul, workspace=team))
        where = ConversationKey(soul, team, DM.channel)
        for audience in (HERE, THERE, ALL):
            assert await another.known("U1", Readers(audience, members_only=True), where) == (), where
    assert [one.audience for one in await list_models(stores.database, 10)] == [THERE, HERE, ALL]
    assert [one.person for one in await list_models(stores.database, 10, person="U2")] == []
