"""What a soul may say unasked: what it promised to come back to, and where it is invited to."""

from collections.abc import Iterable
from typing import Final

from daemon.core.initiative import EARLY, PROMISED
from daemon.core.perception import Perception, Place
from daemon.core.ports.models import PROMISED_HERE
from daemon.core.sentences import Words
from daemon.core.text import one_line, shortened
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.memory.mind.at_hand import AtHand
from daemon.memory.mind.goals import Goal
from daemon.memory.queues.promises import OpenPromise
from daemon.mind.answer_filter import words_aloud
from daemon.soul_engine.perceiving import NOTE

_LONGEST: Final = 200  # characters of a goal in a line of the house
_UNNAMED: Final = "…"

_OPENING: Final = f"""\
({PROMISED_HERE}, and its time has come. What you write in external_speech is posted here \
now: say in a few sentences what they wait for, or plainly that there is nothing new. If you say nothing, your \
house says so in your name. What you promised:)"""

_EARLY: Final = f"""\
({PROMISED_HERE} later, and one of your senses may just have perceived it. What you write \
in external_speech is posted here now and keeps the promise: say in a few sentences what they wait for; leave it empty \
if that isn't it yet. What you promised:)"""

_INVITED: Final = """\
(They invited you to write to them unasked. What you write in external_speech is posted to them now, in a few \
sentences; leave it empty unless they would want to know it now.)"""
_INVITED_HERE: Final = """\
(You may write in this thread unasked. What you write in external_speech is posted here now, for all who read here, in \
a few sentences; leave it empty unless they would want to know it now.)"""


def owed_by_now(perception: Perception, at_hand: AtHand) -> tuple[OpenPromise, ...]:
    """All about which words are owed now, also where those who read may not know of the goals any more."""
    ids = _ids(perception, PROMISED)
    return tuple(one for one in at_hand.owed if one.id in ids)


def promised_by_now(perception: Perception, at_hand: AtHand) -> tuple[Goal, ...]:
    """The goals about which words are owed now, as far as those who read may still know of them."""
    return _named(perception, PROMISED, at_hand)


def due_early(perception: Perception, at_hand: AtHand) -> tuple[Goal, ...]:
    """The promised goals of which a reading tells before their time, as far as those who read may know of them."""
    return _named(perception, EARLY, at_hand)


def with_invitation(memory: WorkingMemory, place: Place) -> WorkingMemory:
    """The memory with a sentence that something may be said."""
    return memory.with_memory(Memory(Role.SYSTEM, _INVITED if place is Place.DM else _INVITED_HERE))


def with_promises(memory: WorkingMemory, promised: tuple[Goal, ...], opening: str = _OPENING) -> WorkingMemory:
    """The memory with what was promised, as data."""
    memory = memory.with_memory(Memory(Role.SYSTEM, opening))
    for one in promised:
        memory = memory.with_memory(Memory(Role.USER, one.goal, name=f"your goal {one.id}", metadata={"kind": NOTE}))
    return memory


def with_early(memory: WorkingMemory, early: tuple[Goal, ...]) -> WorkingMemory:
    """The memory with what was promised and may be kept now, as data."""
    return with_promises(memory, early, _EARLY)


def said_for_it(words: Words, owed: Iterable[OpenPromise], thought_of: Iterable[Goal] = ()) -> str:
    """What the house says where the soul says nothing about what it promised; empty where nothing was.

    Of what the soul could not think of, it says so.
    """
    ids = {one.id for one in thought_of}
    sentences = {one: "promise_kept" if one.id in ids else "promise_unseen" for one in owed}
    return "\n".join(words.say(key, what=in_short(one.goal)) for one, key in sentences.items())


def in_short(goal: str) -> str:
    """A goal as a line of the house names it: without what a model marks as private."""
    return shortened(one_line(words_aloud(goal)), _LONGEST) or _UNNAMED


def _named(perception: Perception, param: str, at_hand: AtHand) -> tuple[Goal, ...]:
    ids = _ids(perception, param).intersection(one.id for one in at_hand.owed)
    return tuple(one for one in at_hand.goals if one.id in ids)


def _ids(perception: Perception, param: str) -> frozenset[str]:
    names = perception.params.get(param)
    return frozenset(map(str, names)) if isinstance(names, list) else frozenset()
