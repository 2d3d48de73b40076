"""Builds the HTTP channel, and connects it to memory.db once that is open."""

from daemon.app.lifecycle import Daemon
from daemon.channels.http.channel import HttpChannel
from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.several import SeveralChannels
from daemon.core.config import Settings
from daemon.core.perception import ConversationKey
from daemon.core.ports import Clock, Emit
from daemon.core.telemetry.metrics import Metrics
from daemon.memory.admin.replies import Backlog, StoredReplies
from daemon.soul import Souls


def build_http_channel(
    settings: Settings, clock: Clock, emit: Emit, *, souls: Souls, workspace: str, metrics: Metrics
) -> HttpChannel:
    """The channel on which the main soul talks; `connect_http` must follow before it listens."""

    def personality(mode: str) -> str | None:
        soul = souls.current(souls.main)
        if not mode:
            return soul.personality
        found = soul.mode(mode)
        return found.personality if found else None

    return HttpChannel(
        settings, clock, emit, soul=souls.main, workspace=workspace, personality=personality, metrics=metrics
    )


def connect_http(http: HttpChannel, built: Daemon, channel: SeveralChannels, souls: Souls, workspace: str) -> None:
    """Give the HTTP channel its calls into an assembled daemon. `channel` is the one asked about readiness."""
    backlog = Backlog(built.store.database, built.clock, soul=souls.main, workspace=workspace)

    async def unready() -> tuple[str, ...]:
        await backlog.waiting()  # raises unless memory.db answers
        return () if channel.healthy() else (f"not connected to {channel.name}",)

    async def enqueue(conversation: ConversationKey) -> tuple[str, ...] | None:
        queued = await backlog.enqueue(conversation, souls.current(souls.main).subprocesses)
        built.dispatcher.look_again()
        return queued

    replies = StoredReplies(built.store.database)
    http.connect(DaemonSide(replies.find, replies.last_name, enqueue, unready, backlog.waiting))
