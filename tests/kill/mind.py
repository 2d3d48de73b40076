"""The model of the daemons that are killed: it answers at once in every form, and words of a message steer it.

"remind" calls for a reminder, which is set for a second later. "find out" calls for research, the loop of actions:
"at length" gets LENGTH numbered words, "as a file" LINES lines of code, and
"ask" leaves the problem parked until the user answers; "slowly" and "ponder" take so long that another message arrives
meanwhile, during a choice or after the reply. A whole thought says nothing; at "look it up" it uses a tool, and says
so. "plan it" makes a goal that is due a second later, "promise it" promises that; what it thinks by itself completes
each goal that is due, and keeps each promise.
"""

import json
import re
from collections.abc import AsyncGenerator, Mapping
from types import MappingProxyType
from typing import Final

from daemon.core.ports.services import JUST_THOUGHT, PROMISED_HERE, Clock, Completion, ModelRole, Prompt
from daemon.llm.placeholder import newest_messages, placeholder_answer
from tests.models import ScriptedLLM

LENGTH: Final = 600
"""The words of an answer at length."""

LINES: Final = 80
"""The lines of an answer as a file, which are more than a message shows well."""
FILE: Final = "\n".join(("```python", *(f"line_{number}()" for number in range(LINES)), "```"))

_SLOW: Final = 3.0  # seconds that a step takes, unless a message cuts it
_HELD_UP: Final = MappingProxyType({"choose_actions": "slowly", "visitor_notes": "ponder"})
_ALWAYS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "mental_query": {"holds": True},
        "distil": {"claims": [{"text": "They asked.", "notes": [1, 8]}]},
        "close_episode": {"content": "They asked.", "pending_items": ["answer"], "journal": "It went well."},
    }
)
ALONE: Final = "this is a thought of your own"
KEPT: Final = "It was looked at."
_DUE: Final = re.compile(r"your goal (G\d+), due since")
MOODS: Final = ("neutral", "focused")


class KilledMind(ScriptedLLM):
    """An `LLM`; `pace` is the time in seconds between two words."""

    def __init__(self, clock: Clock, pace: float) -> None:
        super().__init__()
        self._clock = clock
        self._pace = pace
        self._felt = 0

    def model_for(self, role: ModelRole) -> str:
        """See `LLM.model_for`."""
        return f"scripted/{role}"

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `LLM.stream`."""
        if prompt.step in _HELD_UP and _HELD_UP[prompt.step] in _newest(prompt):
            await self._clock.sleep(_SLOW)
        for word in self._answer(prompt).split(" "):
            await self._clock.sleep(self._pace)
            yield f"{word} "
        yield Completion(self.model_for(prompt.role), 1, 0, 1)

    def _answer(self, prompt: Prompt) -> str:
        if prompt.step == "think":
            return json.dumps(_thought(prompt))
        if prompt.json_schema is not None and (made := self._structured(prompt)):
            return json.dumps(made)
        if prompt.step == "respond":  # every reply teaches something
            answer = placeholder_answer(prompt).replace("_check>false<", "_check>true<")
            answer = answer.replace("<calls_for>nothing<", f"<calls_for>{_wish(prompt)}<")
            if "at length" in _newest(prompt):
                said = " ".join(f"word{number:04d}" for number in range(1, LENGTH + 1))
                answer = answer.replace("</external_dialogue", f" {said}</external_dialogue")
            if "as a file" in _newest(prompt):
                answer = answer.replace("</external_dialogue", f"\n\n{FILE}\n</external_dialogue")
            return answer
        return placeholder_answer(prompt)

    def _structured(self, prompt: Prompt) -> dict[str, object]:
        """An answer by schema; empty for a step that may answer as it likes."""
        if prompt.step in _ALWAYS:
            return dict(_ALWAYS[prompt.step])
        match prompt.step:
            case "visitor_notes":
                newest = _newest(prompt)
                return {"add": [{"text": f"They said: {newest}"[:120], "quote": newest}], "whispers": newest}
            case "intend":
                return {"when": "in 1s", "what": _note(prompt), "drop": []}
            case "feel":
                self._felt += 1
                return {"emotional_state": MOODS[self._felt % len(MOODS)], "topic": _newest(prompt)[:40], "task": ""}
            case "choose_actions":
                return {"reasoning": "", "actions": _actions(prompt)}
        return {}


def _newest(prompt: Prompt) -> str:
    return (newest_messages(prompt) or [""])[-1]


def _thought(prompt: Prompt) -> dict[str, object]:
    """A thought without words, or one that uses a tool, and the one after it, which speaks."""
    silent: dict[str, object] = {
        "calls_for": "nothing",
        "inner_speech": "No words are needed.",
        "external_speech": "",
        "user_model_check": False,
    }
    if ALONE in prompt.messages[-1].text:
        return {**silent, **_alone(prompt)}
    if "plan it" in _newest(prompt):
        return {**silent, "goal_updates": [{"action": "add", "goal": _newest(prompt), "due": "in 1s"}]}
    if "promise it" in _newest(prompt):
        promised = {"action": "add", "goal": _newest(prompt), "due": "in 1s", "follow_up": True}
        return {**silent, "external_speech": "It will be looked at.", "goal_updates": [promised]}
    if "look it up" not in _newest(prompt):
        return silent
    word = _newest(prompt).split()[0]
    if any(JUST_THOUGHT in one.text for one in prompt.messages):
        return {**silent, "external_speech": f"I looked {word} up."}
    return {**silent, "tool_calls": [{"tool": "shelf/look_up", "arguments": json.dumps({"word": word})}]}


def _wish(prompt: Prompt) -> str:
    """What the newest message calls for."""
    words = _newest(prompt)
    return "research" if "find out" in words else "reminder" if "remind" in words else "nothing"


def _note(prompt: Prompt) -> str:
    return f"note on {_newest(prompt).split()[0]}"


def _actions(prompt: Prompt) -> list[dict[str, str]]:
    """The actions that the newest message calls for; a question that the log of the loop holds is not asked again."""
    words, shown = _newest(prompt), "\n".join(part.text for part in prompt.system)
    respond = {"name": "Respond", "input": ""}
    if "remind" in words:
        return [{"name": "Remind", "input": f"in 1s: {_note(prompt)}"}, respond]
    if "ask" in words and "chose: Ask" not in shown:
        return [{"name": "Ask", "input": "what it is about"}]
    return [respond]


def _alone(prompt: Prompt) -> dict[str, object]:
    """What it thinks by itself: what is due is done, and what was promised is said."""
    due = _DUE.findall(prompt.messages[-1].text)
    done = [{"action": "complete", "goal_id": goal, "why": "it was due"} for goal in due]
    kept = any(PROMISED_HERE in each.text for each in prompt.messages)
    said = {"external_speech": KEPT} if kept else {}
    return {"inner_speech": f"Due: {', '.join(due)}.", "goal_updates": done, **said}
