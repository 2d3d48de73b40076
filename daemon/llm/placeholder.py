"""The placeholder models, which need no key: the echo, and the rehearsal that thinks by the lines of a message."""

import json
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from daemon.core.errors import ModelRefused
from daemon.core.ports.services import (
    JUST_THOUGHT,
    PROMISED_HERE,
    REPLY_MARK,
    THOUGHT_ALONE,
    Clock,
    Completion,
    ModelRole,
    Prompt,
    Speaker,
)
from daemon.core.text import OPENERS
from daemon.core.timetable import span_ms
from daemon.llm.answers import ModelId
from daemon.llm.endpoint import clean

_QUOTE_CAP = 500  # characters of a user's message that are quoted
_CHARACTERS_PER_TOKEN = 4

# Said or noted text is between `<said-CODE …>` or `<note-CODE …>` and the closing tag with the same code.
_SAID = re.compile(r"<(?P<code>(?:said|note)[\w-]*)[^>]*>(?P<text>.*?)</(?P=code)\s*>", re.DOTALL)
_CONTEXT = re.compile(r"<context(?P<code>[\w-]*)>.*?</context(?P=code)>", re.DOTALL)  # no user said this text
_TAG = re.compile(r"<[^<>]*>")
_HARMLESS = str.maketrans(dict.fromkeys(OPENERS, "("))  # quoted text must not look like a tag
_ESCAPES = re.compile(r"&(?=#|lt|less)", re.IGNORECASE)
_WORDS = re.compile(r"\s*\S+\s*")

_NO_THOUGHT = "No model is set up, so there is nothing for me to think with."
_ELEMENTS = (
    ("calls_for", "", "nothing"),
    ("stimulus_verb", "", "said"),
    ("internal_monologue", ' verb="noticed"', _NO_THOUGHT),
    ("external_dialogue", ' verb="said"', "{reply}"),
    ("user_model_check", "", "false"),
    ("soul_state_check", "", "false"),
)


class Placeholder:
    """A `Provider` without a model. `pace` is the pause between two words in seconds, to show the stream.

    `answers` holds the answer functions of some models, by their ids. `max_output_tokens` bounds an answer.
    """

    def __init__(
        self, clock: Clock, answers: Mapping[str, Callable[[Prompt], str]] = MappingProxyType({}), *, pace: float = 0.0
    ) -> None:
        self._clock, self._answers = clock, answers
        self._pace = pace

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """Stream the answer as `Provider.stream` requires. Raises ModelRefused only as `placeholder_answer` does."""
        whole = self._answers.get(model.full, placeholder_answer)(prompt)
        answer = whole[: prompt.max_output_tokens * _CHARACTERS_PER_TOKEN]
        for word in _WORDS.findall(answer):
            if self._pace > 0:
                await self._clock.sleep(self._pace)
            yield word
        shown = sum(len(part.text) for part in prompt.system) + sum(len(each.text) for each in prompt.messages)
        yield Completion(
            model.full, shown // _CHARACTERS_PER_TOKEN, 0, len(answer) // _CHARACTERS_PER_TOKEN, _end(whole, answer)
        )

    async def aclose(self) -> None:
        """Do nothing."""


def _end(whole: str, answer: str) -> str:
    return "end" if answer == whole else "length"


def placeholder_answer(prompt: Prompt) -> str:
    """Return the step's placeholder, else a tagged answer if the prompt asks for tags, else plain text.

    The answer says that no language model is set up, and quotes the user's message. It never claims to have understood,
    found, felt or learned anything. Raises ModelRefused for a prompt that asks for JSON and has no placeholder.
    """
    if prompt.placeholder:
        words = json.dumps(_reply(newest_messages(prompt)))[1:-1] if REPLY_MARK in prompt.placeholder else ""
        return prompt.placeholder.replace(REPLY_MARK, words)
    if prompt.json_schema is not None:
        raise ModelRefused(
            f"the step {prompt.step} has no answer for the placeholder model",
            hint="give the Step a `placeholder`, or set up a model",
        )
    asked = "\n".join(part.text for part in prompt.system)
    if "<external_dialogue" not in asked:
        # A silent step quotes no user, since the quote would look like a thought.
        return _NO_THOUGHT if prompt.role is ModelRole.THINKING else _reply(newest_messages(prompt))
    inert = _ESCAPES.sub("+", _reply(newest_messages(prompt)).translate(_HARMLESS))
    return "\n".join(
        f"<{tag}{attributes}>{content.format(reply=inert)}</{tag}>"
        for tag, attributes, content in _ELEMENTS
        if f"<{tag}" in asked
    )


def newest_messages(prompt: Prompt) -> list[str]:
    """Return the users' newest messages: all that the last chat message quotes, or its whole text without tags."""
    texts = [_CONTEXT.sub("", clean(each.text)) for each in prompt.messages if each.speaker is Speaker.USER]
    for text in reversed(texts):
        if said := [match["text"].strip() for match in _SAID.finditer(text)]:
            return said
    plain = _TAG.sub("", texts[-1]).strip() if texts else ""
    return [plain] if plain else []


def _reply(messages: list[str]) -> str:
    opening = "I'm only a placeholder so far: no language model is set up here, so I can't think of an answer."
    if not messages:
        return opening
    return f"{opening} You wrote {quoted(messages)}."


def quoted(messages: Sequence[str]) -> str:
    return " and ".join(f"“{_shortened(text)}”" for text in messages)


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTE_CAP else text[:_QUOTE_CAP].rstrip() + " …"


_SURE: Final = 0.7  # confidence of an expectation without a number
_WHY: Final = "a line of the rehearsal says so"
_LONGEST: Final = 2_000  # characters of a line
_RAW: Final = "raw:"
_MENTION: Final = re.compile(r"\A\s*<?@[^\s>]+>?[:,]?\s+")
_BY: Final = re.compile(r"(?P<what>.+?)\s+by\s+(?P<when>\S.*)", re.IGNORECASE)
_WITHIN: Final = re.compile(
    r"(?P<what>.+?)(?:\s+within\s+(?P<when>\S.*?))?(?:\s+at\s+(?P<sure>[01]?\.?\d+))?", re.IGNORECASE
)
_EXPECTS_REPLY: Final = re.compile(r"expect\s+reply\b\s*(?P<rest>.*)", re.IGNORECASE)
_FEELS: Final = re.compile(r"(?P<valence>[+-]?\d*\.?\d+)\s+(?P<arousal>[+-]?\d*\.?\d+)\s*(?P<quality>.*)")
_WORLD: Final = re.compile(r"(?P<entity>\S+)\s+(?P<attribute>\S+)\s+(?P<value>\S.*)")
_TOOL: Final = re.compile(r"(?P<tool>\S+)\s*(?P<arguments>\{.*\})?")
_RATE: Final = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[smhd]?)")
_ALL_GOALS: Final = "\n<context-"  # after it come the goals that were not promised, too
_HELD: Final = re.compile(r'about="your goal (?P<id>G\d+)">\n(?P<goal>.*?)\n</note-', re.DOTALL)
_READING: Final = re.compile(r'about="from [^"]+">\n(?P<words>.*?)\n</note-', re.DOTALL)
_SECONDS: Final[Mapping[str, int]] = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def rehearsal_answer(prompt: Prompt) -> str:
    """Return a thought made from the newest message line by line. Other steps get the placeholder's answer.

    Raises ModelRefused as `placeholder_answer` does.
    """
    fields = (prompt.json_schema or {}).get("properties")
    if not isinstance(fields, Mapping) or "external_speech" not in fields:
        return placeholder_answer(prompt)
    alone = any(THOUGHT_ALONE in each.text for each in prompt.messages[-1:])
    message = _sensed(prompt) if alone else _MENTION.sub("", "".join(newest_messages(prompt)[-1:])).strip()
    if message.startswith(_RAW):
        return message.removeprefix(_RAW).strip()
    thought = Rehearsed(json.loads(prompt.placeholder), fields)
    if thought.keep_promises(prompt):
        return json.dumps(thought.parts, ensure_ascii=False)
    obeyed = [word for line in message.splitlines() if (word := thought.obey(line.strip()))]
    looked = any(JUST_THOUGHT in each.text for each in prompt.messages)
    looks = not looked and bool({"recall", "use"}.intersection(obeyed))
    if not ({"say", "silence"}.intersection(obeyed) or looks or alone):
        thought.parts["external_speech"] = _report(obeyed, message)
    return json.dumps(thought.parts, ensure_ascii=False)


def _sensed(prompt: Prompt) -> str:
    return next((found["words"] for found in _READING.finditer(prompt.messages[-1].text)), "")


_NOTHING_TO_THINK: Final = "This is a rehearsal without a language model; nothing said what to think."


def _report(obeyed: Iterable[str], message: str) -> str:
    done = ", ".join(dict.fromkeys(obeyed))
    if done:
        return f"This is a rehearsal without a language model. Done as the lines say: {done}."
    what = f" You wrote {quoted([message])}." if message else ""
    return f"This is a rehearsal without a language model, and no line says what to think.{what}"


class Rehearsed:
    """A thought that is built line by line. `fields` is the requested form, as JSON Schema."""

    def __init__(self, bare: dict[str, Any], fields: Mapping[str, Any]) -> None:
        self.parts = bare | {"external_speech": "", "inner_speech": _NOTHING_TO_THINK}
        self._fields = fields

    def obey(self, line: str) -> str:
        """Execute a line and return its keyword, or an empty string for a line without one."""
        if line.casefold() == "silence":
            return "silence"
        if waits := _EXPECTS_REPLY.fullmatch(line[:_LONGEST]):
            return "expect reply" if self._expect_reply(waits["rest"]) else ""
        word, _, rest = line[:_LONGEST].partition(":")
        word, rest = word.strip().casefold(), rest.strip()
        does = LINES.get(word)
        return word if rest and does is not None and does(self, rest) else ""

    def say_more(self, field: str, words: str) -> bool:
        before = self.parts[field]
        self.parts[field] = f"{before}\n{words}" if before not in {"", _NOTHING_TO_THINK} else words
        return True

    def add(self, field: str, **said: object) -> bool:
        self.parts[field].append(_blank(self._fields[field]["items"]) | said)
        return True

    def set(self, field: str, **said: object) -> bool:
        self.parts[field] = _blank(self._fields[field]) | said
        return True

    def goal(self, rest: str, *, follow_up: bool = False) -> bool:
        """Add a goal, such as "look at the import by 2h"."""
        what, due = _by(rest)
        return self.add("goal_updates", action="add", goal=what, due=due, follow_up=follow_up, why=_WHY)

    def keep_promises(self, prompt: Prompt) -> bool:
        """Say the promises that are due and complete their goals. Returns True if there were any."""
        asked = [each.text for each in prompt.messages if PROMISED_HERE in each.text]
        named = [text[text.rindex(PROMISED_HERE) :].partition(_ALL_GOALS)[0] for text in asked]
        held = [found for text in named for found in _HELD.finditer(text)]
        for found in held:
            self.say_more("external_speech", f"You wanted: {found['goal']}")
            self.add("goal_updates", action="complete", goal_id=found["id"], why=_WHY)
        return bool(held)

    def intend(self, rest: str) -> bool:
        """Add an intention, such as "look at the import by 2h"."""
        what, when = _by(rest)
        return self.add("memory_ops", type="intend", content=what, when=when)

    def expect(self, rest: str) -> bool:
        """Predict the mention of a word, such as "done within 10m at 0.8"."""
        found = _WITHIN.fullmatch(rest)
        return found is not None and self._predict(found, kind="mention", words=[found["what"]])

    def _expect_reply(self, rest: str) -> bool:
        found = _WITHIN.fullmatch(f"a reply {rest}".strip())
        return found is not None and self._predict(found, kind="reply")

    def _predict(self, found: re.Match[str], **check: object) -> bool:
        blank = _blank(self._fields["predictions"]["items"])["check"]
        timeframe, sure = _from_now(found["when"] or ""), float(found["sure"] or _SURE)
        return self.add("predictions", what=found["what"], confidence=sure, timeframe=timeframe, check=blank | check)

    def feel(self, rest: str) -> bool:
        """Shift valence and arousal, such as "+0.2 -0.1 calm"."""
        found = _FEELS.fullmatch(rest)
        if found is None:
            return False
        quality, valence, arousal = found["quality"].strip(), float(found["valence"]), float(found["arousal"])
        return self.set("emotional_state", felt_quality=quality, valence_shift=valence, arousal_shift=arousal)

    def world(self, rest: str) -> bool:
        """Add a belief about the world, such as "alice mood warm"."""
        found = _WORLD.fullmatch(rest)
        return found is not None and self.add("world_model_updates", **found.groupdict())

    def use(self, rest: str) -> bool:
        """Call a tool, such as `search {"query": "import"}`."""
        found = _TOOL.fullmatch(rest)
        return found is not None and self.add("tool_calls", tool=found["tool"], arguments=found["arguments"] or "{}")

    def rate(self, rest: str) -> bool:
        """Request the next thought after a time, such as "30s"."""
        found = _RATE.fullmatch(rest)
        if found is None:
            return False
        return self.set("cycle_rate", seconds=float(found["number"]) * _SECONDS[found["unit"]], why=_WHY)


def _blank(form: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    """Return an empty value of this form. Each choice is its first word."""
    match form["type"]:
        case "object":
            return {name: _blank(part) for name, part in form["properties"].items()}
        case "array":
            return []
    return form["enum"][0] if "enum" in form else _EMPTY[form["type"]]


_EMPTY: Final[Mapping[str, object]] = {"string": "", "number": 0, "integer": 0, "boolean": False}


def _by(rest: str) -> tuple[str, str]:
    found = _BY.fullmatch(rest)
    return (found["what"], _from_now(found["when"])) if found else (rest, "")


def _from_now(when: str) -> str:
    try:
        span_ms(when)
    except ValueError:
        return when
    return f"in {when}"


LINES: Final[Mapping[str, Callable[[Rehearsed, str], bool]]] = {
    "think": lambda one, rest: one.say_more("inner_speech", rest),
    "say": lambda one, rest: one.say_more("external_speech", rest),
    "goal": Rehearsed.goal,
    "follow up": lambda one, rest: one.goal(rest, follow_up=True),
    "done": lambda one, rest: one.add("goal_updates", action="complete", goal_id=rest, why=_WHY),
    "abandon": lambda one, rest: one.add("goal_updates", action="abandon", goal_id=rest, why=_WHY),
    "expect": Rehearsed.expect,
    "remember": lambda one, rest: one.add("memory_ops", type="write_episodic", content=rest),
    "recall": lambda one, rest: one.add("memory_ops", type="retrieve", query=rest),
    "journal": lambda one, rest: one.add("memory_ops", type="journal", content=rest),
    "intend": Rehearsed.intend,
    "feel": Rehearsed.feel,
    "self": lambda one, rest: one.set("self_model_updates", current_state=rest),
    "world": Rehearsed.world,
    "value": lambda one, rest: one.add("value_updates", action="adopt", value=rest, why=_WHY),
    "use": Rehearsed.use,
    "rate": Rehearsed.rate,
}
"""The keywords of a line, and the part of the thought that each adds. A function returns False for unreadable text."""
