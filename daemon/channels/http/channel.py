"""HTTP as one `Channel`: the same inbox, cycle and outbox as everywhere; what it shows meanwhile is a draft."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from daemon.channels.http.chat import NAME, Chat
from daemon.channels.http.daemon_side import Backing
from daemon.channels.http.endpoints import Desk, Personality
from daemon.channels.http.live_replies import Hub
from daemon.channels.http.routes import Operation
from daemon.channels.http.server import Door
from daemon.channels.http.token import bearer_token
from daemon.channels.http.tts import ESPEAK, Voice
from daemon.core.config import Settings
from daemon.core.errors import ChannelRefused, NotDelivered
from daemon.core.perception import ConversationKey, Perception
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
from daemon.core.telemetry.metrics import Metrics


class HttpChannel:
    """Implements `Channel` for programs that hold the bearer token; each session is a conversation of its own.

    `personality` gives the soul's markdown by mode. `connect` comes before `listen`, `close` after the last delivery.
    Where the settings leave the door shut, it listens to nobody but still brings conversations begun before to their
    end.
    """

    name = NAME

    def __init__(
        self,
        settings: Settings,
        clock: Clock,
        emit: Emit,
        *,
        soul: str,
        workspace: str,
        personality: Personality,
        metrics: Metrics,
        espeak: str = ESPEAK,
    ) -> None:
        self.url = ""
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._soul, self._workspace = soul, workspace
        self._personality = personality
        self._metrics = metrics
        self._espeak = espeak
        self._hub = Hub()
        self._backing: Backing | None = None
        self._door: Door | None = None

    def connect(self, backing: Backing) -> None:
        """The house behind the door stands."""
        self._backing = backing

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`; answers under way go on when it is cancelled. `url` says where, once `ready` is set.

        Raises ConfigError when the address can't be had or the token can't be kept.
        """
        if self._settings.http:
            token = await asyncio.to_thread(bearer_token, self._settings, self._emit)
            self._door = door = self._made(intake, token)
            self.url = await door.open(self._settings.http_port)
        ready.set()
        try:
            await asyncio.Event().wait()  # requests are served by tasks of the server's own
        finally:
            if self._door is not None:
                self._door.stop_listening()

    async def close(self) -> None:
        """Tell whoever still waits that the house closes, and end every connection."""
        self._hub.close()
        if self._door is not None:
            await self._door.close()

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return bool(self.url) or not self._settings.http

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; the token was asked for at the door, and the name is what they call themselves."""
        conversation = perception.conversation
        name = perception.name or await self._services().replies.last_name(conversation)
        return GateDecision(admitted=True, name=name)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[None]:
        """See `Channel.thinking`; who waits learns of an end without words from this."""
        try:
            yield
        finally:
            self._hub.end(perception.conversation)

    def speak(self, perception: Perception, drafts: DraftLog) -> Speech:
        """See `Channel.speak`; the draft is not logged: it ends with the process, and nobody takes it for the reply."""
        self._hub.begin(perception.conversation, perception.ts)
        return _HttpSpeech(self._hub, perception.conversation)

    def split(self, reply: str, conversation: ConversationKey) -> tuple[str, ...]:
        """See `Channel.split`; programs take everything whole, and JSON is inert."""
        text = reply.strip()
        return (text,) if text else ()

    def reply_to(self, perception: Perception) -> str:
        """See `Channel.reply_to`."""
        return perception.ts

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; programs ask, they can't be called."""
        raise ChannelRefused("nobody can be written to over HTTP", code="no_room", hint="name a contact in Slack")

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`; the reply stands in memory.db, so it is enough to say that it may be looked up."""
        self._hub.end(post.conversation)
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`; what is kept can be fetched at any time and counts as delivered."""
        return FoundPost(await self.deliver(post), finished=True)

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """See `Channel.thread_before`; nothing is said in a session before its first message."""
        return ()

    def _services(self) -> Backing:
        if self._backing is None:
            raise NotDelivered("the HTTP door has no house behind it yet")
        return self._backing

    def _made(self, intake: Intake, token: str) -> Door:
        backing = self._services()
        chat = Chat(
            self._soul,
            self._workspace,
            intake=intake,
            replies=backing.replies,
            hub=self._hub,
            clock=self._clock,
            emit=self._emit,
        )
        desk = Desk(backing, chat, self._personality, self._metrics)
        voice = Voice(self._settings, self._emit, espeak=self._espeak)
        serves = {
            Operation.CHAT: chat.say,
            Operation.ANSWER: chat.answer,
            Operation.SUBPROCESS: desk.subprocess,
            Operation.PERSONALITY: desk.personality,
            Operation.TTS: voice.read_aloud,
            Operation.HEALTH: desk.health,
            Operation.READINESS: desk.readiness,
            Operation.METRICS: desk.metrics,
            Operation.DESCRIPTION: desk.describe,
        }
        return Door(serves, token, self._settings.http_host, self._metrics, self._emit)


class _HttpSpeech:
    """A reply on its way to whoever listens; implements `Speech`."""

    def __init__(self, hub: Hub, conversation: ConversationKey) -> None:
        self._hub = hub
        self._conversation = conversation
        self._settled = False

    async def say(self, text: str) -> None:
        """See `Speech.say`."""
        if not self._settled:
            self._hub.say(self._conversation, text)

    async def show(self, task: Task) -> None:
        """See `Speech.show`."""
        if not self._settled:
            self._hub.show(self._conversation, task)

    async def settle(self) -> None:
        """See `Speech.settle`."""
        self._settled = True
