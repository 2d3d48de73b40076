"""Several channels as one: HTTP conversations go to the HTTP channel, all others to the main channel."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from daemon.core.concurrency import alongside
from daemon.core.home import HomePage
from daemon.core.links import Trusted
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports.channel import Channel, LinkedMessages, Offers, Room, ThreadMessage
from daemon.core.ports.files import SharedFile
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.intake import Intake
from daemon.core.ports.posts import AttachedReply, FoundPost, Post
from daemon.core.ports.speech import DraftLog, Speech
from daemon.core.room_ways import ManagedRoom
from daemon.core.sentences import Words


class SeveralChannels:
    """Implements `Channel` by passing each call to the channel that the conversation names.

    `further` channels are chosen where a conversation's `channel` is their `name`, or one that `also` gives them. The
    `main` one takes all other conversations, finds rooms, and is meant by health and closing.
    """

    def __init__(self, main: Channel, *further: Channel, **also: Channel) -> None:
        self.name = main.name
        self._main = main
        self._further = {channel.name: channel for channel in further}
        self._by_name = self._further | also

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`; all channels listen at once, and `ready` is set once each of them is ready."""
        further_ready = [asyncio.Event() for _ in self._further]
        main_ready = asyncio.Event()

        async def announce() -> None:
            for event in (*further_ready, main_ready):
                await event.wait()
            ready.set()

        listening = (
            channel.listen(intake, event) for channel, event in zip(self._further.values(), further_ready, strict=True)
        )
        async with alongside(*listening, announce()):
            await self._main.listen(intake, main_ready)

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return self._main.healthy()

    async def close(self) -> None:
        """See `Channel.close`; clients of further channels close their own requests."""
        await self._main.close()

    def trouble(self) -> str:
        """See `Channel.trouble`."""
        return self._main.trouble()

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`."""
        return await self._of(perception.conversation).admit(perception)

    async def readers(self, perception: Perception) -> Readers:
        """See `Channel.readers`."""
        return await self._of(perception.conversation).readers(perception)

    def thinking(self, perception: Perception) -> AbstractAsyncContextManager[Callable[[str], None]]:
        """See `Channel.thinking`."""
        return self._of(perception.conversation).thinking(perception)

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        """See `Channel.speak`."""
        return self._of(perception.conversation).speak(perception, drafts, trusted, grows=grows)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """See `Channel.split`."""
        return self._of(conversation).split(reply, conversation, trusted)

    def attach(self, reply: str, key: str, conversation: ConversationKey, words: Words) -> AttachedReply:
        """See `Channel.attach`."""
        return self._of(conversation).attach(reply, key, conversation, words)

    def reply_to(self, perception: Perception) -> str:
        """See `Channel.reply_to`."""
        return self._of(perception.conversation).reply_to(perception)

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; only the main channel has rooms."""
        return await self._main.find_room(contact)

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`."""
        return await self._of(post.conversation).deliver(post)

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`."""
        return await self._of(post.conversation).find(post)

    async def whisper(self, conversation: ConversationKey, person: str, text: str, *, thread: str = "") -> bool:
        """See `Channel.whisper`."""
        return await self._of(conversation).whisper(conversation, person, text, thread=thread)

    def offers(self, conversation: ConversationKey) -> Offers:
        """See `Channel.offers`."""
        return self._of(conversation).offers(conversation)

    def waits_for(self, command: str) -> bool:
        """See `Channel.waits_for`; only the main channel has commands."""
        return self._main.waits_for(command)

    async def answer_command(self, command: str, parts: Sequence[str]) -> bool:
        """See `Channel.answer_command`."""
        return await self._main.answer_command(command, parts)

    async def shared_room(self, person: str, name: str) -> Room:
        """See `Channel.shared_room`; only the main channel has channels to share."""
        return await self._main.shared_room(person, name)

    async def show_in_channel(self, post: Post) -> None:
        """See `Channel.show_in_channel`."""
        await self._of(post.conversation).show_in_channel(post)

    async def show_home(self, person: str, page: HomePage) -> None:
        """See `Channel.show_home`; only the main channel has one."""
        await self._main.show_home(person, page)

    async def managed_rooms(self, person: str) -> tuple[ManagedRoom, ...]:
        """See `Channel.managed_rooms`; only the main channel has channels to manage."""
        return await self._main.managed_rooms(person)

    async def name_session(self, conversation: ConversationKey, thread: str, title: str) -> None:
        """See `Channel.name_session`."""
        await self._of(conversation).name_session(conversation, thread, title)

    async def has_member(self, conversation: ConversationKey, account: str) -> bool:
        """See `Channel.has_member`."""
        return await self._of(conversation).has_member(conversation, account)

    async def permalink(self, conversation: ConversationKey, ts: str) -> str:
        """See `Channel.permalink`."""
        return await self._of(conversation).permalink(conversation, ts)

    async def language_of(self, person: str) -> str:
        """See `Channel.language_of`; only the main channel knows its users' languages."""
        return await self._main.language_of(person)

    async def names_of(self, ids: Collection[str]) -> Mapping[str, str]:
        """See `Channel.names_of`; only the main channel knows its users' names."""
        return await self._main.names_of(ids)

    async def thread_before(self, perception: Perception, limit: int) -> tuple[ThreadMessage, ...]:
        """See `Channel.thread_before`."""
        return await self._of(perception.conversation).thread_before(perception, limit)

    async def said_since(self, perception: Perception, ts: str) -> tuple[ThreadMessage, ...]:
        """See `Channel.said_since`."""
        return await self._of(perception.conversation).said_since(perception, ts)

    async def linked(self, perception: Perception, readers: Readers) -> tuple[LinkedMessages, ...]:
        """See `Channel.linked`."""
        return await self._of(perception.conversation).linked(perception, readers)

    async def described(self, conversation: ConversationKey, file: SharedFile) -> SharedFile:
        """See `Channel.described`."""
        return await self._of(conversation).described(conversation, file)

    async def fetch(self, conversation: ConversationKey, file: SharedFile) -> bytes:
        """See `Channel.fetch`."""
        return await self._of(conversation).fetch(conversation, file)

    def _of(self, conversation: ConversationKey) -> Channel:
        return self._by_name.get(conversation.channel, self._main)
