"""Sixty questions over a small library and earlier talk: is the passage that answers in the prompt, and nothing else?

The figure `hands` and a journey in the tests both ask them, each in its own workspace.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from daemon.core.value import Value
from daemon.core.working_memory import estimate_tokens

_WITH_GUESTS: Final = "partners"
_PUBLIC: Final = ("general", _WITH_GUESTS)  # every member can read these
_PRIVATE: Final = "lab"
_IN_PRIVATE: Final = ("Chloe", "Dan")
_NOTE: Final = re.compile(r'<note-(\w+) about="\[m\d+\].*?</note-\1>', re.DOTALL)
_FILLER: Final = "We went through the list of orders again and ticked off one line after the other. " * 35
_FILLERS: Final = 5  # long messages in a DM, after which what was said before is no longer in the prompt's transcript


class Workspace(Protocol):
    """A workspace with a daemon in it; `room` is `dm` or the name of a channel."""

    async def tell(self, room: str, person: str, text: str) -> None:
        """Say something to the soul and wait for its reply; in a channel it begins a thread."""

    async def ask(self, room: str, person: str, text: str) -> str:
        """The same; gives the prompt in which it was answered."""


class Saying(Value):
    """What one user says in one room; `phrase` is in what answers it, or may reach no other room."""

    room: str
    person: str
    text: str
    phrase: str

    def is_known_to(self, other: "Saying") -> bool:
        """Whether whoever reads the other one's room may know this."""
        if self.room == other.room:
            return self.room != "dm" or self.person == other.person
        if other.room == _WITH_GUESTS:
            return False
        return self.room in _PUBLIC or (self.room == _PRIVATE and other.room == "dm" and other.person in _IN_PRIVATE)


class Corpus(Value):
    """The library by path, what was said, and what is asked."""

    library: Mapping[str, str]
    talk: tuple[Saying, ...]
    questions: tuple[Saying, ...]

    def write(self, folder: Path) -> tuple[Path, ...]:
        """Write the library below a folder; gives the folders to be listed in the settings."""
        for name, text in self.library.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tuple(sorted(one for one in folder.iterdir() if one.is_dir()))


@dataclass(slots=True)
class Grade:
    """What came of it: questions whose passage was missing, words that reached a wrong room, tokens of each search."""

    asked: int = 0
    missed: list[str] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)


def load() -> Corpus:
    """The corpus as it stands beside this file."""
    read: dict[str, Any] = tomllib.loads((Path(__file__).parent / "corpus.toml").read_text(encoding="utf-8"))
    return Corpus(
        read["library"],
        tuple(Saying(one["room"], one["person"], one["text"], one["keeps"]) for one in read["talk"]),
        tuple(Saying(one["room"], one["person"], one["ask"], one["expect"]) for one in read["question"]),
    )


async def grade(corpus: Corpus, workspace: Workspace) -> Grade:
    """Say what was said, let it pass out of the transcripts, and ask."""
    for one in corpus.talk:
        await workspace.tell(one.room, one.person, one.text)
    for person in dict.fromkeys(one.person for one in corpus.talk if one.room == "dm"):
        for number in range(_FILLERS):
            await workspace.tell("dm", person, f"{number}. {_FILLER}")
    done = Grade()
    for question in corpus.questions:
        prompt = await workspace.ask(question.room, question.person, question.text)
        notes = "\n".join(match[0] for match in _NOTE.finditer(prompt))
        done.asked += 1
        done.tokens.append(estimate_tokens(notes))
        if question.phrase not in notes:
            done.missed.append(question.text)
        secrets = [(one, one.phrase) for one in corpus.talk] + [(one, one.text) for one in corpus.questions]
        done.leaked += [phrase for one, phrase in secrets if phrase in prompt and not one.is_known_to(question)]
    return done
