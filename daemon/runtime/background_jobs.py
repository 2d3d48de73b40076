"""Runs the subprocess that a job names after a reply; a newer message ends it."""

from collections import Counter
from collections.abc import Mapping

from daemon.core.concurrency import alongside
from daemon.core.errors import CapMet, DaemonError, LostLease, StoreBusy, of_machine
from daemon.core.fencing import fresh_nonce
from daemon.core.last_line import in_short
from daemon.core.ports.telemetry import LLMCall
from daemon.core.spending import Charge
from daemon.memory.queues.jobs import Job, Jobs
from daemon.mind.interrupts import Interrupted, Interrupts
from daemon.mind.mental_subprocess import Subprocess, SubprocessContext
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.cycle_state import new_trace

_LACKING_PAUSE_MS = 60_000
_MOST_OUT_OF_MEMORY = 5
"""How often a job may run out of memory before that counts as its own fault; a restart counts anew."""


class JobRunner:
    """Runs jobs of one soul; `services` and `jobs` are that soul's, `interrupts` signals newer messages."""

    def __init__(
        self, services: CycleServices, jobs: Jobs, subprocesses: Mapping[str, Subprocess], interrupts: Interrupts
    ) -> None:
        self._services = services
        self._jobs = jobs
        self._subprocesses = subprocesses
        self._interrupts = interrupts
        self._out_of_memory = Counter[int]()

    async def do(self, job: Job) -> None:
        """Run a claimed job to its end, until a newer message arrives, or until it fails and is retried later.

        One for which nothing may be spent any more today waits for the next day.

        Raises StoreError when the outcome can't be stored.
        """
        services, calls = self._services, list[LLMCall]()
        try:
            async with alongside(self._keep_lease(job)):
                await self._run_unless_interrupted(job, await self._context(job, calls))
        except Interrupted:
            services.emit("job.given_up", kind=job.kind, conversation=str(job.conversation))
            await self._jobs.give_up(job, tuple(calls))
        except LostLease:
            raise
        except CapMet as met:
            await self._jobs.put_off(job, met.message, met.until_ms, tuple(calls))
            services.emit("job.put_off", kind=job.kind, reason=met.message)
        except Exception as error:
            reason = in_short(error)
            if of_machine(error) and not self._takes_too_much(job, error):
                await self._jobs.put_off(job, reason, services.clock.now_ms() + _LACKING_PAUSE_MS, tuple(calls))
                raise
            unexpected = None if isinstance(error, DaemonError) else error
            dead = await self._jobs.fail(job, reason, tuple(calls), foreseen=unexpected is None)
            event = "job.dead" if dead else "job.failed"
            services.emit(event, kind=job.kind, attempts=job.attempts, reason=reason, error=unexpected)
        else:
            await self._jobs.finish(job, tuple(calls))
            services.emit("job.done", kind=job.kind, calls=len(calls))

    def _takes_too_much(self, job: Job, error: Exception) -> bool:
        self._out_of_memory[job.seq] += isinstance(error, MemoryError)
        return isinstance(error, MemoryError) and self._out_of_memory[job.seq] > _MOST_OUT_OF_MEMORY

    async def _context(self, job: Job, calls: list[LLMCall]) -> SubprocessContext:
        services = self._services
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
            turns=services.turns.lasting(),
            user_models=services.user_models,
            learning=services.learning,
            soul_states=services.soul_states,
            process_memories=services.process_memories,
            senses=services.senses,
            read_files=services.file_sensing.read,
            episodes=services.episodes,
            clock=services.clock,
            trace_id=trace,
            emit=services.emit,
        )

    async def _keep_lease(self, job: Job) -> None:
        """Renew the claim until cancelled, so that no daemon claims a job that runs. Raises LostLease."""
        while True:
            await self._services.clock.sleep(self._jobs.renew_every)
            try:
                await self._jobs.renew(job)
            except StoreBusy as busy:  # the fence holds even if the lease runs out
                self._services.emit("job.lease_not_renewed", reason=busy.message)

    async def _run_unless_interrupted(self, job: Job, context: SubprocessContext) -> None:
        services = self._services
        with self._interrupts.attend(str(job.conversation)) as interrupt:
            if await services.conversations.has_new_messages(job.conversation):
                interrupt.call()
            await interrupt.unless_called(self._run(job, context))

    async def _run(self, job: Job, context: SubprocessContext) -> None:
        subprocess = self._subprocesses.get(job.kind)
        if subprocess is None:
            raise DaemonError(
                f"there is no subprocess {job.kind!r}", hint="another version of the daemon created the job"
            )
        await subprocess(context)
