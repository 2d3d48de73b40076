"""The HTTP channel: how to build it, and how to connect it to memory.db once that is open."""

from collections.abc import Awaitable, Callable
from functools import partial

from daemon.app.lifecycle import Daemon
from daemon.app.side_calls import paid_speech
from daemon.channels.http.channel import HttpChannel
from daemon.channels.http.daemon_side import DaemonSide, PushReading
from daemon.core.config import Settings
from daemon.core.contexts import ContextState
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.channel import Room
from daemon.core.ports.services import Clock, Emit, GateDecision
from daemon.core.sessions import talk_of
from daemon.core.telemetry.metrics import Metrics
from daemon.memory.admin.replies import Backlog, StoredReplies
from daemon.memory.shared.keys import Keys
from daemon.memory.shared.sessions import SessionStore
from daemon.memory.shared.store import ContextStore
from daemon.memory.shared.thread_bindings import CompanionStore
from daemon.shared.asking import Companions, MachinePairing, WorkspaceMemory
from daemon.shared.contexts import RoomEvents, push_reading
from daemon.shared.session_context import ContextDoor
from daemon.shared.sessions import CodeSessions
from daemon.soul import Souls


def build_http_channel(
    settings: Settings, clock: Clock, emit: Emit, *, souls: Souls, workspace: str, metrics: Metrics
) -> HttpChannel:
    """Build the HTTP channel of the main soul. `connect_http` must follow before it listens."""

    def personality(mode: str) -> str | None:
        soul = souls.current(souls.main)
        if not mode:
            return soul.personality
        found = soul.mode(mode)
        return found.personality if found else None

    return HttpChannel(
        settings, clock, emit, soul=souls.main, workspace=workspace, personality=personality, metrics=metrics
    )


def connect_http(
    http: HttpChannel,
    built: Daemon,
    souls: Souls,
    workspace: str,
    *,
    standing_of: Callable[[str], Awaitable[GateDecision]],
) -> None:
    """Connect the HTTP channel to an assembled daemon. || `standing_of` asks the gate about the owner of a key."""
    channel = built.channels.main
    backlog = Backlog(built.store.database, built.clock, soul=souls.main, workspace=workspace)

    async def unready() -> tuple[str, ...]:
        await backlog.waiting()  # raises unless memory.db answers
        return () if channel.healthy() else (f"not connected to {channel.name}",)

    async def enqueue(conversation: ConversationKey) -> tuple[str, ...] | None:
        queued = await backlog.enqueue(conversation, souls.current(souls.main).subprocesses)
        built.dispatcher.look_again()
        return queued

    sessions = sessions_of(built, souls, workspace, standing_of, channel.find_room)
    memory = memory_of(built, souls, workspace, sessions)
    replies = StoredReplies(built.store.database)
    door = ContextDoor(built.contexts, Audience(AudienceKind.WORKSPACE, workspace))
    http.connect(
        DaemonSide(
            replies.find,
            replies.last_name,
            enqueue,
            unready,
            backlog.waiting,
            sessions,
            door,
            built.hosting.has_neighbours,
            memory,
            pairing_of(built, souls, standing_of),
            events_of(built),
            readings_of(built),
            paid_speech(built.settings, built.store.database, built.clock, built.emit),
        )
    )


def sessions_of(
    built: Daemon,
    souls: Souls,
    workspace: str,
    standing_of: Callable[[str], Awaitable[GateDecision]],
    room_of: Callable[[str], Awaitable[Room]],
) -> CodeSessions:
    database, clock = built.store.database, built.clock
    contexts = ContextStore(database, clock, workspace)

    async def shared() -> list[ContextState]:
        keys = dict.fromkeys((*built.settings.shared_contexts, *souls.current(souls.main).shared_contexts))
        everybody = Audience(AudienceKind.WORKSPACE, workspace)
        return [one for one in await contexts.these(tuple(keys)) if one.audience == everybody]

    def who() -> tuple[str, str]:
        soul = souls.current(souls.main)
        return soul.display_name, soul.personality

    wake = built.dispatcher.look_again
    return CodeSessions(
        SessionStore(database, workspace),
        Keys(database),
        clock,
        built.emit,
        standing_of=standing_of,
        room_of=room_of,
        contexts=shared,
        who=who,
        talk_of=partial(talk_of, souls.main, workspace),
        questions=built.store.questions,
        bindings=built.store.bindings,
        companions=Companions(
            CompanionStore(database, workspace), built.store.questions, built.contexts.news, clock, wake
        ),
        news=built.contexts.news,
        wake=wake,
    )


def memory_of(built: Daemon, souls: Souls, workspace: str, sessions: CodeSessions) -> WorkspaceMemory:
    return WorkspaceMemory(
        built.store.database,
        built.clock,
        built.surfacing,
        soul=souls.main,
        workspace=workspace,
        audience_of=sessions.audience,
    )


def pairing_of(built: Daemon, souls: Souls, standing_of: Callable[[str], Awaitable[GateDecision]]) -> MachinePairing:
    """Build the pairing of machines. Codes are written to the main soul."""
    return MachinePairing(
        built.store.pairings,
        built.clock,
        built.emit,
        built.contexts.news,
        standing_of=standing_of,
        soul=lambda: souls.current(souls.main).display_name,
    )


def events_of(built: Daemon) -> RoomEvents:
    """Build the intake of programs' events. The souls of every daemon on the file look at once."""
    return RoomEvents(built.store.events, built.settings.home, built.emit, built.dispatcher.look_again)


def readings_of(built: Daemon) -> PushReading:
    """Build the intake of programs' readings. The souls of every daemon on the file look at once."""
    return partial(push_reading, built.store.senses, built.emit, built.dispatcher.look_again)
