"""Joins all parts around one channel and one memory.db: for each soul its own services, hands and clock."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

import daemon
from daemon.app.lifecycle import Daemon
from daemon.core.config import Settings
from daemon.core.limits import Limits
from daemon.core.ports import LLM, Channel, Clock, Emit, Library, Toolbox
from daemon.llm.prices import cost_usd
from daemon.memory.database.pruning import prune_periodically
from daemon.memory.knowledge.library import LibraryIndex
from daemon.memory.store import Store, open_store, store_of
from daemon.mind.interrupts import Interrupts
from daemon.mind.mental_process import Capabilities
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.runtime.background_jobs import JobRunner
from daemon.runtime.conversation import ConversationHandler, Deadlines
from daemon.runtime.courier import Courier
from daemon.runtime.cycle_services import CycleServices, Timing
from daemon.runtime.dispatcher import Bell, Dispatcher, Dispatchers
from daemon.runtime.scheduler import Scheduler
from daemon.runtime.triage import Triage
from daemon.soul import KnownNames, Soul, Souls, find_souls_directory
from daemon.tools.library.folders import FolderLibrary
from daemon.tools.mcp.toolbox import open_toolbox

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
    llm: LLM,
    souls: Souls | None = None,
    llms: Mapping[str, LLM] | None = None,
) -> AsyncIterator[Daemon]:
    """Open memory.db and join all parts around a channel. Raises ConfigError, SoulError or StoreError.

    `llm` thinks for every soul that `llms` names no other for; `souls` are read by the settings unless given.
    """
    souls = souls or souls_of(settings, emit)
    bells = {name: Bell() for name in souls.names}
    interrupts = Interrupts()

    def accepted(conversation: str) -> None:
        interrupts.call(conversation)
        for bell in bells.values():
            bell.ring()

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
                on_accepted=accepted,
            )
        )
        library = FolderLibrary(settings.library, LibraryIndex(store.database, clock), clock, emit)
        toolbox = await stack.enter_async_context(open_toolbox(settings.mcp_servers, clock, emit))
        shared = _Shared(settings, channel, clock, emit, interrupts, library, toolbox)
        per_soul = [
            _work_for(
                shared,
                store_of(store, clock, soul=name, workspace=workspace, lease=settings.lease),
                souls,
                name,
                llm=(llms or {}).get(name, llm),
                bell=bells[name],
            )
            for name in souls.names
        ]
        await store.presence.release_the_dead(settings.in_doubt)
        yield Daemon(
            settings,
            clock,
            emit,
            channel,
            store,
            Dispatchers([dispatcher for dispatcher, _ in per_soul]),
            chores=(
                library.keep_indexed,
                partial(prune_periodically, store.database, settings.trace_days, clock, emit),
                *(scheduler.run for _, scheduler in per_soul),
            ),
        )


@dataclass(frozen=True, slots=True)
class _Shared:
    """What all souls of a daemon share."""

    settings: Settings
    channel: Channel
    clock: Clock
    emit: Emit
    interrupts: Interrupts
    library: Library
    toolbox: Toolbox


def _work_for(
    shared: _Shared, store: Store, souls: Souls, name: str, *, llm: LLM, bell: Bell
) -> tuple[Dispatcher, Scheduler]:
    settings, channel, clock, emit = shared.settings, shared.channel, shared.clock, shared.emit
    services = _cycle_services(shared, store, souls, name, llm)
    courier = Courier(
        store.outbox,
        channel,
        clock,
        emit,
        in_doubt=settings.in_doubt,
        stale_after=settings.stale_after,
        lease=settings.lease,
    )
    alarm = Bell()
    deadlines = Deadlines(cycle=settings.deadline, lease=settings.lease)
    dispatcher = Dispatcher(
        store,
        ConversationHandler(services, deadlines, shared.interrupts),
        courier,
        JobRunner(services, store.jobs, SUBPROCESSES, shared.interrupts).do,
        clock=clock,
        emit=emit,
        max_cycles=settings.max_cycles,
        bell=bell,
        on_committed=alarm.ring,
    )
    scheduler = Scheduler(
        store.intentions, store.approvals, clock=clock, emit=emit, alarm=alarm, on_due=dispatcher.look_again
    )
    return dispatcher, scheduler


def _cycle_services(shared: _Shared, store: Store, souls: Souls, name: str, llm: LLM) -> CycleServices:
    settings = shared.settings
    return CycleServices(
        llm=llm,
        channel=shared.channel,
        clock=shared.clock,
        emit=shared.emit,
        soul=lambda: souls.current(name),
        processes=PROCESSES,
        cost=cost_usd,
        conversations=store.conversations,
        commits=store.commits,
        turns=store.turns,
        user_models=store.user_models,
        soul_states=store.soul_states,
        triage=Triage(shared.channel, shared.clock, shared.emit, stale_after=settings.stale_after),
        timing=Timing(
            visit_timeout_ms=int(settings.visit_silence * 1000),
            dormancy_timeout_ms=int(settings.dormant_after * 1000),
            most_intentions=settings.schedule_max,
        ),
        capabilities=Capabilities(
            library=shared.library,
            toolbox=shared.toolbox,
            approvals=store.approvals,
            may_intend=lambda planned: store.intentions.has_room(settings.schedule_max - planned),
            intended=store.intentions.waiting,
            find_room=shared.channel.find_room,
            approvers=settings.approvers,
            approval_seconds=settings.approval_seconds,
        ),
        limits=lambda soul: limits_of(settings, soul),
        recollect=lambda conversation, audience, query, limit, outsiders: store.recollection.search(
            conversation, audience, query, limit, outsiders=outsiders
        ),
    )


def limits_of(settings: Settings, soul: Soul) -> Limits | None:
    """What a soul's autonomous loop may take: its own wishes before the settings; None where it may not run."""
    own = soul.ism
    if not (settings.ism_enabled if own.enabled is None else own.enabled):
        return None
    return Limits(
        loops=own.max_loops or settings.ism_max_loops,
        tokens=own.max_tokens or settings.ism_max_tokens,
        usd=own.max_usd or settings.ism_max_usd,
        seconds=min(own.max_seconds or settings.ism_max_seconds, _SHARE_OF_DEADLINE * settings.deadline),
    )
