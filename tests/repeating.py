"""A model that says, notes, guesses and sums up every word of a pattern that it is shown: what is kept of it is all."""

import json
import re
from collections.abc import Callable, Iterable, Mapping

from daemon.core.ports.models import Prompt
from tests.given import shown, tagged


class Repeating:
    """Answers each cognitive step with the words of a prompt that match `words`; `quotes` matches what it may quote."""

    def __init__(self, words: str, quotes: str) -> None:
        self._words, self._quotes = re.compile(words), re.compile(quotes)

    def answer(self, prompt: Prompt) -> str:
        """What it says to a prompt."""
        text = shown(prompt)
        found = ", ".join(dict.fromkeys(self._words.findall(text)))
        if prompt.step in _STEPS:
            return json.dumps(_STEPS[prompt.step](found, dict.fromkeys(self._quotes.findall(text))))
        if prompt.json_schema is not None:
            return '{"holds": false}'
        if prompt.step == "summarize":
            return f"They spoke of {found}."
        return tagged(f"I read: {found or 'nothing'}.", learned=True, moved=True, monologue=f"So many: {found}.")


def _notes(words: str, quotes: Iterable[str]) -> Mapping[str, object]:
    add = [{"text": one, "quote": one, "subject": "it", "predicate": "is", "object": one} for one in quotes]
    return {"thought": words, "whispers": words, "add": add, "correct": [], "retire": []}


def _report(words: str, _: Iterable[str]) -> Mapping[str, object]:
    return {
        "content": words,
        "action_taken": words,
        "key_outcome": words,
        "future_implication": words,
        "current_task": words,
        "completed_items": [words],
        "pending_items": [words],
        "significance": 6,
        "tags": [words],
        "journal": words,
        "tone": "glad",
    }


def _feeling(words: str, _: Iterable[str]) -> Mapping[str, object]:
    return {"emotional_state": "neutral", "topic": words, "task": words, "question": words}


def _looked(words: str, _: Iterable[str]) -> Mapping[str, object]:
    return {"pictures": [{"description": words, "visible_text": words, "intensity": 0.5}]}


def _distilled(words: str, _: Iterable[str]) -> Mapping[str, object]:
    return {"claims": [{"text": words, "notes": [1, 2]}], "significance": 8}


def _intended(words: str, _: Iterable[str]) -> Mapping[str, object]:
    return {"what": words, "about": words, "who": "", "silence": ""}


_STEPS: Mapping[str, Callable[[str, Iterable[str]], Mapping[str, object]]] = {
    "visitor_notes": _notes,
    "close_episode": _report,
    "feel": _feeling,
    "look": _looked,
    "distil": _distilled,
    "intend": _intended,
}
