"""The scripted model of the figure on model calls: answers of the usual length, in every form that is asked for."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from daemon.core.working_memory import estimate_tokens

LEARN, CHANGE, STEPS = "by the way, I lead the pump team", "you sound different", re.compile(r"in (\d) steps")
"""The words of the newest message that make the model learn something, change its mood, or take so many steps."""

_REPLY: Final = (
    "The second pump was left running over the weekend, which is why the figures of last week look so odd. I'd compare "
    "them with the log of the valve first; if both agree, the counter is fine and only the schedule has to be mended."
)
_THOUGHT: Final = "They want the plain cause before anything else, and the valve's log is the quickest way to be sure."
_POEM: Final = "Bronze remembers the hand that poured it,\nwater the hill it came down.\n" * 4
_CHOICE: Final = re.compile(r"choice (\d+) of at most")
_NO: Final = ("told something lasting", "to other matters")
_WISHES: Final = {
    "Who should I ask": "person",
    "scholars": "scholarship",
    "drains": "scholarship",
    "Write me a poem": "poem",
    "ind out": "research",
}
"""What a message calls for, by words in it."""


@dataclass(slots=True)
class Thinker:
    """Answers requests in the Chat Completions protocol; `newest` is the text of the newest message, set by the figure.

    `usage` counts by the daemon's own estimate. The prefix that a request shares
    with an earlier one to the same model counts as cached, as at an endpoint that caches prefixes.
    """

    newest: str = ""
    _seen: dict[str, list[str]] = field(default_factory=dict)

    def answer(self, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text of the answer and the usage to be reported."""
        asked = "\n\n".join(f"{one['role']}: {one['content']}" for one in body["messages"])
        form = body.get("response_format", {}).get("json_schema", {})
        text = self._text(asked, form.get("name", ""), form.get("schema", {}))
        before = self._seen.setdefault(body["model"], [])
        cached = max((_common(asked, one) for one in before), default=0)
        before.append(asked)
        usage = {
            "prompt_tokens": estimate_tokens(asked),
            "completion_tokens": estimate_tokens(text),
            "total_tokens": estimate_tokens(asked) + estimate_tokens(text),
            "prompt_tokens_details": {"cached_tokens": estimate_tokens(asked[:cached])},
        }
        return text, usage

    def _text(self, asked: str, step: str, schema: Mapping[str, Any]) -> str:
        if step:
            return json.dumps(self._structured(asked, step, schema))
        if "<external_dialogue" in asked:
            wish = next((wish for words, wish in _WISHES.items() if words in self.newest), "nothing")
            return tagged(_REPLY, _THOUGHT, learned=LEARN in self.newest, changed=CHANGE in self.newest, wish=wish)
        return _POEM if "Let one image carry it" in asked.rpartition("user: ")[2] else _REPLY

    def _structured(self, asked: str, step: str, schema: Mapping[str, Any]) -> object:
        """An answer by schema. Raises ValueError for an unknown step."""
        match step:
            case "mental_query":
                statement = asked.rpartition("Weigh this statement")[2]
                learned = LEARN in self.newest and _NO[0] in statement
                return {"holds": learned or not any(words in statement for words in _NO)}
            case "decision":
                return {"choice": schema["properties"]["choice"]["enum"][0]}
            case "visitor_notes":
                return {"add": ["Leads the pump team."], "correct": [], "retire": []}
            case "feel":
                return {"emotional_state": "focused", "topic": "the second pump", "task": ""}
            case "choose_actions":
                return {"reasoning": _THOUGHT, "actions": [self._action(asked)]}
        raise ValueError(f"the scripted model doesn't know the step {step}")

    def _action(self, asked: str) -> dict[str, str]:
        """Research and Think by turns, until the number of steps that the message asks for."""
        wanted, choice = STEPS.search(self.newest), _CHOICE.findall(asked)
        number = int(choice[-1]) if choice else 1
        if wanted is None or number >= int(wanted[1]):
            return {"name": "Respond", "input": "the cause, then the remedy"}
        return {"name": "Research" if number % 2 else "Think", "input": f"the second pump, part {number}"}


def tagged(
    reply: str,
    thought: str = "They want an answer.",
    *,
    learned: bool = False,
    changed: bool = False,
    wish: str = "nothing",
) -> str:
    """A proper answer to the one step of an ordinary reply."""
    return (
        f"<calls_for>{wish}</calls_for>\n"
        "<stimulus_verb>asked</stimulus_verb>\n"
        f'<internal_monologue verb="noticed">{thought}</internal_monologue>\n'
        f'<external_dialogue verb="said">{reply}</external_dialogue>\n'
        f"<user_model_check>{str(learned).lower()}</user_model_check>\n"
        f"<soul_state_check>{str(changed).lower()}</soul_state_check>"
    )


def _common(one: str, other: str) -> int:
    """The length of the common prefix of two texts."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == other[:middle] else (low, middle - 1)
    return low
