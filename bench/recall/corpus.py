"""Reads LoCoMo's conversations (Maharana et al. 2024), leniently: what is malformed is dropped and counted."""

import datetime as dt
import json
import random
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from daemon.core.value import Value
from daemon.core.words import likeness, terms_of, words_of

_PARAPHRASES: Final = Path(__file__).with_name("paraphrases.toml")
_OTHERS: Final = 3_000
_SESSION: Final = re.compile(r"session_(\d+)")
_TURN: Final = re.compile(r"D\d+:\d+")
_WHEN: Final = "%I:%M %p on %d %B, %Y"
_STEP: Final = dt.timedelta(seconds=30)


class Said(Value):
    """One turn; `key` is its id in the data, `session` the number of its session."""

    key: str
    session: int
    when: dt.datetime
    speaker: str
    text: str
    caption: str = ""

    @property
    def body(self) -> str:
        """The turn as it is stored: a picture is told by its caption."""
        return f"{self.text}\n[image: {self.caption}]" if self.caption else self.text


class Asked(Value):
    """A question and the keys of the turns that answer it; `category` is LoCoMo's, from 1 to 5."""

    text: str
    evidence: tuple[str, ...]
    category: int


class Talk(Value):
    """One long conversation."""

    name: str
    turns: tuple[Said, ...]
    questions: tuple[Asked, ...]
    dropped: int = 0

    def shares_no_word(self, question: Asked) -> bool:
        """Whether no stem of a question, names aside, stands in the text or caption of its evidence."""
        names = {word for turn in self.turns for word in words_of(turn.speaker)}
        terms = [term for term in terms_of(question.text) if term.word not in names]
        evidence = [turn for turn in self.turns if turn.key in question.evidence]
        words = {word for turn in evidence for word in words_of(f"{turn.text} {turn.caption}")}
        return not any(likeness(term, word) >= _SAME_STEM for term in terms for word in words)


_SAME_STEM: Final = 0.65


def load_talks(path: Path) -> list[Talk]:
    """The conversations of a file. Raises OSError, ValueError."""
    return [_talk(sample) for sample in json.loads(path.read_text())]


def paraphrases() -> list[tuple[str, str]]:
    """Pairs of a question and the turn that answers it. Raises ValueError when two have a stem in common."""
    pairs = [(question, answer) for question, answer in tomllib.loads(_PARAPHRASES.read_text())["pairs"]]
    for question, answer in pairs:
        words = words_of(answer)
        if any(likeness(term, word) > 0 for term in terms_of(question) for word in words):
            raise ValueError(f"{question!r} and {answer!r} have a stem in common")
    return pairs


def haystack(talks: Sequence[Talk], seed: int = 7) -> Talk:
    """The answers of the pairs among 3,000 other turns: those of the talks, and as many made ones as are missing."""
    draw = random.Random(seed)  # noqa: S311 - where the answers stand
    parts = tomllib.loads(_PARAPHRASES.read_text())
    others = [turn for talk in talks for turn in talk.turns][:_OTHERS]
    made = [
        f"{who} {did} the {what} {when}."
        for who in parts["who"]
        for did in parts["did"]
        for what in parts["what"]
        for when in parts["when"]
    ]
    last = others[-1].when if others else dt.datetime(2023, 1, 1, tzinfo=dt.UTC)
    for number, text in enumerate(draw.sample(made, _OTHERS - len(others))):
        others.append(Said(f"M{number}", -1 - number // 20, last + number * _STEP, "Rosa", text))
    pairs = paraphrases()
    places = sorted(draw.sample(range(len(others)), len(pairs)))
    turns: list[Said] = []
    for place, turn in enumerate(others):
        while places and places[0] == place:
            number = len(pairs) - len(places)
            turns.append(Said(f"P{number}", turn.session, turn.when, "Ada", pairs[number][1]))
            places.pop(0)
        turns.append(turn)
    sessions: dict[object, int] = {}
    numbered = []
    for turn in turns:
        key = (turn.session, turn.when.date())
        numbered.append(Said(turn.key, sessions.setdefault(key, len(sessions)), turn.when, turn.speaker, turn.body))
    asked = tuple(Asked(question, (f"P{number}",), 0) for number, (question, _) in enumerate(pairs))
    keys = [turn.key if turn.key[0] == "P" else f"O{place}" for place, turn in enumerate(numbered)]
    unique = [Said(key, one.session, one.when, one.speaker, one.text) for key, one in zip(keys, numbered, strict=True)]
    return Talk("paraphrases", tuple(unique), asked)


def _talk(sample: Mapping[str, Any]) -> Talk:
    said = sample["conversation"]
    turns = []
    for number in sorted(int(match[1]) for name in said if (match := _SESSION.fullmatch(name))):
        began = dt.datetime.strptime(said[f"session_{number}_date_time"], _WHEN).replace(tzinfo=dt.UTC)
        for place, one in enumerate(said[f"session_{number}"]):
            when, caption = began + place * _STEP, one.get("blip_caption") or ""
            turns.append(Said(one["dia_id"], number, when, one["speaker"], one["text"], caption))
    known, dropped, questions = {turn.key for turn in turns}, 0, []
    for one in sample["qa"]:
        named = [key for text in one.get("evidence") or () for key in _TURN.findall(text) or [""]]
        evidence = tuple(dict.fromkeys(key for key in named if key in known))
        dropped += sum(key not in known for key in named)
        if evidence:
            questions.append(Asked(one["question"], evidence, one["category"]))
    return Talk(sample["sample_id"], tuple(turns), tuple(questions), dropped)
