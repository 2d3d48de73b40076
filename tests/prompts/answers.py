"""A model's proper answers to every step, so that each scene runs to its end."""

import json
from collections.abc import Mapping, Sequence

from daemon.core.ports.services import Prompt
from tests.given import tagged

_SAID = "The valve, I think: it was changed in October."
_ANSWERS: Mapping[str, str] = {
    "look": '{"pictures": [{"description": "A pump."}]}',
    "respond": tagged(_SAID),
    "think": json.dumps({"calls_for": "nothing", "inner_speech": "The valve.", "external_speech": _SAID}),
    "external_dialog": _SAID,
    "poetic_composition": "Bronze remembers the hand,\nwater the hill.",
    "internal_monologue": "They want the plain cause.",
    "instruction": "Ada's second pump is loud; please look at the north valve.",
    "mental_query": '{"holds": true}',
    "brainstorm": '{"ideas": ["north valve", "counter of pump two"]}',
    "visitor_notes": '{"thought": "They lead.", "whispers": "I hope no one asks who left it on.", "add": []}',
    "visitor_whispers": "I hope no one asks who left it on.",
    "feel": '{"emotional_state": "focused", "topic": "the second pump", "task": "", "question": "Did the dam hold?"}',
    "use_tool": '{"tool": "none", "arguments": {}}',
    "note_down": '{"line": "Looks after the valves", "quote": "I look after the valves now", "significance": 6}',
    "intend": '{"when": "2025-11-22T09:00", "what": "look at the valve", "drop": []}',
    "liaise": '{"session": "ada-api", "words": "welche Migration tenant_id umbenennt?", "task": false}',
    "close_episode": '{"content": "Ada leads the pump team.", "pending_items": ["draw the plan by Monday"]}',
    "digest": "- Ben orders two more valves by Friday.\n- Open: who pays.",
    "distil": '{"claims": [{"text": "Ada read the counter of pump two for a week.", "notes": [1, 8]}]}',
    "same_lines": '{"same": []}',
    "summarize": "Open:\n- Kothar owes Ada a plan\nSo far:\nThe pump ran all weekend.",
}


class Answers:
    """Answers each step in its form; `choices` are lists of actions, one a choice; `first` are the first answers."""

    def __init__(self, choices: Sequence[Sequence[tuple[str, str]]] = (), first: Sequence[str] = ()) -> None:
        self._choices, self._first = list(choices), list(first)

    async def __call__(self, prompt: Prompt) -> str:
        if self._first:
            return self._first.pop(0)
        match prompt.step:
            case "decision":
                schema = json.loads(json.dumps(prompt.json_schema))
                return json.dumps({"choice": schema["properties"]["choice"]["enum"][0]})
            case "choose_actions":
                chosen = self._choices.pop(0) if self._choices else [("Respond", "the cause")]
                actions = [{"name": name, "input": words} for name, words in chosen]
                return json.dumps({"reasoning": "The cause comes first.", "actions": actions})
        return _ANSWERS[prompt.step]
