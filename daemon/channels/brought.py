"""A channel of another package as a `Channel`: a workspace apart, whose people are strangers in every other one."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from daemon.channels.bare import QuietChannel
from daemon.channels.extended import (
    LINE_ID,
    LONGEST_LINE,
    PERSON,
    ChannelExtension,
    ChannelSurroundings,
    Hear,
    HeardLine,
    LineChannel,
    SaidLine,
)
from daemon.channels.terminal import printable
from daemon.core.errors import ChannelError, ChannelRefused, DeliveryUncertain, NotDelivered, StoreError
from daemon.core.last_line import in_short
from daemon.core.links import Trusted
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place, Readers
from daemon.core.ports.arrivals import Acceptance, NewMessage
from daemon.core.ports.channel import Room
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.intake import Intake
from daemon.core.ports.posts import FoundPost, Post
from daemon.core.text import one_line

_ROOM: Final = "extension"
_TRIES: Final = 8
_OPENS_S: Final = 2.0  # after which a post for a channel that isn't open is tried again
_LONGEST_NAME: Final = 80


class BroughtChannel(QuietChannel):
    """Implements `Channel` for one soul and one channel of another package.

    Its `workspace` is its own (`label` names it in the log): nothing of it is known elsewhere, and nothing of elsewhere
    in it. Who speaks there counts as no member of anything. `is_known` tells whether a line of a conversation, by its
    id, is stored already. What the package raises never leaves it as it is, but for errors of the house's own store.
    """

    def __init__(self, name: str, extension: ChannelExtension, around: ChannelSurroundings) -> None:
        self.name = name
        self.soul = around.soul
        self.workspace = f"{_ROOM}.{around.soul}.{name}"
        self.label = f"{around.soul} on channel {name}"
        self.is_known: Callable[[ConversationKey, str], Awaitable[bool]] = _nothing_is_known
        self._extension, self._around = extension, around
        self._lines: LineChannel | None = None
        self._store_failure: StoreError | None = None
        self._last_ts = 0

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        """See `Channel.listen`. Raises ChannelError when it ends by itself, and StoreError."""
        ready.set()
        try:
            with self._theirs(ChannelError, "failed"):
                self._lines = self._extension.open(self._around)
                hear: Hear = partial(self._hear, intake)
                await self._lines.receive(hear)
        except Exception:
            self._lines = None  # at a stop it stays open: replies under way are sent
            raise
        self._lines = None
        raise ChannelError(f"the channel {self.name!r} stopped by itself", hint="ask its author")

    def healthy(self) -> bool:
        """See `Channel.healthy`."""
        return self._lines is not None

    async def admit(self, perception: Perception) -> GateDecision:
        """See `Gate.admit`; the soul's file lets its people in, as members of nothing."""
        name = perception.name or perception.conversation.thread
        return GateDecision(admitted=True, name=name, outsider=True)

    async def readers(self, perception: Perception) -> Readers:
        """See `Channel.readers`."""
        return Readers(perception.audience, members_only=False)

    def split(self, reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        """See `Channel.split`; a line stays whole, without characters that would control a terminal."""
        text = printable(reply).strip()
        return (text,) if text else ()

    async def find_room(self, contact: str) -> Room:
        """See `Channel.find_room`; conversations are begun by those who write."""
        raise ChannelRefused("the soul can't begin a conversation there", code="no_room", hint="wait for a line")

    async def deliver(self, post: Post) -> str:
        """See `Channel.deliver`."""
        lines = self._open()
        with self._theirs(DeliveryUncertain, "failed to send"):
            await lines.send(_line(post))
        return post.key

    async def find(self, post: Post) -> FoundPost | None:
        """See `Channel.find`."""
        try:
            lines = self._open()
            with self._theirs(DeliveryUncertain, "can't look a line up"):
                found = await lines.sent(_line(post))
        except (NotDelivered, ChannelRefused) as error:
            raise DeliveryUncertain(error.message, hint=error.hint) from error
        return FoundPost(post.key, finished=True) if found else None

    def _open(self) -> LineChannel:
        if self._lines is None:
            raise NotDelivered(f"the channel {self.name!r} is not open", hint="see the log", retry_after=_OPENS_S)
        return self._lines

    @contextmanager
    def _theirs(self, failed: type[ChannelError], what: str) -> Iterator[None]:
        """Run code of the package: all its errors become the house's; a real cancellation stays one."""
        try:
            yield
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise failed(f"the channel {self.name!r} {what}: CancelledError", hint="ask its author") from None
        except (NotDelivered, ChannelRefused, DeliveryUncertain) as error:
            if failed is not ChannelError:
                raise
            raise failed(f"the channel {self.name!r} {what}: {error.message}", hint=error.hint) from error
        except (Exception, SystemExit) as error:
            if error is self._store_failure:
                raise
            reason = in_short(error) if isinstance(error, Exception) else "it tried to end the daemon"
            raise failed(f"the channel {self.name!r} {what}: {reason}", hint="ask its author") from error

    async def _hear(self, intake: Intake, line: HeardLine) -> None:
        """Store a line; see `Hear`."""
        try:
            await self._store(intake, line)
        except StoreError as error:
            self._store_failure = error
            raise

    async def _store(self, intake: Intake, line: HeardLine) -> None:
        if not PERSON.fullmatch(line.person) or not LINE_ID.fullmatch(line.id):
            raise ChannelRefused("a person or a line has an id that can't be used", code="bad_id")
        text = printable(line.words).strip()
        if not text or len(text) > LONGEST_LINE:
            raise ChannelRefused(f"a line has 1 to {LONGEST_LINE} characters", code="bad_length")
        where = ConversationKey(self.soul, self.workspace, _ROOM, line.person)
        author = f"{self.workspace}.{line.person}"
        for attempt in range(_TRIES):
            if await self.is_known(where, line.id):
                return
            perception = Perception.of_message(
                conversation=where,
                ts=self._next_ts(),
                author=author,
                content=text,
                place=Place.TERMINAL,
                audience=Audience(AudienceKind.DM, author),
                name=one_line(printable(line.name))[:_LONGEST_NAME],
            )
            event = f"{line.person}/{line.id}/{attempt}"
            arrival = NewMessage(event, perception, addressed=True, message_id=line.id)
            if await intake.accept(arrival) is not Acceptance.DUPLICATE:
                return
            # Either this line came a moment ago, or another has this very ts.
        raise StoreError("a line could not be stored", hint="nothing to do: it comes again")

    def _next_ts(self) -> str:
        """Seconds with six decimals, as Slack writes them; always larger than the one before."""
        now = self._around.clock.now_ms() * 1000 + secrets.randbelow(1000)
        self._last_ts = max(self._last_ts + 1, now)
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"


def _line(post: Post) -> SaidLine:
    return SaidLine(post.key, post.conversation.thread, post.body)


async def _nothing_is_known(_where: ConversationKey, _line: str) -> bool:
    return False
