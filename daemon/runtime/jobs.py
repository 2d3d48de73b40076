"""Background jobs after replies: a soul's subprocesses, titles of sessions, and notes and sweeps of visits."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.concurrency import alongside
from daemon.core.errors import (
    CapMet,
    ChannelError,
    DaemonError,
    DeliveryUncertain,
    LostLease,
    NotDelivered,
    of_machine,
)
from daemon.core.fencing import fresh_nonce
from daemon.core.last_line import in_short, keep_lease
from daemon.core.perception import Modality
from daemon.core.ports.services import Emit, LLMCall
from daemon.core.questions import title_of
from daemon.core.sentences import Words
from daemon.core.spending import Charge
from daemon.memory.knowledge.records.kinds import SituationContext
from daemon.memory.knowledge.user_models import LEARNS_OF_PEOPLE
from daemon.memory.knowledge.visits import UNKNOWN, VisitNote
from daemon.memory.queues.jobs import Job
from daemon.memory.queues.session_titles import DueTitle, SessionTitles
from daemon.memory.records import ProcessState
from daemon.mind.matter import Matter
from daemon.mind.process import Interrupted, Interrupts
from daemon.mind.stances import Subprocess, SubprocessContext
from daemon.processes.subprocesses import AFTER_A_VISIT
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.cycle_state import Cycle, new_trace
from daemon.soul import Soul

_LACKING_PAUSE_MS = 60_000
_MOST_OUT_OF_MEMORY = 5
"""The number of times that a job may run out of memory before this counts as the job's fault. A restart resets it."""


@dataclass(eq=False)
class JobRunner:
    """The runner of one soul's jobs. `interrupts` signals newer messages."""

    services: CycleServices
    subprocesses: Mapping[str, Subprocess]
    interrupts: Interrupts
    _out_of_memory: Counter[int] = field(default_factory=Counter)

    async def do(self, job: Job) -> None:
        """Run a claimed job to its end, until a newer message arrives, or until it fails and is retried later.

        A job whose cap is met waits for the next day. Raises StoreError when the outcome can't be stored.
        """
        services, jobs, calls = self.services, self.services.store.jobs, list[LLMCall]()
        log = partial(services.emit, "job.lease_not_renewed")
        try:
            async with alongside(keep_lease(services.clock, jobs.renew_every, partial(jobs.renew, job), log)):
                await self._run_unless_interrupted(job, await self._context(job, calls))
        except Interrupted:
            services.emit("job.given_up", kind=job.kind, conversation=str(job.conversation))
            await jobs.give_up(job, tuple(calls))
        except LostLease:
            raise
        except CapMet as met:
            await jobs.put_off(job, met.message, met.until_ms, tuple(calls))
            services.emit("job.put_off", kind=job.kind, reason=met.message)
        except Exception as error:
            reason = in_short(error)
            if of_machine(error) and not self._takes_too_much(job, error):
                await jobs.put_off(job, reason, services.clock.now_ms() + _LACKING_PAUSE_MS, tuple(calls))
                raise
            unexpected = None if isinstance(error, DaemonError) else error
            dead = await jobs.fail(job, reason, tuple(calls), foreseen=unexpected is None)
            event = "job.dead" if dead else "job.failed"
            services.emit(event, kind=job.kind, attempts=job.attempts, reason=reason, error=unexpected)
        else:
            await jobs.finish(job, tuple(calls))
            services.emit("job.done", kind=job.kind, calls=len(calls))

    def _takes_too_much(self, job: Job, error: Exception) -> bool:
        self._out_of_memory[job.seq] += isinstance(error, MemoryError)
        return isinstance(error, MemoryError) and self._out_of_memory[job.seq] > _MOST_OUT_OF_MEMORY

    async def _context(self, job: Job, calls: list[LLMCall]) -> SubprocessContext:
        services = self.services
        soul, trace = services.soul(), new_trace()
        return SubprocessContext(
            mind=await services.mind(
                soul,
                calls.append,
                Charge(trace, job.person, job.conversation.channel, background=True),
                (job.audience,),
                job.nonce or fresh_nonce(),
            ),
            soul=soul,
            conversation=job.conversation,
            audience=job.audience,
            turns=services.store.turns.lasting(),
            user_models=services.store.user_models,
            learning=services.store.learning,
            soul_states=services.store.soul_states,
            process_memories=services.store.process_memories,
            senses=services.senses,
            read_files=services.file_sensing.read,
            episodes=services.store.episodes,
            clock=services.clock,
            trace_id=trace,
            emit=services.emit,
        )

    async def _run_unless_interrupted(self, job: Job, context: SubprocessContext) -> None:
        services = self.services
        with self.interrupts.attend(str(job.conversation)) as interrupt:
            if await services.store.conversations.has_new_messages(job.conversation):
                interrupt.call()
            await interrupt.unless_called(self._run(job, context))

    async def _run(self, job: Job, context: SubprocessContext) -> None:
        subprocess = self.subprocesses.get(job.kind)
        if subprocess is None:
            raise DaemonError(
                f"there is no subprocess {job.kind!r}", hint="another version of the daemon created the job"
            )
        await subprocess(context)


_PAUSE = 60.0  # seconds until the next try, where the platform names none


@dataclass(eq=False)
class Titler:
    """The setter of due titles. `words_in` returns the soul's words in a language, for threads without words."""

    titles: SessionTitles
    channels: Channels
    emit: Emit
    words_in: Callable[[str], Words]

    async def title(self, due: DueTitle) -> None:
        """Try a claimed title once. A refused title is dropped. Raises StoreError alone."""
        if not due.words:  # deleted, or its author is forgotten
            await self.titles.end(due)
            return
        title = title_of(due.words) or self.words_in(await self.channels.main.language_of(due.author)).say("untitled")
        try:
            await self.channels.of(due.conversation).name_session(due.conversation, due.thread, title)
        except NotDelivered as error:
            await self.titles.put_off(due, error.retry_after or _PAUSE)
            self.emit("session.title_put_off", thread=due.thread, reason=error.message)
        except ChannelError as error:
            await self.titles.end(due)
            maybe = isinstance(error, DeliveryUncertain)
            self.emit("session.title_unsure" if maybe else "session.untitled", thread=due.thread, reason=error.message)
        else:
            await self.titles.end(due)
            self.emit("session.titled", thread=due.thread)


_DEEP: Final = ("academic", "problem_solving")
_LAST: Final = "exiting"


def note_of_visit(cycle: Cycle, soul: Soul, state: ProcessState) -> VisitNote:
    """Build the note of a visit: place, process and role are its situation, silence and the last process its end."""
    claim, services = cycle.claim, cycle.services
    words = [one.content for one in cycle.perceptions if one.modality is Modality.WORDS]
    silent_ms = services.clock.now_ms() - claim.visit_state.spoken_ms
    newest = cycle.newest if cycle.messages else None
    return VisitNote(
        persona=soul.name,
        situation=_situation(soul, state, str(newest.place) if newest else ""),
        visit=claim.visit_state.visit + (bool(words) and not claim.visit_state.exchanges),
        begins=bool(words) and 0 < services.visit_timeout_ms < silent_ms and claim.visit_state.spoken_ms > 0,
        ends=newest is not None and newest.modality is Modality.TIME and newest.process == _LAST,
        opens=bool(words),
        then=tuple(name for name in AFTER_A_VISIT if name in soul.subprocesses),
        wakes=services.tick_budget(soul) is not None,
    )


def _situation(soul: Soul, state: ProcessState, place: str) -> SituationContext:
    role = soul.role_in(state.process)
    deep = state.process in _DEEP or (state.process == "engaged" and Matter.kept(state.process_memory).wants_depth)
    return replace(
        UNKNOWN,
        interaction_mode="deep_discussion" if deep else "",
        domain_area=place,
        agent_role=role[0] if role else "",
    )


VISITS_EVERY_S: Final = 1800.0
"""Seconds between two sweeps of a soul's visits."""


async def sweep_visits(services: CycleServices, on_due: Callable[[], None], silent_ms: int) -> None:
    """End the visits that are silent for so long, and queue all pending looks. Raises StoreError.

    `on_due` is called when there is work. A soul that thinks by itself thinks about the visits that end.
    """
    soul, store, wakes = services.soul(), services.store, services.thinks_by_itself
    for name in AFTER_A_VISIT:
        if name in soul.subprocesses and await store.ended_visits.sweep(silent_ms, name, wakes=wakes):
            on_due()
    if LEARNS_OF_PEOPLE in soul.subprocesses and await store.unread_words.sweep(soul.notes.min_interactions):
        on_due()
