"""Joins all parts around one channel and one memory.db: for each soul its own house, hands and clock."""

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
from daemon.mind.attention import Switchboard
from daemon.mind.mental_process import Means
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.runtime.admission import Admission
from daemon.runtime.background_jobs import Reflection
from daemon.runtime.conversation import ConversationHandler, Patience
from daemon.runtime.courier import Courier
from daemon.runtime.cycle import House
from daemon.runtime.dispatcher import Bell, Dispatcher, Dispatchers
from daemon.runtime.effects import Habits
from daemon.runtime.scheduler import Scheduler
from daemon.soul import Known, Soul, Souls, find_souls_directory
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
        Known(PROCESSES, SUBPROCESSES),
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
    switchboard = Switchboard()

    def accepted(conversation: str) -> None:
        switchboard.call(conversation)
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
        world = _World(settings, channel, clock, emit, switchboard, library, toolbox)
        hands = [
            _hands(
                world,
                store_of(store, clock, soul=name, workspace=workspace, lease=settings.lease),
                souls,
                name,
                (llms or {}).get(name, llm),
                bells[name],
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
            Dispatchers([one.dispatcher for one in hands]),
            chores=(
                library.keep_indexed,
                partial(prune_periodically, store.database, settings.trace_days, clock, emit),
                *(one.scheduler.run for one in hands),
            ),
        )


@dataclass(frozen=True, slots=True)
class _World:
    """What all souls of a daemon share."""

    settings: Settings
    channel: Channel
    clock: Clock
    emit: Emit
    switchboard: Switchboard
    library: Library
    toolbox: Toolbox


@dataclass(frozen=True, slots=True)
class _Hands:
    """What works for one soul."""

    dispatcher: Dispatcher
    scheduler: Scheduler


def _hands(world: _World, store: Store, souls: Souls, name: str, llm: LLM, bell: Bell) -> _Hands:  # noqa: PLR0917 - the parts
    settings, channel, clock, emit = world.settings, world.channel, world.clock, world.emit
    house = _house(world, store, souls, name, llm)
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
    patience = Patience(deadline=settings.deadline, lease=settings.lease)
    dispatcher = Dispatcher(
        store,
        ConversationHandler(house, patience, world.switchboard),
        courier,
        Reflection(house, store.jobs, SUBPROCESSES, world.switchboard).do,
        clock=clock,
        emit=emit,
        max_cycles=settings.max_cycles,
        bell=bell,
        on_committed=alarm.ring,
    )
    scheduler = Scheduler(
        store.intentions, store.approvals, clock=clock, emit=emit, alarm=alarm, on_due=dispatcher.look_again
    )
    return _Hands(dispatcher, scheduler)


def _house(world: _World, store: Store, souls: Souls, name: str, llm: LLM) -> House:
    settings = world.settings
    return House(
        llm=llm,
        channel=world.channel,
        clock=world.clock,
        emit=world.emit,
        soul=lambda: souls.current(name),
        processes=PROCESSES,
        cost=cost_usd,
        conversations=store.conversations,
        commits=store.commits,
        turns=store.turns,
        user_models=store.user_models,
        soul_states=store.soul_states,
        admission=Admission(world.channel, world.clock, world.emit, stale_after=settings.stale_after),
        habits=Habits(
            silence_ms=int(settings.visit_silence * 1000),
            dormant_ms=int(settings.dormant_after * 1000),
            most_intentions=settings.schedule_max,
        ),
        means=Means(
            library=world.library,
            toolbox=world.toolbox,
            approvals=store.approvals,
            may_intend=lambda planned: store.intentions.has_room(settings.schedule_max - planned),
            intended=store.intentions.waiting,
            room_of=world.channel.room_of,
            approvers=settings.approvers,
            approval_seconds=settings.approval_seconds,
        ),
        limits=lambda soul: limits_of(settings, soul),
        recollect=lambda cycle, query, limit: store.recollection.search(
            cycle.claim.conversation, cycle.claim.audience, query, limit, outsiders=cycle.outsiders
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
