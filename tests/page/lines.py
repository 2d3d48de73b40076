"""What is said in the journey on the page: by the person, by the scripted model, and by the daemon in its own words."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Final

from daemon.core.value import Value
from tests.page.loopback_model import ModelCall, tagged

_SET_FOR: Final = re.compile(r"You have set a reminder for \w+, [\d-]+ (\d\d:\d\d)")


class Exchange(Value):
    """A message, what it calls for, and the model's reply; `seen` are words of the reply as the page shows them."""

    says: str
    reply: str
    seen: str
    thought: str = "They want an answer."
    wish: str = "nothing"
    learned: bool = False
    moved: bool = False

    def answer(self, **facts: str) -> str:
        """The model's whole answer in the form that it is asked for."""
        reply = self.reply.format(**facts) if facts else self.reply
        made = tagged(reply, self.thought, learned=self.learned, moved=self.moved)
        return made.replace("<calls_for>nothing<", f"<calls_for>{self.wish}<")


class Search(Value):
    """A problem that is looked up: the query, the thought beside it, the reply with the files' names in braces."""

    says: str
    query: str
    thought: str
    brief: str
    reply: str
    files: Mapping[str, str]


class Lines(Value):
    """Everything that is said in one language. `house` are words of the daemon, by keys of `daemon.core.sentences`."""

    person: str
    locale: str
    zone: str
    greeting: Exchange
    trouble: Exchange
    back: Exchange
    poem: Exchange
    scholarly: Exchange
    search: Search
    note: Exchange
    other_soul: Exchange
    reminder: Exchange
    due: Exchange
    noticed: str
    guessed: str
    house: Mapping[str, str]

    def answer(self, call: ModelCall) -> str:
        """The model's answer to a call of the journey."""
        reply = self._answers().get(call.step, self.scholarly.thought)
        return reply if isinstance(reply, str) else reply(call)

    def _answers(self) -> Mapping[str, str | Callable[[ModelCall], str]]:
        return {
            "respond": self._reply,
            "mental_query": lambda call: json.dumps({"holds": "answers the question that you asked" in call.prompt}),
            "choose_actions": self._choice,
            "use_tool": self._tool,
            "external_dialog": self._aloud,
            "intend": json.dumps({"when": "in 20m", "what": self.due.says, "drop": []}),
            "feel": json.dumps({"emotional_state": "delighted", "topic": self.trouble.says, "task": ""}),
            "same_lines": json.dumps({"same": []}),
            "close_episode": json.dumps({"content": self.trouble.says, "significance": 3}),
            "visitor_notes": json.dumps(
                {"add": [{"text": self.noticed, "quote": self.greeting.says}], "whispers": self.guessed}
            ),
        }

    def _reply(self, call: ModelCall) -> str:
        """What was scripted for the newest message, after the wish that it calls for."""
        if self.search.says in call.last:
            return tagged("").replace("<calls_for>nothing<", "<calls_for>research<")
        if self.reminder.says in call.last and (due := _SET_FOR.search(call.prompt)):
            return self.reminder.answer(time=due[1])
        exchanges = (self.greeting, self.trouble, self.back, self.poem, self.scholarly)
        later = (self.note, self.other_soul, self.reminder, self.due)
        return next(one for one in (*exchanges, *later) if one.says in call.last).answer()

    def _choice(self, call: ModelCall) -> str:
        said = _talk(call)
        if self.search.says in said:
            if "## Results" not in call.prompt:
                return chosen(("Research", self.search.query), ("Think", self.search.thought))
            return chosen(("Respond", self.search.brief))
        allowed = "has allowed what you asked" in call.prompt
        return chosen(("Respond", self.note.seen) if allowed else ("Research", self.note.thought))

    def _tool(self, call: ModelCall) -> str:
        if self.note.says in _talk(call):
            return json.dumps(
                {"tool": "shelf/write_down", "arguments": {"path": "notes.txt", "text": self.note.thought}}
            )
        return json.dumps({"tool": "none", "arguments": {}})

    def _aloud(self, call: ModelCall) -> str:
        said = _talk(call)
        if self.search.says in said:
            return self.search.reply.format(**{name: _number(call, name) for name in map(_stem, self.search.files)})
        return self.note.reply


def chosen(*actions: tuple[str, str], why: str = "It is the shortest way.") -> str:
    return json.dumps({"actions": [{"name": name, "input": given} for name, given in actions], "reasoning": why})


def _talk(call: ModelCall) -> str:
    """What users said in this conversation; a search may show words of others in the prompt, too."""
    return "\n".join(call.messages)


def _stem(name: str) -> str:
    return name.partition(".")[0]


def _number(call: ModelCall, stem: str) -> str:
    """The number under which a file's passage stands in the results."""
    found = re.search(rf"\[(\d+)\][^\n]*/{stem}\.", call.prompt)
    assert found is not None, f"{stem} is not among the results:\n{call.prompt}"
    return found[1]
