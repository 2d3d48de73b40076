"""A model whose thoughts make goals, promises and expectations, use tools and ask for clicks, as messages say.

Each message has a marker. "plan it" makes a goal that is due a second later, "and look" has the unasked thought about
it use a tool; "promise it" promises words; "expect it" makes expectations that a reply, a word, a goal and time decide;
"look it up" uses a tool that reads, "write it down" asks for a click on one that writes. What is due is done by the
unasked thought that perceives it, and each thought about a message speaks.
"""

import json
import re
from collections.abc import Sequence
from typing import Final

from daemon.core.ports.services import JUST_THOUGHT, PROMISED_HERE, THOUGHT_ALONE, Prompt
from daemon.llm.placeholder import newest_messages
from tests.kill.mind import KilledMind

SEEN: Final = "Seen:"
"""In the inner speech of a thought it stands before the goals that were due in its prompt."""
DONE: Final = "Done:"
"""The same, before those that it completes."""
KEPT: Final = "I came back to"
"""In the post that keeps promises it stands before their markers."""
MARKER: Final = re.compile(r"marker\d{5}")
LOOK_UP: Final = "shelf/look_up"
WRITE_DOWN: Final = "shelf/write_down"

_DUE: Final = re.compile(r'about="your goal (G\d+), due since [^"]*">\n(.*?)\n</note-', re.DOTALL)
_LATER: Final = re.compile(r'about="your goal (G\d+), due at ')
_OWED: Final = re.compile(r'about="your goal (G\d+)">\n(.*?)\n</note-', re.DOTALL)
_ASKED: Final = re.compile(r"write (marker\d{5}) down")
_BLANK: Final = {"kind": "none", "who": "", "words": [], "id": "", "name": ""}
_MOST_EXPECTED: Final = 3
_MOST_DONE: Final = 6  # goals; a thought may change eight


class BusyMind(KilledMind):
    """A `KilledMind` that thinks so."""

    def _answer(self, prompt: Prompt) -> str:
        if prompt.step != "think":
            return super()._answer(prompt)
        return json.dumps(_alone(prompt) if is_unasked(prompt) else _answering(prompt))

    def _structured(self, prompt: Prompt) -> dict[str, object]:
        match prompt.step:
            case "choose_actions":
                return {"reasoning": "", "actions": [_action(prompt)]}
            case "use_tool":
                asked = _ASKED.findall(_all_of(prompt))
                return {"tool": WRITE_DOWN, "arguments": {"word": asked[-1]}} if asked else _NO_TOOL
        return super()._structured(prompt)


_NO_TOOL: Final[dict[str, object]] = {"tool": "none", "arguments": {}}
_SILENT: Final[dict[str, object]] = {"calls_for": "nothing", "external_speech": "", "user_model_check": False}


def is_unasked(prompt: Prompt) -> bool:
    """Whether it is for a thought that no words have woken."""
    return THOUGHT_ALONE in prompt.messages[-1].text


def marker_in(text: str) -> str:
    """The marker of a message or of a goal; empty without any."""
    found = MARKER.search(text)
    return found[0] if found else ""


def _answering(prompt: Prompt) -> dict[str, object]:
    """The thought about messages: it does what each of them says, and speaks, but for a look at first."""
    said, text = newest_messages(prompt), prompt.messages[-1].text
    asks = [one for one in said if "look it up" in one]
    if asks and not _has_looked(prompt):
        return {**_SILENT, "inner_speech": "I look.", "tool_calls": [_look(asks[0])]}
    return {
        "calls_for": "research" if any("write it down" in one for one in said) else "nothing",
        "inner_speech": _noticed([name for name, _ in _DUE.findall(text)], []),
        "external_speech": f"I heard {', '.join(filter(None, map(marker_in, said)))}.",
        "user_model_check": False,
        "goal_updates": [_goal(one) for one in said if "plan it" in one or "promise it" in one],
        "predictions": [one for each in said for one in _expected(each, text)][:_MOST_EXPECTED],
    }


def _alone(prompt: Prompt) -> dict[str, object]:
    """The thought of its own: what is due is done, after a look where it takes one, and what was promised is said.

    What was promised is done by the words that keep it.
    """
    text = prompt.messages[-1].text
    opened = [one.text for one in prompt.messages if PROMISED_HERE in one.text]
    due, owed = _DUE.findall(text), _OWED.findall(opened[-1].rpartition(PROMISED_HERE)[2]) if opened else []
    if any("look" in goal for _, goal in due) and not _has_looked(prompt):
        return {**_SILENT, "inner_speech": "I look.", "tool_calls": [_look(due[0][1])]}
    over = (name for name, goal in due if "promise" not in goal)
    done = list(dict.fromkeys((*(name for name, _ in owed), *over)))[:_MOST_DONE]
    return {
        **_SILENT,
        "inner_speech": _noticed([name for name, _ in (*due, *owed)], done),
        "external_speech": f"{KEPT} {', '.join(marker_in(goal) for _, goal in owed)}." if owed else "",
        "goal_updates": [_completed(name) for name in done],
    }


def _noticed(seen: Sequence[str], done: Sequence[str]) -> str:
    """What a thought says of goals: which were due, and which of them it completes."""
    return f"{SEEN} {' '.join(dict.fromkeys(seen))} {DONE} {' '.join(done)}"


def _completed(name: str) -> dict[str, object]:
    return {"action": "complete", "goal_id": name, "why": "it was due"}


def _goal(words: str) -> dict[str, object]:
    marker, look = marker_in(words), " look" * ("and look" in words)
    if "promise it" in words:
        return {"action": "add", "goal": f"{marker} promise", "due": "in 1s", "follow_up": True}
    return {"action": "add", "goal": f"{marker} plan{look}", "due": "in 1s"}


def _expected(words: str, text: str) -> list[dict[str, object]]:
    """A word within two seconds, the next goal that is known, done within the hour, and sometimes a reply by then.

    What waits for the same as an open expectation is refused, so that replies are not awaited each time.
    """
    if "expect it" not in words:
        return []
    marker, goals = marker_in(words), _LATER.findall(text)
    answer = int(marker[-1]) % 2 == 0
    return [
        _prediction(f"{marker} news", 0.8, "in 2s", kind="mention", words=["news", marker]),
        *(_prediction(f"{marker} goal", 0.7, "in 50m", kind="goal", id=name) for name in goals[:1]),
        *(_prediction(f"{marker} answer", 0.9, "in 50m", kind="reply") for _ in range(answer)),
    ]


def _prediction(what: str, sure: float, until: str, **check: object) -> dict[str, object]:
    return {"what": what, "confidence": sure, "timeframe": until, "check": {**_BLANK, **check}}


def _look(words: str) -> dict[str, object]:
    return {"tool": LOOK_UP, "arguments": json.dumps({"word": marker_in(words)})}


def _has_looked(prompt: Prompt) -> bool:
    return any(JUST_THOUGHT in one.text for one in prompt.messages)


def _action(prompt: Prompt) -> dict[str, str]:
    """What a problem takes next: to ask for the tool that writes, once, and to answer then."""
    asks = [one for one in newest_messages(prompt) if "write it down" in one]
    if asks and "chose: Research" not in _all_of(prompt):
        return {"name": "Research", "input": f"write {marker_in(asks[0])} down"}
    return {"name": "Respond", "input": ""}


def _all_of(prompt: Prompt) -> str:
    return "\n".join((*(part.text for part in prompt.system), *(one.text for one in prompt.messages)))
