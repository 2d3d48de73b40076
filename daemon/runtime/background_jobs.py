"""Does what is to be done after a reply: runs the subprocess that a job names, and yields to a newer turn."""

from collections.abc import Mapping

from daemon.core.concurrency import alongside
from daemon.core.errors import DaemonError, LostLease
from daemon.core.ports import LLMCall
from daemon.memory.queues.jobs import Job, Jobs
from daemon.mind.attention import Interrupted, Switchboard
from daemon.mind.mental_subprocess import Subprocess, SubprocessContext
from daemon.runtime.cycle import House, call_when_heard_elsewhere, new_trace


class Reflection:
    """Runs jobs of one soul; `house` and `jobs` are its own, `switchboard` tells of newer turns."""

    def __init__(
        self, house: House, jobs: Jobs, subprocesses: Mapping[str, Subprocess], switchboard: Switchboard
    ) -> None:
        self._house = house
        self._jobs = jobs
        self._subprocesses = subprocesses
        self._switchboard = switchboard

    async def do(self, job: Job) -> None:
        """Do a claimed job once: to its end, until a newer turn begins, or until it fails and is tried again later.

        Raises StoreError when not even that can be written down.
        """
        house, calls = self._house, list[LLMCall]()
        soul, trace = house.soul(), new_trace()
        context = SubprocessContext(
            mind=house.mind(soul, calls.append, trace),
            soul=soul,
            conversation=job.conversation,
            audience=job.audience,
            turns=house.turns,
            user_models=house.user_models,
            soul_states=house.soul_states,
            clock=house.clock,
            trace_id=trace,
            emit=house.emit,
        )
        try:
            await self._unless_a_newer_turn_begins(job, context)
        except Interrupted:
            house.emit("job.given_up", kind=job.kind, conversation=str(job.conversation))
            await self._jobs.give_up(job, tuple(calls))
        except LostLease:
            raise
        except Exception as error:  # noqa: BLE001 - what is done after a reply must not take the replies down; it is parked
            reason = error.message if isinstance(error, DaemonError) else type(error).__name__
            unexpected = None if isinstance(error, DaemonError) else error
            house.emit("job.failed", kind=job.kind, attempts=job.attempts, reason=reason, error=unexpected)
            await self._jobs.fail(job, reason, tuple(calls))
        else:
            await self._jobs.finish(job, tuple(calls))
            house.emit("job.done", kind=job.kind, calls=len(calls))

    async def _unless_a_newer_turn_begins(self, job: Job, context: SubprocessContext) -> None:
        house = self._house
        with self._switchboard.attend(str(job.conversation)) as attention:
            elsewhere = call_when_heard_elsewhere(attention, job.conversation, house)
            async with alongside(elsewhere):
                if await house.conversations.anything_new(job.conversation):
                    attention.call()
                await attention.unless_called(self._run(job, context))

    async def _run(self, job: Job, context: SubprocessContext) -> None:
        subprocess = self._subprocesses.get(job.kind)
        if subprocess is None:
            raise DaemonError(f"there is no subprocess {job.kind!r}", hint="it was removed; the job can be dropped")
        await subprocess(context)
