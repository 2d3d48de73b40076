"""Slack as one `Channel`: the parts of this package joined, around one client and one identity."""

import asyncio
import contextlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

from daemon.channels.slack.access.gate import SlackGate
from daemon.channels.slack.access.people import Directory
from daemon.channels.slack.access.rooms import Rooms
from daemon.channels.slack.access.thread_context import Overhearing
from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.api.identity import Identity
from daemon.channels.slack.api.preflight import check_tokens, establish
from daemon.channels.slack.incoming.catch_up import CatchUp
from daemon.channels.slack.incoming.connection import PING_INTERVAL, Connection, Link
from daemon.channels.slack.incoming.event_reader import Reader, reader_for
from daemon.channels.slack.incoming.listener import Listener, bolt_app
from daemon.channels.slack.incoming.supervisor import Supervisor
from daemon.channels.slack.outgoing.appearance import Face, Faces
from daemon.channels.slack.outgoing.delivery import SlackDelivery
from daemon.channels.slack.outgoing.drafts import Drafts
from daemon.channels.slack.outgoing.markup import inert
from daemon.channels.slack.outgoing.speech import SlackSpeech, Where
from daemon.channels.slack.outgoing.splitting import split
from daemon.channels.slack.outgoing.status_line import StatusLine
from daemon.core.concurrency import alongside
from daemon.core.config import Settings
from daemon.core.perception import ConversationKey, Modality, Perception, Place
from daemon.core.ports import (
    Clock,
    DraftLog,
    Emit,
    FoundPost,
    GateDecision,
    Intake,
    Post,
    Room,
    Speech,
    Task,
    ThreadMessage,
)

_STORING: Final = 3.0  # seconds that arrivals under way get at the end
_PEOPLE: Final = ("U", "W")  # what the ids of people begin with; a bot without a user has only a B


class SlackChannel:
    """Implements `Channel` for one workspace.

    `soul_of` names the soul of a channel's id where it isn't the main one (`settings.name`), which also has all DMs;
    `settings.souls` are the others. `faces` gives a soul's own name and icon, None for the app's.
    """

    name = "slack"

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        emit: Emit,
        *,
        ping_interval: float = PING_INTERVAL,
        soul_of: Callable[[str], str] | None = None,
        faces: Callable[[str], Face | None] | None = None,
    ) -> None:
        self._ping_interval = ping_interval
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._soul_of = soul_of
        self._faces = Faces(faces, emit)
        self._client = SlackClient(settings, clock, emit)
        self._reader: Reader | None = None
        self._supervisor: Supervisor | None = None
        self._drafts = Drafts(clock)
        self._gate = SlackGate(Directory(self._client, clock), settings, clock, self._identity)
        self._delivery = SlackDelivery(self._client, self._drafts, self._faces, self._is_own, emit)
        self._status = StatusLine(self._client, clock, emit)
        self._overhearing = Overhearing(self._client, self._gate, emit)
        self._rooms = Rooms(self._client, self._gate, settings, lambda: self._reader)

    async def introduce(self) -> Identity:
        """Learn who we are in which workspace; waits while Slack can't be reached. Raises ConfigError on bad tokens."""
        return (await self._introduced()).identity

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`; what is being stored when it is cancelled is stored to the end."""
        reader, settings = await self._introduced(), self._settings
        gap = asyncio.Event()
        listener = Listener(reader, intake, self._emit, gap.set)
        app = bolt_app(listener, reader, self._client, self._emit)
        catch_up = CatchUp(self._client, reader, intake, settings, self._clock, self._emit)
        _, app_token = check_tokens(settings)
        connections = tuple(
            Connection(Link(number, app_token, self._ping_interval), app, self._client, self._clock, self._emit)
            for number in range(settings.slack_sockets)
        )
        self._supervisor = Supervisor(connections, catch_up.run, catch_up.confirm, self._clock, self._emit, gap)
        try:
            async with alongside(self._status.run()):
                await self._supervisor.run(ready)
        finally:
            self._supervisor = None
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_STORING):
                    await listener.idle()

    async def close(self) -> None:
        """Close the HTTP session, after the last delivery."""
        await self._client.close()

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return self._supervisor is not None and self._supervisor.healthy()

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`."""
        return await self._gate.admit(perception)

    def thinking(self, perception: Perception) -> AbstractAsyncContextManager[None]:
        """See `Channel.thinking`; outside threads there is no place to show it."""
        thread = self.reply_to(perception)
        return self._status.shown(perception.conversation.channel, thread) if thread else contextlib.nullcontext()

    def speak(self, perception: Perception, drafts: DraftLog) -> Speech:
        """See `Channel.speak`; outside threads, and for whom Slack streams to nobody, it shows nothing."""
        conversation, thread = perception.conversation, self.reply_to(perception)
        named = perception.place is not Place.DM
        if not thread or (named and not perception.author.startswith(_PEOPLE)):
            return _Unseen()
        where = Where(
            conversation.channel,
            thread,
            recipient_team=conversation.workspace if named else "",
            recipient=perception.author if named else "",
            face=self._faces.of(conversation.soul),
            status=partial(self._status.say, conversation.channel, thread),
        )
        return SlackSpeech(self._client, where, drafts, self._drafts, self._clock, self._emit)

    def split(self, reply: str, conversation: ConversationKey) -> tuple[str, ...]:
        """See `Channel.split`; parts within what a markdown block takes."""
        return split(inert(reply))

    def reply_to(self, perception: Perception) -> str:
        """See `Channel.reply_to`; every message can root a thread, in DMs too (Slack: agent view), but nothing else."""
        root = perception.ts if perception.modality is Modality.WORDS else ""
        return perception.conversation.thread or root

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`."""
        return await self._rooms.find_room(contact)

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`."""
        return await self._delivery.deliver(post)

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`."""
        return await self._delivery.find(post)

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """See `Channel.thread_before`; empty also when Slack can't be read just now."""
        return await self._overhearing.before(perception, self._reader, limit) if self._reader else ()

    async def _introduced(self) -> Reader:
        if self._reader is None:
            settings = self._settings
            identity = await establish(self._client, settings, self._clock, self._emit)
            self._faces.meet(identity)
            self._reader = reader_for(
                settings.name,
                identity,
                settings.allow_bots,
                settings.members,
                soul_of=self._soul_of,
                others=settings.souls,
            )
        return self._reader

    def _identity(self) -> Identity | None:
        return self._reader.identity if self._reader else None

    def _is_own(self) -> Callable[[dict[str, Any]], bool] | None:
        return self._reader.is_own if self._reader else None


class _Unseen:
    """A `Speech` where Slack has no place to show one: what is said comes whole, with the delivery."""

    async def say(self, text: str) -> None:
        """Show nothing."""

    async def show(self, task: Task) -> None:
        """Show nothing."""

    async def settle(self) -> None:
        """Wait for nothing."""
