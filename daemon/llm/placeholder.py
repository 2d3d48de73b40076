"""The placeholder model: needs no key, answers at once, and says plainly that no language model is set up.

The daemon runs on it when no model is configured. It quotes the user, so that people see that their message arrived and
tests see whom it answers. It never claims to have understood, found, felt or learned anything.
"""

import json
import re
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from types import MappingProxyType

from daemon.core.errors import ModelRefused
from daemon.core.lookalike import OPENERS
from daemon.core.ports.clock import Clock
from daemon.core.ports.models import REPLY_MARK, Completion, ModelRole, Prompt, Speaker
from daemon.llm.clean_text import clean
from daemon.llm.model_id import ModelId

_QUOTE_CAP = 500  # characters of a user's message that are quoted
_CHARACTERS_PER_TOKEN = 4

# What is said or noted stands between `<said-CODE …>` or `<note-CODE …>` and the closing tag with the same code.
_SAID = re.compile(r"<(?P<code>(?:said|note)[\w-]*)[^>]*>(?P<text>.*?)</(?P=code)\s*>", re.DOTALL)
_CONTEXT = re.compile(r"<context(?P<code>[\w-]*)>.*?</context(?P=code)>", re.DOTALL)  # nobody said what stands there
_TAG = re.compile(r"<[^<>]*>")
_HARMLESS = str.maketrans(dict.fromkeys(OPENERS, "("))  # quoted text must not look like a tag to any reader
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
    """A `Provider`; `pace` is the pause between two words in seconds, so that people can watch an answer stream.

    `answers` gives some models, by their ids, an answer of their own.
    It keeps the prompt's `max_output_tokens`, as models do.
    """

    def __init__(
        self, clock: Clock, answers: Mapping[str, Callable[[Prompt], str]] = MappingProxyType({}), *, pace: float = 0.0
    ) -> None:
        self._clock, self._answers = clock, answers
        self._pace = pace

    async def stream(self, model: ModelId, prompt: Prompt) -> AsyncGenerator[str | Completion, None]:
        """See `Provider.stream`. Raises ModelRefused only as `placeholder_answer` does."""
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
        """Holds no connections."""


def _end(whole: str, answer: str) -> str:
    return "end" if answer == whole else "length"


def placeholder_answer(prompt: Prompt) -> str:
    """The step's own placeholder, else a tagged answer where the prompt asks for tags, else plain text.

    Raises ModelRefused for a prompt that asks for JSON and has no placeholder.
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
        # A silent step quotes no user, lest the quote be taken for a thought.
        return _NO_THOUGHT if prompt.role is ModelRole.THINKING else _reply(newest_messages(prompt))
    inert = _ESCAPES.sub("+", _reply(newest_messages(prompt)).translate(_HARMLESS))
    return "\n".join(
        f"<{tag}{attributes}>{content.format(reply=inert)}</{tag}>"
        for tag, attributes, content in _ELEMENTS
        if f"<{tag}" in asked
    )


def newest_messages(prompt: Prompt) -> list[str]:
    """The users' newest messages: all that the last chat message quotes, or its whole text without tags."""
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
    """Messages as they are quoted in an answer, each in short."""
    return " and ".join(f"“{_shortened(text)}”" for text in messages)


def _shortened(text: str) -> str:
    return text if len(text) <= _QUOTE_CAP else text[:_QUOTE_CAP].rstrip() + " …"
