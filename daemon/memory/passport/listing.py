"""The files of a passport as a list that fits into memory: who and for whom, without what they say.

A file is read again when its content is needed; one that changed meanwhile is refused.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from daemon.core.hearing import Origin
from daemon.memory.knowledge.records.ids import turn_id, turn_seq
from daemon.memory.passport.beside_rows import BESIDE
from daemon.memory.passport.entries import Owner, PassportEntry, entry_of
from daemon.memory.passport.forms import FactForm
from daemon.memory.passport.names import PassportKind
from daemon.memory.passport.reading import Loaded, RefusedFile, read_again
from daemon.memory.records import Speaks

T = TypeVar("T")

HIGHEST_SEQ: Final = 10**12
"""The highest number of a turn that a passport may bring."""

_TURNS: Final = (PassportKind.TURN_USER, PassportKind.TURN_LLM)
_LATER: Final = (PassportKind.SESSION, *(one.kind for one in BESIDE))
_CHANGED: Final = "it changed while it was read"


@dataclass(frozen=True, slots=True)
class Listed:
    """A file that may be stored: its path within the passport, the same to be shown, and the digest of its bytes.

    `author` is who said a turn; `linked`: it rests on something, or should.
    """

    file: str
    path: str
    digest: bytes
    id: str
    kind: PassportKind
    at_ms: int
    origin: Origin
    author: str
    linked: bool

    def refuse(self, reason: str) -> RefusedFile:
        """The same as a refusal."""
        return RefusedFile(self.path, reason)

    @property
    def order(self) -> tuple[int, int, int, str]:
        """Turns come first, in the order in which they were said, then records, then what needs either."""
        if self.kind not in _TURNS:
            return (2 + _LATER.index(self.kind) if self.kind in _LATER else 1, 0, 0, self.id)
        seq = turn_seq(self.id)
        ours = seq is not None and is_canonical(self.id)
        number = f"{self.id.partition('_')[2].zfill(20)} {self.kind is PassportKind.TURN_LLM}"
        return (0, 0 if ours else 1, seq if seq is not None and ours else self.at_ms, number)


class Listing:
    """Makes the list; equal origins and names are kept once."""

    def __init__(self, folder: Path, owner: Owner, now: int) -> None:
        self._folder, self._owner, self._now = folder, owner, now
        self._origins: dict[Origin, Origin] = {}
        self._names: dict[str, str] = {}

    def entry(self, loaded: Loaded) -> PassportEntry | RefusedFile:
        """A file that was read as what it would be here, or why it is refused."""
        return entry_of(loaded, self._owner, self._now)

    def listed(self, entry: PassportEntry) -> Listed:
        """What is kept of it."""
        loaded, author = entry.loaded, getattr(entry.form, "user_id", "") if entry.is_turn else ""
        return Listed(
            file=loaded.file,
            path=loaded.file if loaded.path == loaded.file else loaded.path,
            digest=loaded.digest,
            id=entry.id,
            kind=loaded.kind,
            at_ms=entry.at_ms,
            origin=self._origins.setdefault(entry.origin, entry.origin),
            author=self._names.setdefault(author, author),
            linked=bool(entry.links) or isinstance(entry.form, FactForm),
        )

    def again(self, one: Listed) -> PassportEntry | RefusedFile:
        """The whole entry of a file, read again."""
        loaded = read_again(self._folder, one.file)
        if isinstance(loaded, RefusedFile):
            return loaded
        return self.entry(loaded) if loaded.digest == one.digest else one.refuse(_CHANGED)


def in_batches(many: Iterable[T], size: int) -> Iterator[list[T]]:
    """The same in lists of at most that size."""
    waiting = iter(many)
    while some := list(islice(waiting, size)):
        yield some


def is_canonical(name: str) -> bool:
    """Whether a turn that was said here has this id; any id that is none of a turn's has it."""
    seq = turn_seq(name)
    return seq is None or (name in {turn_id(Speaks.PERSON, seq), turn_id(Speaks.SOUL, seq)} and seq <= HIGHEST_SEQ)


def without_resting(rests: Mapping[str, Sequence[str]], gone: Collection[str]) -> dict[str, str]:
    """Those that rest on what is gone, at any remove, and on what."""
    lost, left = dict[str, str](), set(gone)
    while found := {
        name: missing
        for name, targets in rests.items()
        if name not in left and (missing := next((one for one in targets if one in left), None))
    }:
        lost |= found
        left |= found.keys()
    return lost
