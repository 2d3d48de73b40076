"""Jobs run after a reply: to their end, until a newer message, or again later; attempts are counted correctly."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from daemon.core.channels import Channels
from daemon.core.config import Settings
from daemon.core.errors import LostLease, ModelUnavailable
from daemon.core.last_line import FAULTS
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import ModelRole
from daemon.core.spending import Caps, Charge
from daemon.core.working_memory import WorkingMemory
from daemon.llm.prices import most_of
from daemon.memory.database import open_database
from daemon.memory.queues.conversations import Conversations
from daemon.memory.queues.inbox import Inbox
from daemon.memory.queues.jobs import TRIES, Job
from daemon.memory.queues.presence import Presence
from daemon.memory.spending.reservations import Reservations
from daemon.memory.store import Store
from daemon.mind.process import Interrupts
from daemon.mind.stances import Subprocess, SubprocessContext
from daemon.mind.steps.instruction import instruction
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.jobs import JobRunner
from daemon.runtime.till import SpendingBudget, Terms
from tests.fakes import Events, FakeChannel, FakeClock
from tests.given import DM, HERE, LEASE, new_message, soul
from tests.models import ScriptedLLM
from tests.store.parts import WORKER, Stores, look, poke

KIND = "counts_the_looms"


@dataclass
class Desk:
    """A job runner on a memory.db, with a claimed job."""

    path: Path
    stores: Stores
    clock: FakeClock
    house: CycleServices
    conversations: Conversations
    events: Events
    board: Interrupts = field(default_factory=Interrupts)

    def reflection(self, subprocess: Subprocess) -> JobRunner:
        return JobRunner(self.house, {KIND: subprocess}, self.board)

    async def job(self) -> Job:
        """Answer a message and claim the job that this leaves."""
        await self.stores.inbox.accept(new_message("100.000001"))
        await self.stores.answer("hello", jobs=(KIND,))
        return await self.claimed()

    async def claimed(self) -> Job:
        job = await self.stores.jobs.claim_next()
        assert job is not None
        return job

    def row(self) -> tuple[object, ...]:
        [row] = look(self.path, "SELECT state, attempts, reason FROM jobs")
        return row


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    clock, events, path = FakeClock(), Events(), tmp_path / "memory.db"
    async with open_database(path, clock) as database:
        stores = Stores.of(database, clock)
        inbox = Inbox(database, clock, events, lambda _: None)
        here = Presence(database, clock, soul="s", workspace="T1", kind="slack", version="1", lease=LEASE)
        used: dict[str, object] = {
            "llm": ScriptedLLM("Three looms."),
            "channels": Channels(FakeChannel(), {}),
            "clock": clock,
            "emit": events,
            "soul": soul,
            "till": SpendingBudget(
                Reservations(database, clock, WORKER), Terms(lambda _: None, most_of, Caps), clock, events
            ),
            "settings": Settings(_env_file=None, home=tmp_path),
            "store": (store := Store(database, clock, WORKER, inbox, here)),
            "file_sensing": SimpleNamespace(read=None),
        }
        others = [one.name for one in fields(CycleServices) if one.init and one.name not in used]
        house = CycleServices(**used, **dict.fromkeys(others))  # type: ignore[arg-type]  # what no job here uses
        yield Desk(path, stores, clock, house, store.conversations, events)


class StoodIn(ScriptedLLM):
    """A model that is down while another one answers."""

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        return ("other/second",)


@dataclass
class Hanging:
    """A subprocess that thinks once and then never returns."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self, context: SubprocessContext) -> None:
        await count(context)
        self.begun.set()
        await asyncio.Event().wait()


async def count(context: SubprocessContext) -> None:
    await context.think(WorkingMemory("Kothar"), instruction("How many looms?", name="Kothar"))


async def test_a_job_is_done_once_and_its_model_calls_are_stored(desk: Desk) -> None:
    seen = list[SubprocessContext]()

    async def subprocess(context: SubprocessContext) -> None:
        seen.append(context)
        await count(context)

    job = await desk.job()
    await desk.reflection(subprocess).do(job)
    assert desk.row() == ("done", 1, "")
    assert (seen[0].conversation, seen[0].audience) == (DM, job.audience)
    [call] = look(desk.path, "SELECT step, trace_id FROM llm_calls WHERE step <> 'respond'")
    assert call == ("instruction", seen[0].trace_id)
    assert desk.events.emitted[-1] == ("job.done", {"kind": KIND, "calls": 1})
    assert await desk.stores.jobs.claim_next() is None


async def test_a_mind_knows_the_habits_of_a_model_that_is_down_when_it_is_made(desk: Desk) -> None:
    poke(desk.path, "INSERT INTO model_habits VALUES ('scripted/test', '', 0, 0, 9)")
    standing_in = replace(desk.house, llm=StoodIn("Three looms."))
    mind = await standing_in.mind(soul(), lambda _: None, Charge("t"), (HERE,), "code")
    assert mind.habit(ModelRole.PERSONA).model == "other/second"
    assert mind.habit_of("scripted/test").hold_back == 9


async def test_a_newer_message_here_ends_the_job_without_counting_an_attempt(desk: Desk) -> None:
    hanging, job = Hanging(), await desk.job()
    async with asyncio.TaskGroup() as group:
        group.create_task(desk.reflection(hanging.run).do(job))
        await hanging.begun.wait()
        desk.board.call(str(DM))
    assert desk.row() == ("ready", 0, "")
    assert "job.given_up" in desk.events.names
    assert len(look(desk.path, "SELECT * FROM llm_calls WHERE step = 'instruction'")) == 1, (
        "what it cost is not forgotten"
    )
    assert (await desk.claimed()).kind == KIND


async def test_a_message_from_before_the_job_keeps_it_from_beginning(desk: Desk) -> None:
    hanging, job = Hanging(), await desk.job()
    await desk.stores.inbox.accept(new_message("200.000001"))
    await desk.reflection(hanging.run).do(job)
    assert not hanging.begun.is_set()
    assert desk.row() == ("ready", 0, "")
    assert await desk.stores.jobs.claim_next() is None, "the newer turn comes first"


async def test_a_message_at_another_daemon_ends_the_job_at_the_next_look(desk: Desk) -> None:
    hanging, job = Hanging(), await desk.job()

    async def has_news(conversation: str) -> bool:
        return await desk.conversations.has_new_messages(ConversationKey.parse(conversation))

    async with asyncio.TaskGroup() as group:
        doing = group.create_task(desk.reflection(hanging.run).do(job))
        await hanging.begun.wait()
        await desk.board.look(has_news)
        assert not doing.done()
        await desk.stores.inbox.accept(new_message("200.000001"))
        await desk.board.look(has_news)
        await doing
    assert desk.row() == ("ready", 0, "")


@pytest.mark.parametrize(
    ("error", "reason", "unexpected", "tries"),
    [
        (None, "there is no subprocess 'counts_the_looms'", False, TRIES),
        (ModelUnavailable("the model is busy", hint="wait"), "the model is busy", False, TRIES),
        (LookupError("with words of Ana"), "LookupError", True, FAULTS),
    ],
)
async def test_a_failing_job_is_retried_later_and_ends_as_dead(
    desk: Desk, error: Exception | None, reason: str, unexpected: bool, tries: int
) -> None:
    async def subprocess(_: SubprocessContext) -> None:
        raise error or AssertionError

    runner = JobRunner(desk.house, {KIND: subprocess} if error else {}, desk.board)
    job = await desk.job()
    for attempt in range(1, tries + 1):
        await runner.do(job)
        assert desk.row() == ("dead" if attempt == tries else "ready", attempt, reason)
        assert desk.events.emitted[-1][1]["error"] is (error if unexpected else None)
        assert await desk.stores.jobs.claim_next() is None, "not at once"
        if attempt < tries:
            await desk.clock.advance(3600)
            job = await desk.claimed()
    assert desk.events.names.count("job.dead") == 1
    await desk.clock.advance(3600)
    assert await desk.stores.jobs.claim_next() is None


async def test_a_job_that_runs_out_of_memory_is_put_off_uncounted_a_few_times_and_then_counted(desk: Desk) -> None:
    lacks = [MemoryError(), OSError(24, "Too many open files"), *[MemoryError() for _ in range(4 + FAULTS)]]
    errors = iter(lacks)

    async def subprocess(_: SubprocessContext) -> None:
        raise next(errors)

    runner, job = desk.reflection(subprocess), await desk.job()
    for error in lacks[:6]:
        with pytest.raises(type(error)):
            await runner.do(job)
        assert desk.row()[:2] == ("ready", 0), "the machine's fault is not the job's"
        await desk.clock.advance(60)
        job = await desk.claimed()
    for attempt in range(1, FAULTS + 1):
        await runner.do(job)
        assert desk.row() == ("dead" if attempt == FAULTS else "ready", attempt, "MemoryError")
        if attempt < FAULTS:
            await desk.clock.advance(3600)
            job = await desk.claimed()
    assert next(errors, None) is None
    assert desk.events.names.count("job.dead") == 1


async def test_a_job_that_runs_long_keeps_its_claim(desk: Desk) -> None:
    finish = asyncio.Event()

    async def subprocess(_: SubprocessContext) -> None:
        await finish.wait()

    job = await desk.job()
    doing = asyncio.ensure_future(desk.reflection(subprocess).do(job))
    for _ in range(30):
        await desk.clock.sleepers()
        await desk.clock.advance(desk.stores.jobs.renew_every)
        await desk.stores.jobs.next_due_ms()
    assert await desk.stores.jobs.claim_next() is None  # after ten leases
    finish.set()
    await doing
    assert desk.row() == ("done", 1, "")


async def test_a_job_that_another_daemon_took_over_ends_here(desk: Desk) -> None:
    job = await desk.job()
    await desk.clock.advance(LEASE + 1)
    again = await desk.claimed()

    async def forever(_: SubprocessContext) -> None:
        await asyncio.Event().wait()

    doing = asyncio.ensure_future(desk.reflection(forever).do(job))
    await desk.clock.sleepers()
    await desk.clock.advance(desk.stores.jobs.renew_every)
    with pytest.raises(LostLease):
        await doing
    await desk.stores.jobs.finish(again, ())
    assert desk.row() == ("done", 2, "")


async def test_a_cancelled_job_is_left_for_the_next_claim(desk: Desk) -> None:
    hanging, job = Hanging(), await desk.job()
    doing = asyncio.ensure_future(desk.reflection(hanging.run).do(job))
    await hanging.begun.wait()
    doing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await doing
    assert desk.row() == ("running", 1, "")
    await desk.clock.advance(3600)
    assert (await desk.claimed()).attempts == 2
