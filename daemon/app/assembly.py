"""Builds a daemon around one channel and one memory.db: shared parts once, then lanes and a scheduler per soul."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

import daemon
from daemon.app.health import Health
from daemon.app.lifecycle import Chore, Daemon
from daemon.core.concurrency import Bell
from daemon.core.config import Settings
from daemon.core.limits import Limits
from daemon.core.ports import LLM, Channel, Clock, Emit, Toolbox
from daemon.core.telemetry.troubles import Troubles
from daemon.llm.prices import cost_of
from daemon.memory.database.log_size import keep_log_small
from daemon.memory.database.pruning import Retention, prune_periodically
from daemon.memory.knowledge.erasing import wipe_periodically
from daemon.memory.knowledge.library import LibraryIndex
from daemon.memory.store import Store, open_store, store_for_soul
from daemon.mind.interrupts import Interrupts
from daemon.mind.mental_process import Capabilities
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.processes.wishes import WISHES
from daemon.runtime.background_jobs import JobRunner
from daemon.runtime.conversation import ConversationHandler, Deadlines
from daemon.runtime.courier import Courier
from daemon.runtime.cycle_services import CycleServices, Timing
from daemon.runtime.dispatcher import AnyLane, Dispatcher, lanes_of_soul, ring
from daemon.runtime.scheduler import Scheduler
from daemon.runtime.slots import Slots
from daemon.runtime.triage import Triage
from daemon.soul import KnownNames, Soul, Souls, find_souls_directory
from daemon.tools.library.folders import FolderLibrary
from daemon.tools.mcp.toolbox import open_toolbox

_TO_TELL = 0.05  # of the deadline: an apology has to be out in time, too
_SHARE_OF_DEADLINE = 0.7  # the rest is for the answer, which has to be out before the message ends with an apology


def souls_of(settings: Settings, emit: Emit) -> Souls:
    """The souls that this daemon hosts. Raises SoulError."""
    return Souls(
        lambda name: find_souls_directory(settings.souls_dir, settings.home, name),
        settings.name,
        settings.souls,
        emit,
        KnownNames(PROCESSES, SUBPROCESSES),
    )


@asynccontextmanager
async def assemble(
    settings: Settings,
    channel: Channel,
    clock: Clock,
    emit: Emit,
    *,
    workspace: str,
    souls: Souls,
    llm_of: Callable[[str], LLM],
    troubles: Troubles | None = None,
) -> AsyncIterator[Daemon]:
    """Open memory.db and build a daemon; `llm_of` gives the models of a soul by the soul's name.

    `troubles` is one of the sinks of `emit`, if the daemon is to tell of them.

    Raises ConfigError, SoulError or StoreError.
    """
    bells, interrupts = {name: Bell() for name in souls.names}, Interrupts()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(
            open_store(
                settings.database_path,
                clock,
                emit,
                soul=settings.name,
                workspace=workspace,
                kind=channel.name,
                version=daemon.__version__,
                lease=settings.lease,
                on_accepted=_on_accepted(tuple(bells.values()), interrupts),
                most_waiting=settings.most_waiting,
            )
        )
        toolbox = await stack.enter_async_context(open_toolbox(settings.mcp_servers, clock, emit, store.tools))
        library = _library(settings, store, clock, emit)
        lanes: list[AnyLane] = []
        chores = _chores(settings, store, library, clock, emit)
        for name in souls.names:
            own = store_for_soul(store, clock, soul=name, workspace=workspace, lease=settings.lease)
            current, llm = partial(souls.current, name), llm_of(name)
            services = _services(
                settings, channel, clock, emit, store=own, soul=current, llm=llm, library=library, toolbox=toolbox
            )
            soul_lanes, scheduler = _work(settings, own, services, interrupts, bells[name])
            lanes += soul_lanes
            chores[f"scheduler of {name}"] = scheduler.run
        await store.presence.release_dead_claims(settings.in_doubt)
        work = Dispatcher(lanes, clock, emit)
        yield Daemon(settings, clock, emit, channel, store, work, Health(clock), troubles or Troubles(clock), chores)


def _on_accepted(bells: Sequence[Bell], interrupts: Interrupts) -> Callable[[str], None]:
    """What a new message in a conversation sets going."""

    def accepted(conversation: str) -> None:
        interrupts.call(conversation)
        for bell in bells:
            bell.ring()

    return accepted


def _library(settings: Settings, store: Store, clock: Clock, emit: Emit) -> FolderLibrary:
    index = LibraryIndex(store.database, clock)
    return FolderLibrary(settings.library, index, clock, emit, open_to_all=settings.library_public)


def _chores(settings: Settings, store: Store, library: FolderLibrary, clock: Clock, emit: Emit) -> dict[str, Chore]:
    """What has to be done now and then for all souls together, by its name in the log."""
    kept = Retention(settings.trace_days, settings.queue_text_days, settings.job_days, settings.call_days)
    return {
        "library": library.keep_indexed,
        "write-ahead log": partial(keep_log_small, store.database, clock, emit),
        "wiping": partial(wipe_periodically, store.database, clock, emit),
        "pruning": partial(prune_periodically, store.database, kept, clock, emit),
    }


def _work(
    settings: Settings, store: Store, services: CycleServices, interrupts: Interrupts, bell: Bell
) -> tuple[tuple[AnyLane, ...], Scheduler]:
    """The lanes and the scheduler of one soul; `store` and `services` are that soul's."""
    clock, emit, alarm = services.clock, services.emit, Bell()
    slots, deadline = Slots(settings.max_cycles, clock), (1 - _TO_TELL) * settings.deadline
    courier = Courier(
        store.outbox,
        services.channel,
        clock,
        emit,
        in_doubt=settings.in_doubt,
        stale_after=settings.stale_after,
        lease=settings.lease,
        words_in=lambda language: services.soul().words_in(language),
    )
    lanes = lanes_of_soul(
        store,
        ConversationHandler(services, Deadlines(deadline, settings.lease), interrupts, slots),
        courier,
        JobRunner(services, store.jobs, SUBPROCESSES, interrupts).do,
        slots=slots,
        deadline=deadline,
        bell=bell,
        alarm=alarm,
    )
    on_due = partial(ring, lanes)
    return lanes, Scheduler(store.intentions, store.approvals, clock=clock, emit=emit, alarm=alarm, on_due=on_due)


def _services(
    settings: Settings,
    channel: Channel,
    clock: Clock,
    emit: Emit,
    *,
    store: Store,
    soul: Callable[[], Soul],
    llm: LLM,
    library: FolderLibrary,
    toolbox: Toolbox,
) -> CycleServices:
    """What the cycles of one soul work with; `store` is that soul's."""
    return CycleServices(
        llm=llm,
        channel=channel,
        clock=clock,
        emit=emit,
        soul=soul,
        processes=PROCESSES,
        cost=cost_of,
        conversations=store.conversations,
        commits=store.commits,
        turns=store.turns,
        user_models=store.user_models,
        soul_states=store.soul_states,
        process_memories=store.process_memories,
        zones=store.zones,
        model_habits=store.model_habits,
        triage=Triage(channel, clock, emit, stale_after=settings.stale_after),
        timing=Timing(
            visit_timeout_ms=int(settings.visit_silence * 1000),
            dormancy_timeout_ms=int(settings.dormant_after * 1000),
            most_intentions=settings.schedule_max,
        ),
        link_hosts=settings.link_hosts,
        capabilities=Capabilities(
            library=library,
            toolbox=toolbox,
            approvals=store.approvals,
            may_intend=lambda user, planned: store.intentions.has_room(settings.schedule_max, user, planned),
            intended=store.intentions.waiting,
            find_room=channel.find_room,
            approvers=settings.approvers,
            approval_seconds=settings.approval_seconds,
            open_library=library.open_part(),
        ),
        limits=partial(limits_of, settings),
        recollect=store.conversation_search.search,
        look_up=store.conversation_search.look_up,
        wishes=WISHES,
    )


def limits_of(settings: Settings, soul: Soul) -> Limits | None:
    """Limits of a soul's autonomous loop: its own before the settings'; None where the loop is switched off.

    Where neither says anything there is the reading half, if folders or servers of tools are configured.
    """
    own = soul.ism
    enabled = settings.ism_enabled if own.enabled is None else own.enabled
    if not (settings.has_sources if enabled is None else enabled):
        return None
    return Limits(
        loops=own.max_loops or settings.ism_max_loops,
        tokens=own.max_tokens or settings.ism_max_tokens,
        usd=own.max_usd or settings.ism_max_usd,
        seconds=min(own.max_seconds or settings.ism_max_seconds, _SHARE_OF_DEADLINE * settings.deadline),
        reads_only=enabled is None,
    )
