"""Several channels as one: what belongs to the HTTP door goes there, everything else to the main channel."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar

from daemon.core.concurrency import alongside
from daemon.core.perception import ConversationKey, Perception
from daemon.core.ports import Channel, DraftLog, FoundPost, GateDecision, Intake, Post, Room, Speech, ThreadMessage


class SeveralChannels:
    """Implements `Channel` by handing each call to the channel that the conversation names.

    `doors` are found by their `name`, which is the `channel` of their conversations; `main` takes all others and is the
    one that counts for health.
    """

    def __init__(self, main: Channel, *doors: Channel) -> None:
        self.name = main.name
        self._main = main
        self._doors = {door.name: door for door in doors}
        self._thinking_for: ContextVar[Channel] = ContextVar("thinking_for", default=main)

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`; all listen alongside, and it is ready once each of them is."""
        heard = [asyncio.Event() for _ in self._doors]
        main_ready = asyncio.Event()

        async def announce() -> None:
            for event in (*heard, main_ready):
                await event.wait()
            ready.set()

        doors = (door.listen(intake, event) for door, event in zip(self._doors.values(), heard, strict=True))
        async with alongside(*doors, announce()):
            await self._main.listen(intake, main_ready)

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return self._main.healthy()

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`."""
        return await self._of(perception.conversation).admit(perception)

    @asynccontextmanager
    async def thinking(self, perception: Perception) -> AsyncIterator[None]:
        """See `Channel.thinking`; while it lasts, its channel is the one that splits."""
        channel = self._of(perception.conversation)
        token = self._thinking_for.set(channel)
        try:
            async with channel.thinking(perception):
                yield
        finally:
            self._thinking_for.reset(token)

    def speak(self, perception: Perception, drafts: DraftLog) -> Speech:
        """See `Channel.speak`."""
        return self._of(perception.conversation).speak(perception, drafts)

    def split(self, reply: str) -> tuple[str, ...]:
        """See `Channel.split`; for the channel that this task thinks for: a reply does not say where it goes."""
        return self._thinking_for.get().split(reply)

    def reply_to(self, perception: Perception) -> str:
        """See `Channel.reply_to`."""
        return self._of(perception.conversation).reply_to(perception)

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; people are written to where they are at home."""
        return await self._main.find_room(contact)

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`."""
        return await self._of(post.conversation).deliver(post)

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`."""
        return await self._of(post.conversation).find(post)

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """See `Channel.thread_before`."""
        return await self._of(perception.conversation).thread_before(perception, limit)

    def _of(self, conversation: ConversationKey) -> Channel:
        return self._doors.get(conversation.channel, self._main)
