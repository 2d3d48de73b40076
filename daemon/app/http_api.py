"""The parts of an assembled daemon that the HTTP API works with."""

from collections.abc import Awaitable, Callable
from functools import partial

from daemon.app.lifecycle import Daemon
from daemon.app.side_calls import paid_speech
from daemon.channels.http.daemon_side import DaemonSide
from daemon.core.contexts import ContextState
from daemon.core.perception import Audience, AudienceKind, ConversationKey
from daemon.core.ports.channel import Room
from daemon.core.ports.services import GateDecision
from daemon.core.sessions import talk_of
from daemon.memory.admin.replies import Backlog, StoredReplies
from daemon.memory.shared.keys import Keys
from daemon.memory.shared.thread_bindings import CompanionStore
from daemon.shared.asking import Companions, MachinePairing, WorkspaceMemory
from daemon.shared.contexts import RoomEvents, push_reading
from daemon.shared.session_context import ContextDoor
from daemon.shared.sessions import CodeSessions
from daemon.soul import Soul, Souls


def side_of(
    built: Daemon,
    souls: Souls,
    workspace: str,
    *,
    standing_of: Callable[[str], Awaitable[GateDecision]],
    room_of: Callable[[str], Awaitable[Room]] | None = None,
) -> DaemonSide:
    """Return the parts that the HTTP channel needs. Machines and sessions talk with the main soul.

    `standing_of` asks the gate about the owner of a key, `room_of` finds the owner's direct messages, by default on the
    main channel.
    """
    store, database, clock, emit, news = built.store, built.store.database, built.clock, built.emit, built.contexts.news
    wake, channel = built.dispatcher.look_again, built.channels.main
    backlog = Backlog(database, clock, soul=souls.main, workspace=workspace)
    replies, soul = StoredReplies(database), partial(souls.current, souls.main)
    everybody = Audience(AudienceKind.WORKSPACE, workspace)

    async def unready() -> tuple[str, ...]:
        await backlog.waiting()  # raises unless memory.db answers
        return () if channel.healthy() else (f"not connected to {channel.name}",)

    async def enqueue(conversation: ConversationKey) -> tuple[str, ...] | None:
        queued = await backlog.enqueue(conversation, soul().subprocesses)
        wake()
        return queued

    def personality(mode: str) -> str | None:
        found = soul().mode(mode) if mode else soul()
        return found.personality if found else None

    sessions = _sessions(built, soul, everybody, standing_of, room_of or channel.find_room)
    return DaemonSide(
        settings=built.settings,
        clock=clock,
        emit=emit,
        soul=souls.main,
        workspace=workspace,
        personality=personality,
        find_reply=replies.find,
        last_name=replies.last_name,
        enqueue=enqueue,
        unready=unready,
        queues=backlog.waiting,
        sessions=sessions,
        contexts=ContextDoor(built.contexts, everybody),
        has_neighbours=built.hosting.has_neighbours,
        memory=WorkspaceMemory(
            database, clock, built.surfacing, soul=souls.main, workspace=workspace, audience_of=sessions.audience
        ),
        pairing=MachinePairing(store.pairings, clock, emit, news, standing_of=standing_of, soul=soul),
        events=RoomEvents(store.events, built.settings.home, emit, wake),
        push_reading=partial(push_reading, store.senses, emit, wake),
        pay_speech=paid_speech(built.settings, database, clock, emit),
    )


def _sessions(
    built: Daemon,
    soul: Callable[[], Soul],
    everybody: Audience,
    standing_of: Callable[[str], Awaitable[GateDecision]],
    room_of: Callable[[str], Awaitable[Room]],
) -> CodeSessions:
    store, database, clock, news = built.store, built.store.database, built.clock, built.contexts.news
    workspace, wake = everybody.id, built.dispatcher.look_again

    async def shared() -> list[ContextState]:
        keys = dict.fromkeys((*built.settings.shared_contexts, *soul().shared_contexts))
        return [one for one in await store.contexts.these(tuple(keys)) if one.audience == everybody]

    return CodeSessions(
        store.sessions,
        Keys(database),
        clock,
        built.emit,
        standing_of=standing_of,
        room_of=room_of,
        contexts=shared,
        soul=soul,
        talk_of=partial(talk_of, soul().name, workspace),
        questions=store.questions,
        bindings=store.bindings,
        companions=Companions(CompanionStore(database, workspace), store.questions, news, clock, wake),
        news=news,
        wake=wake,
    )
