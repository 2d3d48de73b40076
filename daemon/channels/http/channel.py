"""HTTP as one `Channel`, with the inbox, cycle and outbox of every channel. The streamed text is a draft."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

import daemon
from daemon.channels.http.chat import ESPEAK, NAME, Chat, Tts
from daemon.channels.http.contexts import ContextPages
from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.events import EventPages
from daemon.channels.http.mcp import McpPage, SessionTools
from daemon.channels.http.openapi import description
from daemon.channels.http.pairing import HttpIntake, PairPages, SessionTalk
from daemon.channels.http.request import Auth, bearer_token
from daemon.channels.http.routes import routes_of
from daemon.channels.http.server import ApiServer, DaemonPages
from daemon.channels.http.sessions import SessionPages
from daemon.channels.http.stream import LiveReplies
from daemon.core.config import Settings
from daemon.core.errors import NotDelivered, StoreError
from daemon.core.last_line import LastLine
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports import Intake
from daemon.core.ports.channel import Channel
from daemon.core.ports.library import FoundPost, Post
from daemon.core.ports.services import Clock, DraftLog, Emit, GateDecision, Speech, Task
from daemon.core.sessions import DOOR, THE_ADMIN, KeyOwner, key_of
from daemon.core.telemetry.metrics import Metrics
from daemon.core.text import Trusted

ROUTES: Final = routes_of(Chat, Tts, EventPages, SessionPages, PairPages, ContextPages, McpPage, DaemonPages)


@cache
def _description() -> Mapping[str, object]:
    return description(ROUTES, daemon.__version__)


class HttpChannel(Channel):
    """The channel for programs that hold the bearer token. Each session is a separate conversation.

    Call `connect` before `listen`, and `close` after the last delivery. With the HTTP API switched off it serves no
    requests, but older conversations still end properly.
    """

    name = NAME

    def __init__(self, settings: Settings, clock: Clock, emit: Emit, metrics: Metrics, *, espeak: str = ESPEAK) -> None:
        self.url = ""
        self._settings = settings
        self._clock = clock
        self._emit = emit
        self._metrics = metrics
        self._espeak = espeak
        self._live = LiveReplies()
        self._daemon_side: DaemonSide | None = None
        self._server: ApiServer | None = None
        self._pages: ContextPages | None = None
        self._of_sessions: SessionPages | None = None

    def connect(self, side: DaemonSide) -> None:
        self._daemon_side = side

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """Serve until cancelled. Replies in progress go on after that. `url` is set before `ready`.

        Raises ConfigError if the address is in use or the token can't be stored.
        """
        if self._settings.http:
            token = await asyncio.to_thread(bearer_token, self._settings, self._emit)
            self._server = server = self._new_server(intake, token)
            self.url = await server.open(self._settings.http_port, instead=self._side.has_neighbours)
        ready.set()
        try:
            if self._of_sessions is not None:
                await LastLine(self._clock, self._emit).keep("companions", self._of_sessions.polls.watch)
            await asyncio.Event().wait()  # the server's own tasks serve the requests
        finally:
            if self._server is not None and self._pages is not None and self._of_sessions is not None:
                self._server.stop_listening()
                self._pages.close()
                self._of_sessions.close()

    async def close(self) -> None:
        """Send every waiting client a last event, and close every connection."""
        self._live.close()
        if self._server is not None:
            await self._server.close()

    def healthy(self) -> bool:
        return bool(self.url) or not self._settings.http

    async def admit(self, perception: Perception) -> GateDecision:
        """Admit the author: the token was checked with the request, and users name themselves.

        The owner of a session's key is checked again, since the key may have been revoked.
        """
        if perception.conversation.channel == DOOR:
            owner = await self._owner(perception)
            if owner is None:
                return GateDecision(admitted=False, reason="its key is in force no more")
            return GateDecision(admitted=True, name=perception.name, outsider=owner.outsider)
        name = perception.name or await self._side.last_name(perception.conversation)
        return GateDecision(admitted=True, name=name)

    async def readers(self, perception: Perception) -> Readers:
        """Return the readers. The holder of the token counts as a full member, a session as its owner."""
        if perception.conversation.channel == DOOR:
            return await self._readers_of_session(perception)
        return Readers(perception.audience, members_only=True)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[Callable[[str], None]]:
        """End the wait of the clients, who then look up the result. There may be no reply."""
        try:
            yield lambda _: None  # programs are shown tasks only
        finally:
            self._live.end(perception.conversation)

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """Begin a draft that is not logged: it ends with the process and is never taken for the reply."""
        self._live.begin(perception.conversation, perception.ts)
        return _HttpSpeech(self._live, perception.conversation)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        text = reply.strip()
        return (text,) if text else ()

    def reply_to(self, perception: Perception) -> str:
        return perception.ts

    async def deliver(self, post: Post) -> str:
        self._live.end(post.conversation)
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        """Return the post as delivered, since a stored reply can be fetched at any time."""
        return FoundPost(await self.deliver(post), finished=True)

    async def _readers_of_session(self, perception: Perception) -> Readers:
        """Return the session's owner as the audience. The owner's DMs are included only if the owner chose so."""
        try:
            owner = await self._owner(perception)
        except (NotDelivered, StoreError):
            owner = None
        members_only = owner is not None and not owner.outsider
        apart = owner is None or not owner.direct
        return Readers(perception.audience, members_only=members_only, apart=apart)

    async def _owner(self, perception: Perception) -> KeyOwner | None:
        """Return the current owner of the author's session. Raises NotDelivered and StoreError."""
        key = key_of(perception.author)
        return None if key is None else await self._side.sessions.still(KeyOwner(key) if key else THE_ADMIN)

    @property
    def _side(self) -> DaemonSide:
        if self._daemon_side is None:
            raise NotDelivered("the HTTP channel is not connected to the daemon yet")
        return self._daemon_side

    def _new_server(self, intake: Intake, token: str) -> ApiServer:
        side = self._side
        stored = HttpIntake(side, intake)
        self._pages, self._of_sessions = ContextPages(side), SessionPages(side)
        pages = (
            Chat(side, stored, self._live),
            Tts(side, self._espeak),
            EventPages(side),
            self._of_sessions,
            PairPages(side),
            self._pages,
            McpPage(SessionTools(side, SessionTalk(side, stored, self._live))),
            DaemonPages(side, self._metrics, _description),
        )
        host = self._settings.http_host
        auth = Auth(token, (host, *self._settings.http_names), side.sessions.owner)
        return ApiServer(pages, host, auth, self._metrics, self._emit)


class _HttpSpeech:
    """A reply in progress: the `Speech` of the HTTP API."""

    def __init__(self, live: LiveReplies, conversation: ConversationKey) -> None:
        self._live = live
        self._conversation = conversation
        self._settled = False
        self.shown = ""

    async def say(self, text: str) -> None:
        if not self._settled:
            self.shown += text
            self._live.say(self._conversation, text)

    async def show(self, task: Task) -> None:
        if not self._settled:
            self._live.show(self._conversation, task)

    async def settle(self) -> None:
        self._settled = True
