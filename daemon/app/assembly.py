"""Assembly of a daemon around one channel and one memory.db: shared parts once, then lanes and a scheduler per soul."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import daemon
from daemon.app.health import SWEEP_EVERY_S, Health, build_eyes, known_names
from daemon.app.lanes import SoulsWork, work_of
from daemon.app.lifecycle import Daemon, Hosting
from daemon.app.minds import build_meanings, labels_of
from daemon.channels.souls import channels_of
from daemon.core.channels import Channels
from daemon.core.concurrency import Bell, in_background
from daemon.core.config import Settings
from daemon.core.contexts import ADMIN
from daemon.core.expectations import Limits
from daemon.core.last_line import Loop, every
from daemon.core.notes import NoteBudget
from daemon.core.perception import ConversationKey
from daemon.core.ports.channel import Channel
from daemon.core.ports.library import Toolbox
from daemon.core.ports.services import LLM, Clock, Emit
from daemon.core.sensing import HouseSense
from daemon.core.spending import Caps, TickBudget
from daemon.core.telemetry.redaction import RecentErrors
from daemon.core.tempo import REFLECTING
from daemon.llm.prices import cost_of, most_of, most_tokens_of
from daemon.memory.database import Database
from daemon.memory.database.log_size import keep_log_small
from daemon.memory.database.pruning import PRUNED_EVERY_S, Retention, prune_periodically
from daemon.memory.knowledge.library import LibraryIndex
from daemon.memory.knowledge.turn_index import tidy_periodically
from daemon.memory.mirror_folders import mirrors_in
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.people.retention import MemoryRetention, erase_what_passes, expire_periodically
from daemon.memory.queues.alarms import Duty
from daemon.memory.retrieval.reasons import Reasons
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.store import Store, open_store, store_for_soul
from daemon.mind.process import Capabilities, Interrupts
from daemon.runtime.cycle_services import CycleServices
from daemon.runtime.dispatcher import Dispatcher
from daemon.runtime.people.own_memory import own_memory
from daemon.runtime.till import SpendingBudget, Terms
from daemon.shared.asking import SessionQuestions
from daemon.shared.contexts import SharedContexts
from daemon.shared.events import SoulAtWork, SoulNotes
from daemon.shared.news import StoreNews
from daemon.soul import Soul, Souls, find_souls_directory
from daemon.tools.library_folders import FolderLibrary
from daemon.tools.mcp.toolbox import open_toolbox

if TYPE_CHECKING:
    from daemon.memory.passport.mirror import Mirror


def caps_of(settings: Settings, soul: Soul) -> Caps:
    caps = Caps(settings.max_usd_a_day, settings.max_usd_a_day_person, settings.max_usd_a_day_room)
    return caps.with_own(soul.max_usd_a_day)


def tick_budget_of(settings: Settings, soul: Soul) -> TickBudget | None:
    """Return a soul's budget for unasked thoughts, with the lower figure of each pair; None where it has none."""
    own = soul.cycle
    enabled = settings.cycle_enabled if own.enabled is None else own.enabled
    if not enabled or soul.mind != "cycle" or not soul.may_be(REFLECTING):
        return None
    tokens_hour, tokens_day, usd = settings.cycle_tokens_hour, settings.cycle_tokens_day, settings.cycle_usd_day
    return TickBudget(
        min(tokens_hour, tokens_hour if own.tokens_hour is None else own.tokens_hour),
        min(tokens_day, tokens_day if own.tokens_day is None else own.tokens_day),
        min(usd, usd if own.usd_day is None else own.usd_day),
    )


def build_till(settings: Settings, store: Store, soul: Callable[[], Soul], clock: Clock, emit: Emit) -> SpendingBudget:
    terms = Terms(cost_of, most_of, lambda: caps_of(settings, soul()), settings.cap_zone, most_tokens_of)
    return SpendingBudget(store.reservations, terms, clock, emit)


_FIRST_GO_S = 0.02  # for the daemon that stored it: a user of HTTP reads the growing reply there
_NO_MIRROR_S = 600.0  # seconds between two checks whether another program made one
_SHARE_OF_DEADLINE = 0.7  # the rest is for the answer, which must be out before the message ends with an apology


def souls_of(settings: Settings, emit: Emit) -> Souls:
    """Load the souls that this daemon hosts. Raises SoulError."""
    find = partial(find_souls_directory, settings.souls_dir, settings.home)
    return Souls(find, settings.name, settings.souls, emit, known_names())


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
    http: Channel | None = None,
    troubles: RecentErrors | None = None,
    account: str = "",
    url: Callable[[], str] = str,
) -> AsyncIterator[Daemon]:
    """Open memory.db and build a daemon. `llm_of` returns the models of a soul by name.

    People reach it on `channel`, programs over `http`. `account` and `url` are as in `Hosting`. `troubles` is one of
    the sinks of `emit`, if failures should be shown. Raises ConfigError, SoulError or StoreError.
    """
    channels, interrupts = channels_of(channel, http), Interrupts()
    bells = {name: Bell() for name in souls.names}
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
                on_accepted=partial(_on_accepted, bells.values(), interrupts),
                most_waiting=settings.most_waiting,
            )
        )
        toolbox = await stack.enter_async_context(open_toolbox(settings.mcp_servers, clock, emit, store.tools))
        shared = _Shared(settings, channels, store, clock, emit, stack=stack, toolbox=toolbox)
        works, wake = dict[str, SoulsWork](), partial(_ring, bells.values())
        for name, bell in bells.items():
            own = store_for_soul(store, clock, soul=name, workspace=workspace, lease=settings.lease)
            current = partial(souls.current, name)
            services = _services(shared, own, current, llm_of(name), souls=souls.names, wake=wake)
            stack.push_async_callback(services.till.close)
            works[name] = work_of(name, services, interrupts, bell)
        await store.presence.release_dead_claims(settings.in_doubt)
        hosting = Hosting(store.presence, souls, account, url)
        yield _daemon(shared, works, hosting, interrupts, troubles or RecentErrors(clock))


def _daemon(
    shared: "_Shared", works: Mapping[str, SoulsWork], hosting: Hosting, interrupts: Interrupts, troubles: RecentErrors
) -> Daemon:
    clock, emit, store, each = shared.clock, shared.emit, shared.store, works.values()
    dispatcher = Dispatcher([lane for one in each for lane in one.lanes], clock, emit)
    wakes = [dispatcher.look_again, *(one.alarm.ring for one in each)]
    look = partial(_look_again, wakes, interrupts, store, hosting, clock)
    return Daemon(
        shared.settings,
        clock,
        emit,
        shared.channels,
        store,
        dispatcher,
        Health(clock),
        troubles,
        SharedContexts(store.contexts, shared.news, clock, ADMIN),
        hosting,
        shared.surfacing,
        {name: loop for one in each for name, loop in one.chores.items()} | _chores(shared, look),
        {name: one.night for name, one in works.items()},
    )


def _ring(bells: Iterable[Bell]) -> None:
    for bell in bells:
        bell.ring()


def _on_accepted(bells: Iterable[Bell], interrupts: Interrupts, conversation: str) -> None:
    interrupts.call(conversation)
    _ring(bells)


async def _look_again(
    wakes: Iterable[Callable[[], None]], interrupts: Interrupts, store: Store, hosting: Hosting, clock: Clock
) -> None:
    """Begin the work that other processes stored. Raises StoreError."""
    await clock.sleep(_FIRST_GO_S)
    for wake in wakes:
        wake()
    await interrupts.look(lambda one: store.conversations.has_new_messages(ConversationKey.parse(one)))
    await hosting.refresh()


class _Shared:
    """The parts that all souls of a daemon share, closed with the stack. Raises ConfigError."""

    def __init__(
        self,
        settings: Settings,
        channels: Channels,
        store: Store,
        clock: Clock,
        emit: Emit,
        *,
        stack: AsyncExitStack,
        toolbox: Toolbox,
    ) -> None:
        self.settings, self.channels, self.store, self.clock, self.emit = settings, channels, store, clock, emit
        self.toolbox = toolbox
        self.news = StoreNews(store.database, clock)
        self.eyes = build_eyes(settings, store, channels, emit, stack, clock=clock)
        self.meanings = build_meanings(settings, store.database, clock, emit, stack)
        index = LibraryIndex(store.database, clock, self.meanings.meaning)
        tell, to_all = partial(store.awakenings.perceive, HouseSense.LIBRARY), settings.library_public
        self.library = FolderLibrary(settings.library, index, clock, emit, open_to_all=to_all, tell=tell)
        self.surfacing = Surfacing(store.database, clock, self.meanings.meaning)
        self.reasons = Reasons(store.database, self.meanings.patient, self.library.open_folders)
        self.labels = labels_of(settings, self.meanings)
        folder, index_folder = settings.home, settings.index_folder
        self.forgetting = ForgettingPeople(store.database, clock, emit, folder, index_folder, ring=self.news.tell)


def _chores(shared: _Shared, look: Callable[[], Awaitable[None]]) -> dict[str, Loop]:
    settings, database, clock, emit = shared.settings, shared.store.database, shared.clock, shared.emit
    prunes = Duty(database, clock, "pruning", every_s=PRUNED_EVERY_S)
    kept = Retention(settings.trace_days, settings.queue_text_days, settings.job_days, settings.call_days)
    silence_ms = int(settings.visit_silence * 1000)
    return {
        "library": shared.library.keep_indexed,
        "vectors": shared.meanings.keep,
        "pictures": every(clock, SWEEP_EVERY_S, shared.eyes.sweep),
        "write-ahead log": partial(keep_log_small, database, clock, emit),
        "wiping": partial(tidy_periodically, database, clock, emit),
        "forgetting": shared.forgetting.run,
        "erasing what passes": partial(erase_what_passes, database, clock, emit, silence_ms=silence_ms),
        "mirror": partial(_mirror, settings, database, clock, emit),
        "expiring": partial(expire_periodically, database, _kept(settings), clock, emit),
        "pruning": partial(prune_periodically, database, kept, clock, emit, prunes.turn),
        "news": partial(shared.news.watch, look),
    }


async def _mirror(settings: Settings, database: Database, clock: Clock, emit: Emit) -> None:
    while not settings.mirror and not await in_background(partial(mirrors_in, settings.home)):
        await clock.sleep(_NO_MIRROR_S)
    mirror = await in_background(_mirrors)
    await mirror(database, settings.home, settings.mirror, clock, emit).run()


def _mirrors() -> "type[Mirror]":
    from daemon.memory.passport.mirror import Mirror

    return Mirror


def _kept(settings: Settings) -> MemoryRetention:
    return MemoryRetention(
        settings.turn_days, settings.fact_days, settings.episode_days, settings.sense_days, settings.journal_days
    )


def _services(
    shared: _Shared,
    store: Store,
    soul: Callable[[], Soul],
    llm: LLM,
    *,
    souls: tuple[str, ...],
    wake: Callable[[], None],
) -> CycleServices:
    settings, clock, channels = shared.settings, shared.clock, shared.channels
    name = soul().name
    return CycleServices(
        settings=settings,
        store=store,
        llm=llm,
        channels=channels,
        clock=clock,
        emit=shared.emit,
        soul=soul,
        till=build_till(settings, store, soul, clock, shared.emit),
        senses=shared.eyes.senses,
        file_sensing=shared.eyes.sensing,
        capabilities=_capabilities(shared, store),
        limits=partial(limits_of, settings),
        tick_budget=partial(tick_budget_of, settings),
        forgetting=shared.forgetting,
        surfacing=shared.surfacing,
        reasons=shared.reasons,
        news=shared.news,
        wake=wake,
        at_work=SoulAtWork(shared.store.contexts.awareness, clock, name),
        asking=SessionQuestions(store.questions, store.sessions, store.bindings, clock, name),
        notes=SoulNotes(store.notes, clock, name, souls, NoteBudget(settings.pair_hourly)),
        labels=shared.labels,
    )


def _capabilities(shared: _Shared, store: Store) -> Capabilities:
    settings, channel = shared.settings, shared.channels.main
    return Capabilities(
        library=shared.library,
        toolbox=shared.toolbox,
        approvals=store.approvals,
        may_intend=lambda user, planned: store.intentions.has_room(settings.schedule_max, user, planned),
        intended=store.intentions.waiting,
        find_room=channel.find_room,
        approvers=settings.approvers,
        admins=settings.who_are_admins,
        approval_seconds=settings.approval_seconds,
        own_memory=partial(own_memory, store.known),
        own_things=store.own_things,
        open_library=shared.library.open_part(),
        shared_room=channel.shared_room,
        most_intentions=settings.schedule_max,
    )


def limits_of(settings: Settings, soul: Soul) -> Limits | None:
    """Return the limits of a soul's autonomous loop, its own before the settings'. None if the loop is off.

    If neither decides, the reading half is on where folders or servers of tools are configured.
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
