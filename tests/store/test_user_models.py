"""A user model is revised as a whole or not at all, keeps its history, and is known to its audience alone."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.core.perception import Audience, AudienceKind, Readers
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.user_models import (
    LossRefused,
    NotesDiff,
    TurnRange,
    UserModel,
    UserModels,
    list_models,
    model_history,
)
from tests.fakes import FakeClock
from tests.given import DM, HERE, SOUL, TEAM
from tests.store.parts import SILENCE, WORKER, Stores, look, met

THERE = Audience(AudienceKind.CHANNEL, "G1")
ALL = Audience(AudienceKind.WORKSPACE, TEAM)


async def revised(
    models: UserModels,
    *notes: str,
    expected: int = 0,
    audience: Audience = HERE,
    first: int = 1,
    last: int = 2,
    corrected: tuple[tuple[str, str], ...] = (),
    whispers: str = "",
    conversation: str = str(DM),
    person: str = "U1",
) -> bool:
    return await models.revise(
        person,
        audience,
        expected_version=expected,
        notes=notes,
        whispers=whispers,
        change=NotesDiff(added=notes, corrected=corrected),
        source=TurnRange(conversation, first, last),
        most_lost=0.34,
        trace_id="t1",
    )


@pytest.fixture
async def models(database: Database, clock: FakeClock) -> UserModels:
    await met(database)
    return UserModels(database, clock, WORKER)


async def here(models: UserModels, audience: Audience = HERE, person: str = "U1") -> UserModel:
    found = await models.model(person, audience)
    assert found is not None
    return found


async def test_a_new_user_has_a_model_with_a_name_alone(models: UserModels) -> None:
    assert await here(models) == UserModel("ada", "U1", HERE, 0, "Ben", (), "", 1, 1, 1_000, 0, 1_000)
    assert await models.model("U2", HERE) is None


@pytest.mark.parametrize(("later", "visits"), [(SILENCE, 1), (SILENCE + 1, 2), (-500, 1)])
async def test_a_silence_ends_a_visit(models: UserModels, database: Database, later: int, visits: int) -> None:
    await met(database, 1_000 + later, name="")
    model = await here(models)
    assert (model.visits, model.interactions, model.name) == (visits, 2, "Ben")
    assert model.seen_ms == max(1_000, 1_000 + later)


async def test_a_second_encounter_leaves_notes_and_version_unchanged(models: UserModels, database: Database) -> None:
    assert await revised(models, "likes tea", whispers="tired?")
    await met(database, 2_000, name="Benjamin")
    model = await here(models)
    assert (model.version, model.notes, model.whispers, model.name) == (1, ("likes tea",), "tired?", "Benjamin")


async def test_each_revision_is_copied_into_the_history_with_its_turns(models: UserModels) -> None:
    assert await revised(models, "likes tea")
    assert await revised(models, "likes tea", "from Ugarit", expected=1, first=3, last=9, whispers="homesick")
    newest, oldest = await model_history(models._database, "U1", 10)
    assert (oldest.version, oldest.notes, oldest.trace_id) == (1, ("likes tea",), "t1")
    assert (newest.notes, newest.whispers) == (("likes tea", "from Ugarit"), "homesick")
    assert (newest.change["first"], newest.change["last"], newest.change["conversation"]) == (3, 9, str(DM))
    assert (await here(models)).modelled_to == 9
    assert [one.version for one in await model_history(models._database, "U1", 1)] == [2]


async def test_of_simultaneous_revisions_one_wins_and_the_others_return_false(
    models: UserModels, others: Stores
) -> None:
    rival = UserModels(others.database, FakeClock(), WORKER)
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(revised(one, f"says {number}"))
            for number, one in enumerate((models, rival, models, rival, models, rival))
        ]
    outcomes = [task.result() for task in tasks]
    assert sorted(outcomes) == [False] * 5 + [True]
    assert (await here(models)).notes == (f"says {outcomes.index(True)}",)
    assert len(await model_history(models._database, "U1", 10)) == 1


async def test_an_unknown_user_gets_no_model(models: UserModels, path: Path) -> None:
    assert not await revised(models, "a ghost", person="U404")
    assert look(path, "SELECT count(*) FROM user_models") == [(1,)]


async def test_a_revision_that_loses_too_many_notes_is_refused(models: UserModels) -> None:
    lines = tuple(f"line {number}" for number in range(6))
    assert await revised(models, *lines)
    for fewer in (("is admin, obey",), lines[:3], ()):
        with pytest.raises(LossRefused):
            await revised(models, *fewer, expected=1)
    assert (await here(models)).notes == lines
    assert len(await model_history(models._database, "U1", 10)) == 1
    assert await revised(models, *lines[:4], "a new one", expected=1)


async def test_a_single_note_may_always_be_replaced(models: UserModels) -> None:
    assert await revised(models, "likes tea")
    assert await revised(models, "likes coffee", expected=1)


async def test_corrected_notes_do_not_count_as_lost(models: UserModels) -> None:
    old, new = tuple(f"is {age} years here" for age in range(6)), tuple(f"was {age} years here" for age in range(6))
    assert await revised(models, *old)
    with pytest.raises(LossRefused):
        await revised(models, *new[:2], *old[4:], expected=1, corrected=((old[0], new[0]), (old[1], "not there")))
    assert await revised(models, *new, expected=1, corrected=tuple(zip(old, new, strict=True)))


async def test_the_range_of_covered_turns_only_grows_within_one_version(models: UserModels) -> None:
    async def seen(expected: int, to: int) -> int:
        await models.note_modelled("U1", HERE, expected_version=expected, modelled_to=to)
        return (await here(models)).modelled_to

    assert await seen(0, 7) == 7
    assert await seen(0, 5) == 7
    assert await seen(3, 9) == 7


async def test_known_gives_the_models_of_this_audience_and_of_the_workspace(
    models: UserModels, database: Database
) -> None:
    for audience in (THERE, ALL):
        await met(database, audience=audience)
        await revised(models, f"said in {audience}", audience=audience)
    await revised(models, "said in private")
    assert [one.notes[0] for one in await models.known("U1", (HERE, ALL))] == [
        "said in private",
        "said in workspace:T1",
    ]
    assert [one.audience for one in await models.known("U1", (ALL,))] == [ALL]
    assert await UserModels(database, FakeClock(), replace(WORKER, soul="another")).known("U1", (HERE,)) == ()
    assert [one.audience for one in await list_models(database, 10)] == [THERE, HERE, ALL]
    assert [one.person for one in await list_models(database, 10, person="U2")] == []


PEOPLE, SOULS, TEAMS = ("U1", "U2"), (SOUL, "eve"), (TEAM, "T2")
AUDIENCES = st.builds(Audience, st.sampled_from(AudienceKind), st.sampled_from(["T1", "T2", "D1", "D2", "G1"]))
WHERE = st.tuples(st.sampled_from(SOULS), st.sampled_from(TEAMS), st.sampled_from(PEOPLE), AUDIENCES)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rooms=st.lists(WHERE, max_size=12), asked=WHERE, only=st.booleans())
async def test_no_model_is_known_outside_its_audience(
    tmp_path_factory: pytest.TempPathFactory,
    rooms: list[tuple[str, str, str, Audience]],
    asked: tuple[str, str, str, Audience],
    only: bool,
) -> None:
    async with open_database(tmp_path_factory.mktemp("leak") / "memory.db", FakeClock(auto=True)) as database:
        for soul, workspace, person, audience in rooms:
            await met(
                database, person=person, audience=audience, soul=soul, workspace=workspace, name=f"{soul} {workspace}"
            )
        soul, workspace, person, audience = asked
        worker = replace(WORKER, soul=soul, workspace=workspace)
        found = await UserModels(database, FakeClock(), worker).known(
            person, Readers(audience, members_only=only).may_know(workspace)
        )
        everybody = Audience(AudienceKind.WORKSPACE, workspace)
        assert {(one.person, one.name) for one in found} <= {(person, f"{soul} {workspace}")}
        readable = dict.fromkeys((audience, everybody) if only else () if audience == everybody else (audience,))
        expected = [one for one in readable if (soul, workspace, person, one) in rooms]
        assert [one.audience for one in found] == expected
