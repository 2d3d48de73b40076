"""The placeholder model: answers at once, without a key and without thinking, in exactly the form that was asked for.

With no model configured the daemon runs on it and says so plainly (design, ruling 9). It repeats what it heard, so that
people see that they were heard and tests can tell whom it answered. It never claims to have understood, found, felt or
learned anything: every yes-or-no is no, no tool is used, nobody is noted down.
"""

import json
import re
from collections.abc import AsyncGenerator, Mapping

from daemon.core.lookalike import OPENERS
from daemon.core.ports import Clock, Completion, ModelRole, Prompt, Speaker
from daemon.llm.clean_text import clean
from daemon.llm.model_id import ModelId
from daemon.llm.placeholder_values import instance_of

_LONGEST_ECHO = 500
_CHARACTERS_PER_TOKEN = 4

# What a person said stands between `<said-CODE …>` and the closing tag with the same code.
_SAID = re.compile(r"<said(?P<code>[\w-]*)[^>]*>(?P<text>.*?)</said(?P=code)\s*>", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_HARMLESS = str.maketrans(dict.fromkeys(OPENERS, "("))  # what is repeated must not look like a tag to any reader
_ESCAPES = re.compile(r"&(?=#|lt|less)", re.IGNORECASE)
_WORDS = re.compile(r"\s*\S+\s*")

_NO_THOUGHT = "No model is set up, so there is nothing for me to think with."
_POEM = "I'm only a placeholder so far:\nno model hums behind this door,\nso this is all the song there is."
_ELEMENTS = (
    ("stimulus_verb", "", "said"),
    ("internal_monologue", ' verb="noticed"', _NO_THOUGHT),
    ("external_dialogue", ' verb="said"', "{reply}"),
    ("user_model_check", "", "false"),
    ("soul_state_check", "", "false"),
)


class Placeholder:
    """A `Provider`; `pace` is the time in seconds between two words, for people who want to see an answer stream."""

    def __init__(self, clock: Clock, *, pace: float = 0.0) -> None:
        self._clock = clock
        self._pace = pace

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `Provider.stream`. Raises ModelRefused only for a schema that can't be made up."""
        answer = answer_to(prompt)
        for word in _WORDS.findall(answer):
            if self._pace > 0:
                await self._clock.sleep(self._pace)
            yield word
        shown = sum(len(part.text) for part in prompt.system) + sum(len(each.text) for each in prompt.messages)
        yield Completion(model.full, shown // _CHARACTERS_PER_TOKEN, 0, len(answer) // _CHARACTERS_PER_TOKEN)

    async def aclose(self) -> None:
        """Nothing is held."""


def answer_to(prompt: Prompt) -> str:
    """JSON for a schema, a tagged answer where the fixed pipeline asks for one, plain text otherwise."""
    if prompt.json_schema is not None:
        return json.dumps(_made_up(prompt.step, prompt.json_schema), ensure_ascii=False)
    asked = "\n".join(part.text for part in prompt.system)
    if "<external_dialogue" not in asked:
        return _in_plain_words(prompt)
    inert = _ESCAPES.sub("+", _reply(heard_in(prompt)).translate(_HARMLESS))
    return "\n".join(
        f"<{tag}{attributes}>{content.format(reply=inert)}</{tag}>"
        for tag, attributes, content in _ELEMENTS
        if f"<{tag}" in asked
    )


def _made_up(step: str, schema: Mapping[str, object]) -> object:
    """A value that fits the schema and, where the step gives a choice, the one that claims and does the least."""
    match step:
        case "choose_actions":
            name = "Respond" if '"Respond"' in json.dumps(schema) else "DONE"
            return {"actions": [{"name": name, "input": ""}], "reasoning": _NO_THOUGHT}
        case "use_tool":
            return {"tool": "none", "arguments": {}}
        case "brainstorm":
            return {"ideas": [_NO_THOUGHT]}
        case "feel" | "intend":
            return instance_of(schema, word="")
    return instance_of(schema)


def _in_plain_words(prompt: Prompt) -> str:
    """A word to whoever listens; in silence nothing of what was heard is repeated, lest it be taken for a thought."""
    if prompt.role is ModelRole.THINKING:
        return _NO_THOUGHT
    return _POEM if prompt.step == "poetic_composition" else _reply(heard_in(prompt))


def heard_in(prompt: Prompt) -> list[str]:
    """What people said last: every block of the newest message that holds one, else the newest message without tags."""
    heard = [clean(each.text) for each in prompt.messages if each.speaker is Speaker.USER]
    for text in reversed(heard):
        if said := [match["text"].strip() for match in _SAID.finditer(text)]:
            return said
    plain = _TAG.sub("", heard[-1]).strip() if heard else ""
    return [plain] if plain else []


def _reply(heard: list[str]) -> str:
    opening = "I'm only a placeholder so far: no language model is set up here, so I can't think of an answer."
    if not heard:
        return opening
    quoted = " and ".join(f"“{_shortened(text)}”" for text in heard)
    return f"{opening} What I heard is {quoted}."


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_ECHO else text[:_LONGEST_ECHO].rstrip() + " …"
