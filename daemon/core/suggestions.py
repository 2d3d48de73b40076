"""What a person is shown as a beginning of a talk: a short title, and the message that it sends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.sentences import Words

MOST: Final = 4
"""How many are shown at once (Slack: suggested prompts)."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One of them; who presses `title` sends `message`."""

    title: str
    message: str


def house_suggestions(words: Words) -> tuple[Suggestion, ...]:
    """Those of a soul whose file names none."""
    names = ("prompt_hello", "prompt_problem", "prompt_memory")
    return tuple(Suggestion(words.say(f"{name}_title"), words.say(name)) for name in names)


def with_reminder(suggestions: Sequence[Suggestion], words: Words, when: str) -> tuple[Suggestion, ...]:
    """The same, first of all one for a person's next reminder, if there is one."""
    if not when:
        return tuple(suggestions[:MOST])
    own = Suggestion(words.say("prompt_reminder_title", when=when), words.say("prompt_reminder"))
    return (own, *suggestions[: MOST - 1])
