"""What is distilled of several memories, and whether it rests on them: a model proposes it, the store decides."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.words import likeness, terms_of, words_of

_AKIN: Final = 0.5  # of two words: rather than not
_LEAST: Final = 4  # one word in so many of a sentence has to stand in what it rests on, and one in any case
_ID: Final = re.compile(r"\b(?:(?:EP|SMEM|JN)_\d{8}_\d+|(?:TU|TL|LB|core|sphere)_\d+|sem_[0-9a-f]{8})\b", re.IGNORECASE)
"""What looks like the id of a memory; the model was shown none."""


class DistillateRefused(StoreError):
    """It rests on nothing that it was made of; nothing was written."""


@dataclass(frozen=True, slots=True)
class DistilledLine:
    """One sentence, and the numbers of the notes that it rests on, from one."""

    text: str
    notes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Distillate:
    """What several notes come to; one line each. `significance` goes from 1 to 10."""

    claims: tuple[DistilledLine, ...]
    key_outcome: str = ""
    significance: int = 5
    tags: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """Its sentences as one line."""
        return " ".join(one.text for one in self.claims)


def require_grounded(made: Distillate, notes: Sequence[str]) -> None:
    """Raises DistillateRefused unless each sentence names something of the notes that it rests on.

    A quarter of its telling words has to stand in them, and each number. The reason holds none of the words.
    """
    if not made.claims:
        raise _refused("it is empty")
    every = tuple(range(1, len(notes) + 1))
    for claim in (*made.claims, *((DistilledLine(made.key_outcome, every),) if made.key_outcome else ())):
        _require_founded(claim, notes)


def known_words(tags: Sequence[str], notes: Sequence[str]) -> tuple[str, ...]:
    """Those of the tags that name something of the notes."""
    said = words_of("\n".join(notes))
    return tuple(tag for tag in tags if _names_something(tag, said))


def _require_founded(claim: DistilledLine, notes: Sequence[str]) -> None:
    if not claim.notes or not all(1 <= one <= len(notes) for one in claim.notes):
        raise _refused("it rests on notes that aren't there")
    rests_on = "\n".join(notes[one - 1] for one in claim.notes)
    said = words_of(rests_on)
    if invented := set(_ID.findall(claim.text)) - set(_ID.findall(rests_on)):
        raise _refused(f"it names {len(invented)} memories by ids that it was not shown")
    if {word for word in words_of(claim.text) if word.isdigit()} - set(said):
        raise _refused("a number in it stands nowhere in the notes that it rests on")
    if not _names_something(claim.text, said):
        raise _refused("a sentence of it names too little of the notes that it rests on")


def _names_something(text: str, said: Sequence[str]) -> bool:
    terms = terms_of(text)
    known = sum(any(likeness(term, word) > _AKIN for word in said) for term in terms)
    return known >= max(1, len(terms) // _LEAST)


def _refused(reason: str) -> DistillateRefused:
    return DistillateRefused(reason, hint="nothing to do: it is tried again another night")
