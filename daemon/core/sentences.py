"""The English sentences that the daemon says to people, from `sentences.toml`. `[words]` in soul.toml replaces them."""

import re
from collections.abc import Mapping, Sequence
from string import Formatter
from types import MappingProxyType
from typing import Final

from msgspec import field

from daemon.core.packaged import packaged_table
from daemon.core.value import Value

OUTCOMES: Final = ("allowed", "refused", "expired", "lapsed", "invite_refused")
"""The sentences below a decided request for permission."""

LONGEST: Final = 400
"""Characters of a sentence, at most."""

LONGEST_LABEL: Final = 60
"""Characters of one of LABELS, at most."""

_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]")


def placeholders_in(text: str) -> tuple[str, ...]:
    """Return the names in braces, in order. Raises ValueError for braces that are no plain placeholder."""
    wrong = "holds braces that are no placeholder; write {{ and }} for braces themselves"
    try:
        parts = [part for part in Formatter().parse(text) if part[1] is not None]
    except ValueError as error:
        raise ValueError(wrong) from error
    if any(not str(name).isidentifier() or form or conversion for _, name, form, conversion in parts):
        raise ValueError(wrong)
    return tuple(dict.fromkeys(str(name) for _, name, _, _ in parts))


def fault_of_form(text: object, *, label: bool) -> str | None:
    """Return how a text is no sentence to say, or None."""
    if not isinstance(text, str) or not text.strip() or _UNSEEN.search(text):
        return "must be one line of text"
    most = LONGEST_LABEL if label else LONGEST
    if len(text) > most:
        return f"has {len(text)} characters; at most {most} fit there"
    try:
        placeholders_in(text)
    except ValueError as error:
        return str(error)
    return None


def checked(groups: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    """Return the sentences of all groups by key. Raises ValueError for a key that occurs twice, and for a bad text."""
    found: dict[str, str] = {}
    for group, sentences in groups.items():
        for key, text in sentences.items():
            if fault := "occurs twice" if key in found else fault_of_form(text, label=group == "labels"):
                raise ValueError(f"sentences.toml: {key} {fault}")
            found[key] = text
    return MappingProxyType(found)


_GROUPS: Final = packaged_table("core/sentences.toml")

SENTENCES: Final = checked(_GROUPS)
"""All sentences by key."""

LABELS: Final = frozenset(_GROUPS["labels"])
"""The sentences on a button, a card, a suggestion or the status line, where Slack limits the length."""


class Sentence(str):
    """An English sentence of the table that remembers its key and facts, for saying it in other words."""

    __slots__ = ("facts", "key")

    def __new__(cls, key: str, **facts: object) -> "Sentence":
        """Make the sentence of a key. Raises KeyError for an unknown key or a missing fact."""
        made = super().__new__(cls, SENTENCES[key].format(**facts))
        made.key, made.facts = key, facts
        return made

    key: str
    facts: Mapping[str, object]


class Words(Value):
    """The words of one soul in one language. `own` holds those that differ from the table."""

    own: Mapping[str, str] = field(default_factory=dict)

    def say(self, key: str, **facts: object) -> str:
        """Return the sentence of a key. Raises KeyError for an unknown key or a missing fact."""
        return self.own.get(key, SENTENCES[key]).format(**facts)

    def tell(self, sentence: str) -> str:
        """Return a Sentence in these words, and any other text unchanged."""
        return self.say(sentence.key, **sentence.facts) if isinstance(sentence, Sentence) else sentence

    def reworded(self, said: str) -> str:
        """Return a note stored in English in these words, and any other text unchanged."""
        for key, pattern in _WITH_FACTS.items():
            if (read := pattern.fullmatch(said)) is not None:
                return self.say(key, **read.groupdict())
        return self.say(_KEYS[said]) if said in _KEYS else said

    def with_outcome(self, said: str) -> str:
        """Return a stored request for permission with its outcome, the last line, in these words."""
        for key in OUTCOMES:
            if (asked := said.removesuffix(f"\n\n_{SENTENCES[key]}_")) != said:
                return f"{asked}\n\n_{self.say(key)}_"
        return said


HOUSE_WORDS: Final = Words()
"""The table without words of a soul's own."""

_FACTS: Final = {"when": "(?P<when>[-0-9: ]+)", "name": r"(?P<name>[^\n]+)"}
_WITH_FACTS: Final = {
    key: re.compile(re.sub(r"\\\{(\w+)\\\}", lambda fact: _FACTS[fact[1]], re.escape(SENTENCES[key])))
    for key in ("words_read", "handed_on", "handed_here")
}
"""The notes that hold a fact: the time of an admin's look, or the name of a soul."""

_KEYS: Final[Mapping[str, str]] = MappingProxyType({said: key for key, said in SENTENCES.items()})


SUGGESTIONS_MOST: Final = 4
"""Suggestions shown at once, at most (Slack: suggested prompts)."""


class Suggestion(Value):
    """A suggested prompt: pressing `title` sends `message`."""

    title: str
    message: str


def house_suggestions(words: Words) -> tuple[Suggestion, ...]:
    """Return the suggestions of a soul whose file names none."""
    names = ("prompt_hello", "prompt_problem", "prompt_memory")
    return tuple(Suggestion(words.say(f"{name}_title"), words.say(name)) for name in names)


def with_reminder(suggestions: Sequence[Suggestion], words: Words, when: str) -> tuple[Suggestion, ...]:
    """Return the suggestions, preceded by one for the user's next reminder, if there is one."""
    if not when:
        return tuple(suggestions[:SUGGESTIONS_MOST])
    own = Suggestion(words.say("prompt_reminder_title", when=when), words.say("prompt_reminder"))
    return (own, *suggestions[: SUGGESTIONS_MOST - 1])
