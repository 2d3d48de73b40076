"""The effects of a cycle: speech is streamed at once, every other effect is collected for the commit."""

from collections.abc import AsyncIterable, Callable, Iterable, Mapping, Sized
from enum import StrEnum
from typing import Final

from msgspec.structs import replace

from daemon.core.contexts import ContextRefused
from daemon.core.initiative import EARLY, PROMISED
from daemon.core.perception import Perception, Place
from daemon.core.ports.library import Passage
from daemon.core.ports.services import PROMISED_HERE, Speech, Task
from daemon.core.repetition import without_repeats
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.core.step import NOTHING_HEARD, PLAINLY_STATED, Heard, Stated
from daemon.core.text import close_fence, one_line, shortened
from daemon.core.timeframes import time_in
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.mind.at_hand import AtHand
from daemon.memory.mind.goal_changes import Goal
from daemon.memory.queues.approvals import NewApproval
from daemon.memory.queues.handoffs import CrossPost
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.memory_acts import MemoryAct
from daemon.memory.queues.promises import OpenPromise
from daemon.memory.queues.remembering import Remembered
from daemon.memory.shared.contexts import Change, SharedChange
from daemon.memory.shared.messages import SentNote
from daemon.memory.stream.keeping import NewThought
from daemon.mind.prompts import prompt
from daemon.mind.reply import words_aloud
from daemon.soul_engine.perceiving import NOTE


class Silence(StrEnum):
    """The reason for a silence in the path of the conversation, as `soul mind trace` shows it."""

    REFUSED = "they wait for words"
    UNSEEN = "it was not asked, and said nothing"
    NOD = "it nodded, and said nothing"


_MOST_REMEMBERED = 5  # in one cycle


class Motor:
    """The collector of the effects of one cycle.

    `speech` streams the reply to users; None shows nothing before the commit. Only `settle` decides what the reply is.
    Streamed text is a draft, which the channel replaces if it differs. `words` are those of the daemon's own lines,
    `calls` the model calls of the cycle so far. `annotations` are stored privately with the reply. `heir` is the soul
    that gets the thread with the reply, empty for none. `dates` maps the times in the daemon's own lines to moments
    (ms, UTC). `drawn_on` maps citation marks to the passages looked up for the reply.
    """

    def __init__(
        self,
        speech: Speech | None,
        words: Words = HOUSE_WORDS,
        *,
        calls: Sized = (),
    ) -> None:
        self._speech = speech
        self.words = words
        self._reply = ""
        self._stops = self._repeats = False
        self._silence = Silence.REFUSED
        self._below: list[str] = []
        self.annotations: dict[str, object] = {}
        self.heard, self.stated = NOTHING_HEARD, PLAINLY_STATED
        self._intentions: list[NewIntention] = []
        self._cancelled: list[str] = []
        self._remembered: list[Remembered] = []
        self.approval: NewApproval | None = None
        self.cross_post: CrossPost | None = None
        self._acts: list[MemoryAct] = []
        self.shared = False
        self.heir = ""
        self._shown: list[str] = []
        self.dates: dict[str, int] = {}
        self.drawn_on: dict[str, Passage] = {}
        self._answers: tuple[str, ...] = ()
        self._calls = calls
        self._thoughts: list[NewThought] = []

    @property
    def reply(self) -> str:
        cut = f"_{self.words.say('repeated_itself' if self._repeats else 'out_of_room')}_" if self._stops else ""
        return "\n\n".join(filter(None, (self._reply, cut, *self._below, *self._shown)))

    @property
    def said(self) -> str:
        return "\n\n".join(filter(None, (self._reply, *self._below)))

    @property
    def cut(self) -> bool:
        return self._stops and not self._repeats

    @property
    def thoughts(self) -> tuple[NewThought, ...]:
        return tuple(self._thoughts)

    @property
    def intentions(self) -> tuple[NewIntention, ...]:
        return tuple({one.slot: one for one in self._intentions}.values())

    @property
    def remembered(self) -> tuple[Remembered, ...]:
        return tuple(dict.fromkeys(self._remembered))[:_MOST_REMEMBERED]

    @property
    def cancelled(self) -> tuple[str, ...]:
        return tuple(self._cancelled)

    @property
    def acts(self) -> tuple[MemoryAct, ...]:
        return tuple(self._acts)

    async def speak(self, pieces: AsyncIterable[str]) -> None:
        """Show a reply while it streams. Raises what the pieces raise."""
        async for piece in pieces:
            if self._speech is not None and piece:
                await self._speech.say(piece)

    async def show(self, task: Task) -> None:
        """Show the progress of a piece of work, where the reply streams."""
        if self._speech is not None:
            await self._speech.show(task)

    def settle(self, reply: str, *, cut: bool = False) -> None:
        """Set the reply, whatever was streamed so far. A reply that is `cut` is closed, and says so.

        If a cut reply ends in copies of the same words, only the first copy is kept.
        """
        once = without_repeats(reply) if cut else reply
        self._reply, self._stops, self._repeats = close_fence(once) if cut else reply, cut, once != reply

    def keep_silence(self, silence: Silence) -> None:
        self._silence = silence

    @property
    def silence(self) -> Silence:
        return Silence.REFUSED if self.reply else self._silence

    def rewrite(self, change: Callable[[str], str]) -> None:
        self._reply = change(self._reply)

    def add_below(self, words: str) -> None:
        """Add a line of the daemon's own below any reply that users must read in any case."""
        self._below.append(words)

    def describe(self, heard: Heard, stated: Stated) -> None:
        """Set how the newest message was heard and how the reply is stated. Both are stored with their turns."""
        self.heard, self.stated = heard, stated

    def show_below(self, words: str) -> None:
        """Add words of the daemon's own below any reply that are no part of what the soul said."""
        self._shown.append(words)

    def time(self, ms: int, zone: str, *, alone: bool) -> str:
        """Format a time (ms, UTC) in a zone. Unless the person reads `alone`, other users see it in theirs."""
        shown = time_in(ms, zone)
        if not alone:
            self.dates[shown] = ms
        return shown

    def annotate(self, **private: object) -> None:
        """Store private JSON values with the turn, without those that are None."""
        self.annotations.update({name: value for name, value in private.items() if value is not None})

    def think(self, thought: NewThought) -> None:
        self._thoughts.append(replace(thought, calls_made=len(self._calls)))

    def schedule(self, intention: NewIntention) -> None:
        """Schedule a perception in this conversation, in place of the one pending in the same slot."""
        self._intentions.append(intention)

    def remember(
        self,
        content: str,
        *,
        significance: int = 5,
        tags: tuple[str, ...] = (),
        tone: str = "",
        quote: str = "",
        claim: bool = False,
    ) -> None:
        """Note something with the commit: words of the person who is answered, or else the soul's own conclusion."""
        self._remembered.append(Remembered(content, significance, tags, tone, quote, claim))

    def cancel(self, slot: str) -> None:
        self._cancelled.append(slot)

    def ask_permission(self, approval: NewApproval) -> None:
        self.approval = approval

    def withdraw_question(self) -> None:
        self.approval, self._answers = None, ()

    def offer(self, answers: tuple[str, ...]) -> None:
        self._answers = answers

    @property
    def answers(self) -> tuple[str, ...]:
        return () if self.approval or self._stops else self._answers

    def draw_on(self, found: Mapping[str, Passage]) -> None:
        """Keep what the reply may cite, by its marks, in order to answer *why*."""
        self.drawn_on.update(found)

    def decide(self, act: MemoryAct) -> None:
        self._acts.append(act)

    def share(self, key: str, change: Change, dropped: Callable[[ContextRefused], None]) -> None:
        """Change what is shared under a key. `change` is pure, and applied to the newest data in the commit.

        A change that no longer fits then is dropped, and `dropped` is called with the reason.
        """
        self._acts.append(SharedChange(key, change, dropped, self._note_shared))

    def _note_shared(self) -> None:
        self.shared = True

    def send_note(self, note: SentNote) -> None:
        self._acts.append(note)

    def sends_to(self, addressee: str) -> int:
        """Count the notes that go to another soul with this cycle."""
        notes = (act for act in self._acts if isinstance(act, SentNote))
        return sum(one.addressee == addressee and not one.refused for one in notes)

    def hand_over(self, soul: str) -> None:
        self.heir = soul

    def post_elsewhere(self, cross_post: CrossPost) -> None:
        self.cross_post = cross_post


_LONGEST: Final = 200  # characters of a goal in the daemon's lines
_UNNAMED: Final = "…"


def due_promises(perception: Perception, at_hand: AtHand) -> tuple[OpenPromise, ...]:
    """Return all promises due now, also those whose goals the readers may not know any more."""
    ids = _ids(perception, PROMISED)
    return tuple(one for one in at_hand.owed if one.id in ids)


def promised_by_now(perception: Perception, at_hand: AtHand) -> tuple[Goal, ...]:
    """Return the goals promised for now that the readers may still know."""
    return _named(perception, PROMISED, at_hand)


def due_early(perception: Perception, at_hand: AtHand) -> tuple[Goal, ...]:
    """Return the promised goals that a reading may fulfil before their time, as far as the readers may know them."""
    return _named(perception, EARLY, at_hand)


def with_invitation(memory: WorkingMemory, place: Place) -> WorkingMemory:
    return memory.with_memory(Memory(Role.SYSTEM, prompt("invited" if place is Place.DM else "invited_here")))


def with_promises(memory: WorkingMemory, promised: tuple[Goal, ...], opening: str = "promise_due") -> WorkingMemory:
    """Add what was promised, as data, below the prompt with the name `opening`."""
    memory = memory.with_memory(Memory(Role.SYSTEM, prompt(opening, mark=PROMISED_HERE)))
    for one in promised:
        memory = memory.with_memory(Memory(Role.USER, one.goal, name=f"your goal {one.id}", metadata={"kind": NOTE}))
    return memory


def with_early(memory: WorkingMemory, early: tuple[Goal, ...]) -> WorkingMemory:
    """Add what was promised and may be kept now, as data."""
    return with_promises(memory, early, "promise_early")


def fallback_text(words: Words, owed: Iterable[OpenPromise], thought_of: Iterable[Goal] = ()) -> str:
    """Return the daemon's sentences about promises of which the soul says nothing, or an empty string.

    Goals that the soul could not think of get another sentence.
    """
    ids = {one.id for one in thought_of}
    sentences = {one: "promise_kept" if one.id in ids else "promise_unseen" for one in owed}
    return "\n".join(words.say(key, what=in_short(one.goal)) for one, key in sentences.items())


def in_short(goal: str) -> str:
    """Name a goal in a line of the daemon, without what a model marks as private."""
    return shortened(one_line(words_aloud(goal)), _LONGEST) or _UNNAMED


def _named(perception: Perception, param: str, at_hand: AtHand) -> tuple[Goal, ...]:
    ids = _ids(perception, param).intersection(one.id for one in at_hand.owed)
    return tuple(one for one in at_hand.goals if one.id in ids)


def _ids(perception: Perception, param: str) -> frozenset[str]:
    names = perception.params.get(param)
    return frozenset(map(str, names)) if isinstance(names, list) else frozenset()
