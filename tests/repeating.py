"""A model that says, notes, guesses and sums up every word of a pattern that it is shown: what is kept of it is all."""

import json
import re
from collections.abc import Callable, Iterable, Mapping

from daemon.core.ports.services import Prompt
from tests.given import shown, tagged


class Repeating:
    """Answers each cognitive step with the words of a prompt that match `words`; `quotes` matches what it may quote."""

    def __init__(self, words: str, quotes: str) -> None:
        self._words, self._quotes = re.compile(words), re.compile(quotes)

    def answer(self, prompt: Prompt) -> str:
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


def _thought(words: str, _: Iterable[str]) -> Mapping[str, object]:
    """A whole thought with the words in each field; of the longest fields it has the beginning."""
    label, text = words[:70] or "nothing", words[:500] or "nothing"
    intend = {"type": "intend", "content": text, "when": "in 1h"}
    notes = [
        {"type": kind, "content": text, "tags": [label]} for kind in ("write_episodic", "write_semantic", "journal")
    ]
    return {
        "calls_for": "nothing",
        "inner_speech": f"So many: {words}.",
        "external_speech": f"I read: {words or 'nothing'}.",
        "short_answers": f"{label[:50]}|no",
        "emotion_signal": label[:40],
        "salience_anchor": label[:40],
        "intent": label,
        "user_model_check": True,
        "predictions": [
            {"what": text, "confidence": 0.7, "timeframe": "in 2h", "check": {"kind": "mention", "words": [label]}}
        ],
        "attention": {"focus_on": [text]},
        "memory_ops": [*notes, intend],
        "self_model_updates": dict.fromkeys(("current_state", "new_uncertainty", "recent_growth"), text),
        "world_model_updates": [{"entity": "the matter", "attribute": "state", "value": text}],
        "goal_updates": [{"action": "add", "goal": text, "due": "in 1h", "why": text}],
        "emotional_state": {"felt_quality": text[:200], "qualia": f"#b00020, {label[:50]}, {label[:50]}"},
        "growth_reflection": {"worth_learning": True, "what_to_learn": text},
        "value_updates": [{"action": "adopt", "value": label, "meaning": text, "why": text}],
        "identity_update": {"action": "draft", "text": text, "why": text},
        "cycle_rate": {"seconds": 3_600, "why": text},
    }


_STEPS: Mapping[str, Callable[[str, Iterable[str]], Mapping[str, object]]] = {
    "visitor_notes": _notes,
    "close_episode": _report,
    "feel": _feeling,
    "look": _looked,
    "distil": _distilled,
    "intend": _intended,
    "think": _thought,
}
