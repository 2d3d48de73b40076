"""Assembly of a daemon around one channel and one memory.db: shared parts once, then lanes and a scheduler per soul."""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import daemon
from daemon.app.health import Eyes, Health, build_eyes, known_names
from daemon.app.homes import Home, WorkAtHomes, souls_in
from daemon.app.lifecycle import Chore, Daemon, Hosting
from daemon.app.minds import Meanings, build_meanings, labels_of
from daemon.channels.souls import channels_of
from daemon.core.channels import Channels
from daemon.core.concurrency import Bell, in_background
from daemon.core.config import Settings
from daemon.core.contexts import ADMIN
from daemon.core.expectations import Limits
from daemon.core.initiative import QuietHours
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
from daemon.memory.database.log_size import keep_log_small
from daemon.memory.knowledge.library import LibraryIndex
from daemon.memory.knowledge.turn_index import tidy_periodically
from daemon.memory.mirror_folders import mirrors_in
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.people.retention import PRUNED_EVERY_S, SETTINGS, erase_what_passes, prune_periodically
from daemon.memory.queues.alarms import Duty
from daemon.memory.retrieval.reasons import Reasons
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.store import Store, open_store, store_for_soul
from daemon.mind.process import Capabilities, Interrupts
from daemon.processes import PROCESSES
from daemon.runtime.cycle_services import CycleServices, Timing
from daemon.runtime.dispatcher import Dispatcher
from daemon.runtime.file_sensing import admit
from daemon.runtime.people.own_memory import own_memory
from daemon.runtime.till import SpendingBudget, Terms
from daemon.runtime.triage import Triage
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
    homes = tuple(Home(name, workspace, channels, name) for name in souls.names)
    async with AsyncExitStack() as stack:
        accepted = _on_accepted([home.bell for home in homes], interrupts)
        opening = _store(settings, clock, emit, kind=channel.name, workspace=workspace, on_accepted=accepted)
        store = await stack.enter_async_context(opening)
        news = StoreNews(store.database, clock)
        eyes = build_eyes(settings, store, channels, emit, stack, clock=clock)
        toolbox = await stack.enter_async_context(open_toolbox(settings.mcp_servers, clock, emit, store.tools))
        meanings = build_meanings(settings, store.database, clock, emit, stack)
        library = _library(settings, store, meanings, clock, emit)
        found = Surfacing(store.database, clock, meanings.meaning)
        reasons = Reasons(store.database, meanings.patient, library.open_folders)
        services_of = partial(
            _services, settings, clock, emit, _Shared(homes, news, eyes, library, toolbox, found, reasons)
        )
        labels = labels_of(settings, meanings)
        at_work = {name: SoulAtWork(store.contexts.awareness, clock, name) for name in souls.names}
        works = WorkAtHomes(settings, interrupts)
        for home in homes:
            own = store_for_soul(store, clock, soul=home.soul, workspace=home.workspace, lease=settings.lease)
            current, llm = partial(souls.current, home.soul), llm_of(home.soul)
            services = services_of(home.channels, store=own, soul=current, llm=llm, at_work=at_work[home.soul])
            services = replace(services, labels=labels)
            stack.push_async_callback(services.till.close)
            works.add(home, own, services)
        await store.presence.release_dead_claims(settings.in_doubt)
        hosting, health = Hosting(store.presence, souls, account, url), Health(clock)
        work, told = Dispatcher(works.lanes, clock, emit), troubles or RecentErrors(clock)
        chores = _chores(settings, store, library, clock, emit, news=news, meanings=meanings, eyes=eyes)
        chores |= works.chores | {f"what {name} does": one.run for name, one in at_work.items()}
        wakes = [work.look_again, *(one.look_again for one in works.schedulers)]
        look = partial(_look_again, wakes, interrupts, store, hosting, clock)
        chores["news"] = partial(news.watch, look)
        contexts = SharedContexts(store.contexts, news, clock, ADMIN)
        yield Daemon(
            settings, clock, emit, channels, store, work, health, told, contexts, hosting, found, chores, works.nights
        )


def _wake(homes: Sequence[Home]) -> None:
    for home in homes:
        home.bell.ring()


def _store(
    settings: Settings, clock: Clock, emit: Emit, *, kind: str, workspace: str, on_accepted: Callable[[str], None]
) -> AbstractAsyncContextManager[Store]:
    return open_store(
        settings.database_path,
        clock,
        emit,
        soul=settings.name,
        workspace=workspace,
        kind=kind,
        version=daemon.__version__,
        lease=settings.lease,
        on_accepted=on_accepted,
        most_waiting=settings.most_waiting,
    )


def _on_accepted(bells: Sequence[Bell], interrupts: Interrupts) -> Callable[[str], None]:
    def accepted(conversation: str) -> None:
        interrupts.call(conversation)
        for bell in bells:
            bell.ring()

    return accepted


async def _look_again(
    wakes: Iterable[Callable[[], None]], interrupts: Interrupts, store: Store, hosting: Hosting, clock: Clock
) -> None:
    """Begin the work that other processes stored. Raises StoreError."""
    await clock.sleep(_FIRST_GO_S)
    for wake in wakes:
        wake()
    await interrupts.look(lambda one: store.conversations.has_new_messages(ConversationKey.parse(one)))
    await hosting.refresh()


@dataclass(frozen=True, slots=True)
class _Shared:
    """The parts that all souls of a daemon share."""

    homes: Sequence[Home]
    news: StoreNews
    eyes: Eyes
    library: FolderLibrary
    toolbox: Toolbox
    surfacing: Surfacing
    reasons: Reasons


def _library(settings: Settings, store: Store, meanings: Meanings, clock: Clock, emit: Emit) -> FolderLibrary:
    index = LibraryIndex(store.database, clock, meanings.meaning)
    tell = partial(store.awakenings.perceive, HouseSense.LIBRARY)
    return FolderLibrary(settings.library, index, clock, emit, open_to_all=settings.library_public, tell=tell)


def _forgetting(settings: Settings, store: Store, clock: Clock, emit: Emit, news: StoreNews) -> ForgettingPeople:
    return ForgettingPeople(store.database, clock, emit, settings.home, settings.index_folder, ring=news.tell)


def _chores(
    settings: Settings,
    store: Store,
    library: FolderLibrary,
    clock: Clock,
    emit: Emit,
    *,
    news: StoreNews,
    meanings: Meanings,
    eyes: Eyes,
) -> dict[str, Chore]:
    prunes = Duty(store.database, clock, "pruning", every_s=PRUNED_EVERY_S)
    days = {name: getattr(settings, name) for name in SETTINGS}
    return {
        "library": library.keep_indexed,
        "vectors": meanings.keep,
        "pictures": eyes.keep,
        "write-ahead log": partial(keep_log_small, store.database, clock, emit),
        "wiping": partial(tidy_periodically, store.database, clock, emit),
        "forgetting": _forgetting(settings, store, clock, emit, news).run,
        "erasing what passes": partial(
            erase_what_passes, store.database, clock, emit, silence_ms=int(settings.visit_silence * 1000)
        ),
        "mirror": partial(_mirror, settings, store, clock, emit),
        "pruning": partial(prune_periodically, store.database, days, clock, emit, prunes.turn),
    }


async def _mirror(settings: Settings, store: Store, clock: Clock, emit: Emit) -> None:
    while not settings.mirror and not await in_background(partial(mirrors_in, settings.home)):
        await clock.sleep(_NO_MIRROR_S)
    mirror = await in_background(_mirrors)
    await mirror(store.database, settings.home, settings.mirror, clock, emit).run()


def _mirrors() -> "type[Mirror]":
    from daemon.memory.passport.mirror import Mirror

    return Mirror


def _services(
    settings: Settings,
    clock: Clock,
    emit: Emit,
    shared: _Shared,
    channels: Channels,
    *,
    store: Store,
    soul: Callable[[], Soul],
    llm: LLM,
    at_work: SoulAtWork,
) -> CycleServices:
    return CycleServices(
        llm=llm,
        channels=channels,
        clock=clock,
        emit=emit,
        soul=soul,
        processes=PROCESSES,
        till=build_till(settings, store, soul, clock, emit),
        conversations=store.conversations,
        commits=store.commits,
        turns=store.turns,
        user_models=store.user_models,
        learning=store.learning,
        soul_states=store.soul_states,
        qualia=store.qualia,
        process_memories=store.process_memories,
        episodes=store.episodes,
        stream=store.stream,
        minds=store.minds,
        zones=store.zones,
        senses=shared.eyes.senses,
        file_sensing=shared.eyes.sensing,
        model_habits=store.model_habits,
        triage=Triage(partial(admit, channels, store.events), clock, emit, stale_after=settings.stale_after),
        timing=_timing(settings),
        link_hosts=settings.link_hosts,
        capabilities=_capabilities(settings, channels.main, store, shared.library, shared.toolbox, clock),
        limits=partial(limits_of, settings),
        tick_budget=partial(tick_budget_of, settings),
        quiet_hours=QuietHours.parse(settings.quiet_hours),
        known=store.known,
        standing=store.standing,
        forgetting=_forgetting(settings, store, clock, emit, shared.news),
        tells_of_memory=settings.tell_of_memory,
        surfacing=shared.surfacing,
        reasons=shared.reasons,
        contexts=store.contexts,
        shared_keys=settings.shared_contexts,
        news=shared.news,
        wake=partial(_wake, shared.homes),
        pairings=store.pairings,
        asking=SessionQuestions(store.questions, store.sessions, store.bindings, clock, soul().name),
        at_work=at_work,
        notes=SoulNotes(store.notes, clock, soul().name, souls_in(shared.homes), NoteBudget(settings.pair_hourly)),
        events=store.events,
    )


def _capabilities(  # noqa: PLR0917 - one of each
    settings: Settings, channel: Channel, store: Store, library: FolderLibrary, toolbox: Toolbox, clock: Clock
) -> Capabilities:
    return Capabilities(
        library=library,
        toolbox=toolbox,
        approvals=store.approvals,
        may_intend=lambda user, planned: store.intentions.has_room(settings.schedule_max, user, planned),
        intended=store.intentions.waiting,
        find_room=channel.find_room,
        approvers=settings.approvers,
        admins=settings.who_are_admins,
        approval_seconds=settings.approval_seconds,
        own_memory=partial(own_memory, store.known),
        own_things=store.own_things,
        open_library=library.open_part(),
        shared_room=channel.shared_room,
        most_intentions=settings.schedule_max,
    )


def _timing(settings: Settings) -> Timing:
    return Timing(
        visit_timeout_ms=int(settings.visit_silence * 1000),
        dormancy_timeout_ms=int(settings.dormant_after * 1000),
        learning_lull_ms=int(min(settings.learn_after, settings.visit_silence) * 1000),
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
