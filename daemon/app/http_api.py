"""Hangs the HTTP door into the house: who speaks behind it, and what it needs of memory.db once that is open."""

from daemon.app.lifecycle import Daemon
from daemon.channels.http.channel import HttpChannel
from daemon.channels.http.daemon_side import Backing
from daemon.channels.several import SeveralChannels
from daemon.core.config import Settings
from daemon.core.perception import ConversationKey
from daemon.core.ports import Clock, Emit
from daemon.core.telemetry.metrics import Metrics
from daemon.memory.admin.replies import Backlog, StoredReplies
from daemon.soul import Souls


def http_door(
    settings: Settings, clock: Clock, emit: Emit, *, souls: Souls, workspace: str, metrics: Metrics
) -> HttpChannel:
    """The door, behind which the main soul speaks; it has to be connected before anybody listens."""

    def personality(mode: str) -> str | None:
        soul = souls.current(souls.main)
        if not mode:
            return soul.personality
        found = soul.mode(mode)
        return found.personality if found else None

    return HttpChannel(
        settings, clock, emit, soul=souls.main, workspace=workspace, personality=personality, metrics=metrics
    )


def connect(door: HttpChannel, built: Daemon, channel: SeveralChannels, souls: Souls, workspace: str) -> None:
    """Give the door what it needs of a daemon that is put together."""
    backlog = Backlog(built.store.database, built.clock, soul=souls.main, workspace=workspace)

    async def unready() -> tuple[str, ...]:
        await backlog.waiting()  # memory.db answers, or this raises
        return () if channel.healthy() else (f"not connected to {channel.name}",)

    async def enqueue(conversation: ConversationKey) -> tuple[str, ...] | None:
        queued = await backlog.enqueue(conversation, souls.current(souls.main).subprocesses)
        built.dispatcher.look_again()
        return queued

    door.connect(Backing(StoredReplies(built.store.database), enqueue, unready, backlog.waiting))
