"""A channel that keeps posts in memory and fails as it is told to, for the courier and the dispatcher."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports import DraftLog, FoundPost, GateDecision, Intake, Post, Room, Speech, ThreadMessage


class PostOffice:
    """Implements `Channel` as far as posts go; `answers` are raised or returned in turn, then all succeeds."""

    name = "post office"

    def __init__(self) -> None:
        self.posted: list[Post] = []
        self.history: dict[str, FoundPost] = {}
        self.looked_up: list[Post] = []
        self.answers: list[Exception] = []
        self.lookups: list[Exception] = []
        self.hold: asyncio.Event | None = None
        self._grew = asyncio.Event()

    async def deliver(self, post: Post) -> str:
        if self.hold is not None:
            await self.hold.wait()
        if self.answers:
            raise self.answers.pop(0)
        self.posted.append(post)
        self._grew.set()
        ts = f"{len(self.posted)}.0"
        self.history[post.key] = FoundPost(ts, finished=True)
        return ts

    async def until_posted(self, number: int) -> list[Post]:
        """Wait for so many posts, and return all."""
        while len(self.posted) < number:
            self._grew.clear()
            await self._grew.wait()
        return self.posted

    async def find_room(self, contact: str) -> Room:
        return Room(contact, Place.PRIVATE_CHANNEL, Audience(AudienceKind.CHANNEL, contact))

    async def find(self, post: Post) -> FoundPost | None:
        self.looked_up.append(post)
        if self.lookups:
            raise self.lookups.pop(0)
        return self.history.get(post.key)

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        ready.set()

    def healthy(self) -> bool:
        return True

    async def admit(self, perception: Perception) -> GateDecision:
        return GateDecision(admitted=True)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[None]:
        yield

    def speak(self, perception: Perception, drafts: DraftLog) -> Speech:
        raise NotImplementedError

    def split(self, reply: str, conversation: ConversationKey) -> tuple[str, ...]:
        return (reply,)

    def reply_to(self, perception: Perception) -> str:
        return ""

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        return ()
