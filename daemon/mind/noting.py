"""Decides what of a model's proposals is learned about a user: a model proposes, quotations decide."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.telemetry.redaction import remove_keys
from daemon.memory.knowledge.learning import Learned, Proved
from daemon.memory.knowledge.records.kinds import Fact, Topic
from daemon.mind.quotation import Evidence, SaidAs, meant, proof
from daemon.mind.steps.visitor_notes import MOST_LINES, NewLine, NotesChange, note_line

_MENTION: Final = re.compile(r"<@([UW][A-Z0-9]+)")
_WORD: Final = re.compile(
    r"[^\W_\u2e80-\U0010ffff]+|[\u2e80-\U0010ffff]"
)  # scripts without spaces: each sign is a word


class TooMuchLost(DaemonError):
    """A change would have removed too many of the notes at once; nothing was changed."""


class Untaken(StrEnum):
    """Why a proposal is not taken, beside the lack of a proof."""

    EMPTY = "it says nothing"
    KEY = "it looks like a key"
    FULL = "there is no room for more"
    TWICE = "it was proposed twice"
    NO_LINE = "no line has this number"
    KIND = "its kind is unknown"


@dataclass(frozen=True, slots=True)
class Said:
    """A message of the user: the seq of its turn and its words."""

    seq: int
    words: str


def judged(
    change: NotesChange, standing: Sequence[Fact], said: Sequence[Said], names: Sequence[str], *, most_lost: float
) -> Learned:
    """What of a change is taken: each line proved by the user's own words, once, and no more than there is room for.

    `standing` are the facts in the order of their numbers, `said` what the user wrote, newest last. Raises TooMuchLost
    if more than one line and more than the share `most_lost` would be lost: retired, or corrected to a text that has no
    word in common with the line.
    """
    judge = _Judge(said, names, dict(enumerate(standing, start=1)))
    corrected = [(number, found) for number, line in change.correct if (found := judge.correction(number, line))]
    replaced = {number for number, _ in corrected}
    retired = [number for number, quote in change.retire.items() if judge.retires(number, quote)]
    gone = [number for number in retired if number not in replaced]
    _refuse_loss(judge.standing, gone, corrected, most_lost)
    room = MOST_LINES - len(standing) + len(gone)
    added = [found for line in change.add if (found := judge.addition(line))]
    judge.refused += [Untaken.FULL] * max(0, len(added) - room)
    return Learned(
        added=tuple(added[: max(0, room)]),
        corrected=tuple((judge.standing[number].id, found) for number, found in corrected),
        retired=tuple(judge.standing[number].id for number in gone),
        refused=tuple(map(str, judge.refused)),
        whispers=change.whispers,
    )


class _Judge:
    """Looks at one proposal after the other, and notes why it refuses."""

    def __init__(self, said: Sequence[Said], names: Sequence[str], standing: Mapping[int, Fact]) -> None:
        self.standing = standing
        self.refused: list[str] = []
        self._said = said
        self._words = [one.words for one in said]
        self._names = names
        self._taken: set[str] = set()
        self._replaced: set[int] = set()

    def addition(self, line: NewLine) -> Proved | None:
        return self._proved(line)

    def correction(self, number: int, line: NewLine) -> Proved | None:
        if number not in self.standing or number in self._replaced:
            self.refused.append(Untaken.NO_LINE)
            return None
        if (found := self._proved(line)) and not found.claim:
            self._replaced.add(number)
            return found
        return None

    def retires(self, number: int, quote: str) -> bool:
        if number not in self.standing:
            self.refused.append(Untaken.NO_LINE)
            return False
        found = meant(quote, SaidAs.STATEMENT, self._words)
        if not isinstance(found, Evidence):
            self.refused.append(found)
        return isinstance(found, Evidence)

    def _proved(self, line: NewLine) -> Proved | None:
        if fault := self._fault(line):
            self.refused.append(fault)
            return None
        assert line.said_as is not None
        found = proof(line.text, line.quote, line.said_as, self._words, self._names)
        if not isinstance(found, Evidence):
            self.refused.append(found)
            return None
        self._taken.add(line.text.casefold())
        said = self._said[found.message]
        taken = Proved(line.text, said.seq, found.quote, line.subject, line.predicate, line.object, _topic(line.group))
        if line.said_as is not SaidAs.CLAIM:
            return replace(taken, subject="")
        mentioned = set(_MENTION.findall(found.quote))
        return replace(taken, claim=True, about=mentioned.pop() if len(mentioned) == 1 else "")

    def _fault(self, line: NewLine) -> Untaken | None:
        if not note_line(line.text):
            return Untaken.EMPTY
        if any(remove_keys(text) != text for text in (line.text, line.quote)):
            return Untaken.KEY
        if line.said_as is None:
            return Untaken.KIND
        return Untaken.TWICE if line.text.casefold() in self._taken else None


def _topic(group: str) -> Topic:
    return Topic(group) if group in set(Topic) else Topic.OTHER


def _refuse_loss(
    standing: Mapping[int, Fact], gone: Sequence[int], corrected: Sequence[tuple[int, Proved]], most_lost: float
) -> None:
    unlike = [number for number, line in corrected if not _akin(line.text, standing[number].text)]
    lost = len(gone) + len(unlike)
    if lost > 1 and lost > most_lost * len(standing):
        raise TooMuchLost(
            f"{lost} of {len(standing)} lines of notes would have been lost at once",
            hint="the notes are unchanged; the next conversation may change them line by line",
        )


def _akin(text: str, other: str) -> bool:
    words, others = (set(_WORD.findall(one.casefold())) for one in (text, other))
    return text == other or not words.isdisjoint(others)
