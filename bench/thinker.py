"""The scripted model of the figure on model calls: answers of the usual length, in every form that is asked for."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from bench.prefix_cache import AutomaticCache, Counted, PrefixCache, blocks_of
from daemon.core.working_memory import estimate_tokens
from daemon.mind.thought import bare_thought

LEARN, CHANGE, STEPS = "by the way, I lead the pump team", "you sound different", re.compile(r"in (\d) steps")
"""The words of the newest message that make the model learn something, change its mood, or take so many steps."""

_REPLY: Final = (
    "The second pump was left running over the weekend, which is why the figures of last week look so odd. I'd compare "
    "them with the log of the valve first; if both agree, the counter is fine and only the schedule has to be mended."
)
_THOUGHT: Final = "They want the plain cause before anything else, and the valve's log is the quickest way to be sure."
_POEM: Final = "Bronze remembers the hand that poured it,\nwater the hill it came down.\n" * 4
_CHOICE: Final = re.compile(r"choice (\d+) of at most")
_NO: Final = ("told something lasting", "to other matters", "turned from scholarly")
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
    """Answers requests in the Chat Completions protocol; `newest` is the text of the newest message, and `parts` are
    fields of whole thoughts that are otherwise than usual; both are set by the figure.

    `counted` has what each request cost, by the daemon's own estimate of tokens; `cache` says what was sent before.
    """

    newest: str = ""
    parts: Mapping[str, object] = field(default_factory=dict)
    cache: PrefixCache = field(default_factory=AutomaticCache)
    counted: list[Counted] = field(default_factory=list)

    def answer(self, body: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """The text of the answer and the usage to be reported."""
        asked = "\n\n".join(block.text for block in blocks_of(body))
        text = self._text(asked, body.get("response_format", {}).get("json_schema", {}).get("schema", {}))
        counted, out = self.cache.count(body), estimate_tokens(text)
        self.counted.append(counted)
        usage = {
            "prompt_tokens": counted.tokens,
            "completion_tokens": out,
            "total_tokens": counted.tokens + out,
            "prompt_tokens_details": {"cached_tokens": counted.cached, "cache_write_tokens": counted.written},
        }
        return text, usage

    def _text(self, asked: str, schema: Mapping[str, Any]) -> str:
        if "external_speech" in schema.get("properties", ()):
            return json.dumps(_whole_thought(self.newest) | dict(self.parts))
        if schema:
            return json.dumps(self._structured(asked, schema["properties"]))
        if "<external_dialogue" in asked:
            wish = next((wish for words, wish in _WISHES.items() if words in self.newest), "nothing")
            asks_for_it = "<calls_for>" in asked  # an earlier version's form has none
            learned, changed = LEARN in self.newest, CHANGE in self.newest
            return tagged(_REPLY, _THOUGHT, learned=learned, changed=changed, wish=wish if asks_for_it else "")
        return _POEM if "Let one image carry it" in asked.rpartition("user: ")[2] else _REPLY

    def _structured(self, asked: str, wanted: Mapping[str, Any]) -> object:
        """An answer by the fields of a schema, which name its step. Raises ValueError for an unknown step."""
        match list(wanted):
            case [verdict] if wanted[verdict].get("type") == "boolean":
                statement = asked.rpartition("Weigh this statement")[2]
                learned = LEARN in self.newest and _NO[0] in statement
                return {verdict: learned or not any(words in statement for words in _NO)}
            case ["choice"]:
                return {"choice": wanted["choice"]["enum"][0]}
            case fields if "add" in fields:
                quoted = {"text": "Has a pump.", "quote": self.newest}
                without = wanted["add"]["items"].get("type") == "string"  # an earlier version's lines are texts
                return {"add": ["Leads the pump team." if without else quoted], "correct": [], "retire": []}
            case ["emotional_state", *_]:
                return {"emotional_state": "focused", "topic": "the second pump", "task": ""}
            case ["ideas"]:
                return {"ideas": ["look at the valve", "look at the counter"]}
            case fields if "actions" in fields:
                return {"reasoning": _THOUGHT, "actions": [self._action(asked)]}
        raise ValueError(f"the scripted model doesn't know a step with the fields {', '.join(wanted)}")

    def _action(self, asked: str) -> dict[str, str]:
        """Research and Think by turns, until the number of steps that the message asks for."""
        wanted, choice = STEPS.search(self.newest), _CHOICE.findall(asked)
        number = int(choice[-1]) if choice else 1
        if wanted is None or number >= int(wanted[1]):
            return {"name": "Respond", "input": "the cause, then the remedy"}
        return {"name": "Research" if number % 2 else "Think", "input": f"the second pump, part {number}"}


def _whole_thought(newest: str) -> dict[str, object]:
    """A thought with the usual reply, one expectation and what it feels; the rest is none."""
    check = {"kind": "mention", "who": "", "words": ["valve", "log"], "id": "", "name": ""}
    expected = {"what": "They'll compare the pump with the valve's log.", "confidence": 0.7, "timeframe": "in 2h"}
    shifts = {"valence_shift": 0.1, "arousal_shift": 0.0, "dominance_shift": 0.0}
    return bare_thought(
        calls_for=next((wish for words, wish in _WISHES.items() if words in newest), "nothing"),
        inner_speech=_THOUGHT,
        external_speech=_REPLY,
        confidence=0.8,
        predictions=[{**expected, "check": check}],
        emotional_state={"felt_quality": "at ease", **shifts, "mood": ""},
    )


def tagged(
    reply: str,
    thought: str = "They want an answer.",
    *,
    learned: bool = False,
    changed: bool = False,
    wish: str = "nothing",
) -> str:
    """A proper answer to the one step of an ordinary reply; an empty `wish` leaves its element out."""
    first = f"<calls_for>{wish}</calls_for>\n" if wish else ""
    return (
        f"{first}<stimulus_verb>asked</stimulus_verb>\n"
        f'<internal_monologue verb="noticed">{thought}</internal_monologue>\n'
        f'<external_dialogue verb="said">{reply}</external_dialogue>\n'
        f"<user_model_check>{str(learned).lower()}</user_model_check>\n"
        f"<soul_state_check>{str(changed).lower()}</soul_state_check>"
    )
