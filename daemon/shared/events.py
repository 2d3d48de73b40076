"""Notes between souls, within budgets and audiences (seed 003), and the presence of a soul at work."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import Final

from msgspec import field

from daemon.core.contexts import OPERATOR
from daemon.core.notes import (
    LONGEST,
    NOTE_PARAM,
    SOUL_CHANNEL,
    NoteBudget,
    NoteRefused,
    SharedMessage,
    checked_words,
)
from daemon.core.perception import Audience, ConversationKey, Modality, Perception, Readers
from daemon.core.ports.arrivals import MemberTaken, WorkPlace
from daemon.core.ports.services import Clock
from daemon.core.questions import is_news
from daemon.core.text import shortened
from daemon.core.timetable import platform_time
from daemon.core.value import Value
from daemon.memory.records import Speaks, Turn
from daemon.memory.shared.messages import NewNote, NoteStore, SaidToSoul, SentNote
from daemon.memory.shared.store import AwarenessStore

_MOST_HEARD: Final = 20  # notes of one conversation shown before a reply to the next
_MOST_SENT: Final = 3
_REMEMBERED_MS: Final = 24 * 3600 * 1000


class Correspondence(Value):
    """The soul's means for notes in one cycle.

    `souls` are the other hosted souls, `hands_to` those of them that can answer where the soul speaks, `called` their
    shown names. `why_not` returns why no further note may go to one of them, besides those of this cycle; empty if one
    may. `note` makes a note, or one that is refused for a reason.
    """

    souls: tuple[str, ...]
    why_not: Callable[[str, int], Awaitable[str]]
    note: Callable[[str, str, str], SentNote]
    hands_to: tuple[str, ...] = ()
    called: Mapping[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class SoulNotes:
    """The notes of one soul. `hosted_here` are the souls of this daemon."""

    store: NoteStore
    clock: Clock
    soul: str
    hosted_here: tuple[str, ...]
    budget: NoteBudget

    async def correspondence(self, perception: Perception, audience: Audience) -> Correspondence:
        """Return the soul's means for notes when it answers a perception before `audience`. Raises StoreError."""
        where = perception.conversation
        heard = await self._heard(perception)
        hops, behalf = (heard.hops + 1, heard.behalf) if heard is not None else (1, perception.author)

        async def why_not(addressee: str, pending: int) -> str:
            note = NewNote(self.soul, addressee, where.workspace, "", audience, hops)
            return await self.store.why_over(note, self.budget, pending)

        def note(addressee: str, words: str, refused: str) -> SentNote:
            return SentNote(addressee, words, behalf, hops, self.budget, refused)

        called = await self.called()
        return Correspondence(await self.others(), why_not, note, called=called)

    async def others(self) -> tuple[str, ...]:
        """Return the other hosted souls. Raises StoreError."""
        return tuple(sorted({*self.hosted_here, *await self.store.hosted()} - {self.soul}))

    async def called(self) -> dict[str, str]:
        """Return the shown names of all hosted souls. Raises StoreError."""
        called = await self.store.called()
        return {one: called.get(one, one) for one in (self.soul, *await self.others())}

    def said(self, perception: Perception, words: str) -> tuple[SaidToSoul, ...]:
        """Return the note made of a reply in a conversation with another soul: the reply goes to that soul."""
        if perception.modality is not Modality.NOTE or not words:
            return ()
        return (SaidToSoul(str(perception.params.get(NOTE_PARAM, "")), shortened(words, LONGEST), self.budget),)

    async def why_not_heard(self, perception: Perception, readers: Readers) -> str:
        """Return why a note may not be used before these current readers; empty if it may. Raises StoreError."""
        if perception.modality is not Modality.NOTE or is_news(perception):
            return ""
        note = await self._heard(perception)
        if note is None:
            return "the note is forgotten"
        if readers.apart or not readers.members_only or not readers.audience.within(note.audience):
            return "others read here by now than the note is for"
        return ""

    async def heard_before(self, where: ConversationKey) -> tuple[Turn, ...]:
        """Return the notes perceived in a conversation with a soul, as its turns. Raises StoreError."""
        if where.channel != SOUL_CHANNEL:
            return ()
        return tuple(
            Turn(
                Speaks.PERSON,
                one.sender,
                one.sender,
                platform_time(one.created_ms),
                one.words,
                {NOTE_PARAM: one.id},
            )
            for one in await self.store.heard_in(where, _MOST_HEARD)
        )

    async def sent_from(self, where: ConversationKey) -> list[SharedMessage]:
        """Return the notes recently sent from a conversation, newest first. Raises StoreError."""
        return await self.store.sent_from(where, self.clock.now_ms() - _REMEMBERED_MS, _MOST_SENT)

    async def _heard(self, perception: Perception) -> SharedMessage | None:
        where = perception.conversation
        if perception.modality is Modality.NOTE:
            return await self.store.note(str(perception.params.get(NOTE_PARAM, "")))
        if where.channel == SOUL_CHANNEL:
            return next(reversed(await self.store.heard_in(where, 1)), None)
        return None


async def send_as_admin(
    store: NoteStore, workspace: str, addressee: str, words: str, *, audience: Audience, budget: NoteBudget
) -> SharedMessage:
    """Send a note to a hosted soul in the admin's name. Its answer is kept in the ledger.

    Raises NoteRefused if no daemon hosts the soul, for an invalid note, and over the budget, which the ledger then
    records too; and StoreError.
    """
    said = checked_words(words)
    await require_hosted(store, addressee)
    if "/" in audience.id:
        raise NoteRefused(f"{str(audience)[:80]} is no audience", hint="e.g. workspace:T123, channel:C123 or dm:D123")
    note = NewNote(OPERATOR, addressee, workspace, said, audience, hops=1)
    sent = await store.send(note, budget)
    if sent.reason:
        raise NoteRefused(
            f"the note was refused: {sent.reason}", hint=f"it stands in `soul queue notes show {sent.id}`"
        )
    return sent


async def require_hosted(store: NoteStore, soul: str) -> None:
    """Raise NoteRefused, naming the hosted souls, if no living daemon hosts a soul. Raises StoreError too."""
    if soul not in (hosted := await store.hosted()):
        others = f"; hosted now: {', '.join(sorted(hosted))}" if hosted else ""
        raise NoteRefused(
            f"no living daemon hosts a soul {soul[:80]!r}",
            hint=f"start one that does with `soul run`, then try again{others}",
        )


_SETTLES_S: Final = 0.2  # shorter work is never shown: a quick reply then costs no write
_MOST_PLACES: Final = 20


class Doing(IntEnum):
    """The activity of a soul. Of several conversations the highest is shown."""

    IDLE = 0
    THINKING = 1
    SPEAKING = 2
    SOLVING = 3


@dataclass(slots=True)
class _Work:
    where: ConversationKey
    audience: Audience
    doing: Doing = Doing.THINKING


class SoulAtWork:
    """The display of one soul's work in this process. Another daemon that hosts the soul shows it as `name:2`."""

    def __init__(self, store: AwarenessStore, clock: Clock, soul: str) -> None:
        self._store = store
        self._clock = clock
        self._soul = soul
        self._member = soul
        self._works: list[_Work] = []
        self._changed = asyncio.Event()
        self._shown: tuple[Doing, tuple[WorkPlace, ...]] | None = None

    @contextmanager
    def works(self, where: ConversationKey, audience: Audience) -> Iterator[Callable[[Doing], None]]:
        """Show the soul at work until the block ends: thinking, unless the yielded function changes that."""
        work = _Work(where, audience)
        self._works.append(work)
        self._changed.set()

        def does(doing: Doing) -> None:
            work.doing = doing
            self._changed.set()

        try:
            yield does
        finally:
            self._works.remove(work)
            self._changed.set()

    async def run(self) -> None:
        """Show the soul's activity, and each change that lasts a moment, until cancelled. Raises StoreError."""
        while True:
            self._changed.clear()
            await self._show()
            await self._changed.wait()
            await self._clock.sleep(_SETTLES_S)

    async def _show(self) -> None:
        doing = max((one.doing for one in self._works), default=Doing.IDLE)
        places = tuple(WorkPlace(str(one.audience), str(one.where)) for one in self._works[:_MOST_PLACES])
        if (doing, places) == self._shown:
            return
        await self._store_under_a_free_name({"doing": doing.name.lower()}, places)
        self._shown = (doing, places)

    async def _store_under_a_free_name(self, state: dict[str, object], places: tuple[WorkPlace, ...]) -> None:
        for number in count(2):
            try:
                await self._store.set_soul(self._member, self._store.process, state, places)
            except MemberTaken:
                self._member = f"{self._soul[:60]}:{number}"
            else:
                return
