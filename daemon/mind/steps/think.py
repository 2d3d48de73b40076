"""The step for one whole thought, whose speech is the reply (seed 002), of a soul with `mind = "cycle"`."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import MalformedReply
from daemon.core.ports.services import REPLY_MARK, Effort, ModelRole
from daemon.core.step import PLAINLY_STATED, AnswerForm, Stated, Step
from daemon.core.value import Value
from daemon.core.working_memory import Memory, Role
from daemon.mind.prompts import prompt
from daemon.mind.reply import words_aloud
from daemon.mind.steps.external_dialog import read_spoken, spoken_text
from daemon.mind.steps.respond import listed_wishes, wish_word
from daemon.mind.thought import (
    WIRE_SCHEMA,
    CognitiveOutput,
    ThoughtRead,
    bare_thought,
    read_thought,
    read_thought_cut,
)
from daemon.soul import Soul

_SPEAK: Final = "they wait for words: write them in external_speech"
_PLACEHOLDER: Final = json.dumps(
    bare_thought(
        calls_for="nothing",
        external_speech=REPLY_MARK,
        epistemic_mode=PLAINLY_STATED.epistemic_mode,
        confidence=PLAINLY_STATED.confidence,
    )
)

_NOTHING: Final = json.dumps(bare_thought(calls_for="nothing", epistemic_mode=PLAINLY_STATED.epistemic_mode))

LONGEST_ALONE: Final = 1_536
"""The most tokens of an unasked thought."""

LONGEST_ANSWER: Final = 6_144
"""The most tokens of a thought with a reply: what `respond` allows, and a thought around it."""


class Considered(Value):
    """A thought that was read, with its reply as it may be said.

    A thought that `leads` elsewhere only has `calls_for`. A reply that is `cut` met the output limit. A thought
    without a reply looks something up first, or says nothing.
    """

    read: ThoughtRead
    reply: str = ""
    leads: bool = False
    cut: bool = False

    @property
    def queries(self) -> tuple[str, ...]:
        return queries_of(self.output)

    @property
    def looks(self) -> bool:
        return bool(self.queries or self.output.tool_calls)

    @property
    def is_chosen_silence(self) -> bool:
        """Return whether the thought chose silence: the field is there, and nothing was to be looked up.

        A model that forgets the field, or that still looks when it has to answer, has chosen nothing.
        """
        return "external_speech" in self.output.model_fields_set and not self.output.external_speech and not self.looks

    @property
    def calls(self) -> tuple[str, ...]:
        return tuple(f"{one.tool} {json.dumps(one.arguments)}" for one in self.output.tool_calls)

    @property
    def output(self) -> CognitiveOutput:
        return self.read.output

    @property
    def stated(self) -> Stated:
        mode, sure = self.output.epistemic_mode, self.output.confidence
        return Stated(mode or PLAINLY_STATED.epistemic_mode, PLAINLY_STATED.confidence if sure is None else sure)


MayBeSilent = Callable[[Considered], bool]
"""A function that returns whether a thought without words may stay silent."""


def queries_of(output: CognitiveOutput) -> tuple[str, ...]:
    return tuple(one.query for one in output.memory_ops if one.type == "retrieve")


def think(
    soul: Soul,
    wishes: Mapping[str, str] | None = None,
    *,
    leads: Callable[[str], bool] = lambda _: False,
    may_look: bool = False,
    may_be_silent: MayBeSilent = lambda _: False,
    tools: Sequence[str] = (),
    alone: bool = False,
) -> Step[Considered]:
    """Build the step for one whole thought in one streamed call. Only its speech is visible and remembered.

    `wishes` are the words, apart from `nothing`, that `calls_for` may hold, each with its meaning. They have to stay
    the same from turn to turn. A word that `leads` elsewhere ends the call before a word is shown. The other parts are
    judged one by one, see `daemon.mind.thought.reading`. A thought without words to say is malformed, unless it
    `may_look` and does, or it `may_be_silent` here. A look is a query of memory or one of the `tools`. A thought that
    is `alone` (unasked) is short, and the soul names its model.
    """

    def lead(field: str) -> Considered | None:
        word = wish_word(field)
        ended = ThoughtRead(CognitiveOutput(calls_for=word, inner_speech=""))
        return Considered(ended, leads=True) if leads(word) else None

    return Step(
        name="think",
        command=prompt(
            "think",
            wishes=listed_wishes(wishes or {}),
            silence=prompt("think_nods") if soul.presence.nod else prompt("think_unseen"),
            tools=prompt("think_tools", tools=", ".join(tools)) if tools else prompt("think_no_tools"),
            moods=", ".join(soul.emotional_states),
        ),
        read=lambda answer: _considered(
            soul, read_thought(answer), answer, may_look=may_look, may_be_silent=may_be_silent
        ),
        remember=lambda thought: (_spoken(soul, thought),) if thought.reply else (),
        role=ModelRole(soul.cycle.role) if alone else ModelRole.PERSONA,
        json_schema=WIRE_SCHEMA,
        placeholder=_NOTHING if alone else _PLACEHOLDER,
        standing=True,
        cue=prompt("think_cue"),
        visible=lambda: spoken_text(soul),
        max_output_tokens=LONGEST_ALONE if alone else LONGEST_ANSWER,
        effort=Effort.LOW if alone else Effort.MEDIUM,  # all that it may take is set aside of a small budget
        form=AnswerForm.COGNITION,
        read_cut=lambda answer: replace(_considered(soul, read_thought_cut(answer), answer), cut=True),
        sees=True,
        lead=lead,
        unasked=alone,
    )


def _considered(
    soul: Soul,
    read: ThoughtRead,
    answer: str,
    *,
    may_look: bool = False,
    may_be_silent: MayBeSilent = lambda _: False,
) -> Considered:
    """Return a thought with its speech as it may be said. Raises MalformedReply where nothing of it may."""
    aloud = words_aloud(read.output.external_speech or "")
    if not aloud:
        silent = Considered(read)
        if not read.output.external_speech and ((may_look and silent.looks) or may_be_silent(silent)):
            return silent
        raise MalformedReply("it says nothing aloud", reply=answer, hint=_SPEAK)
    return Considered(read, read_spoken(soul, aloud))


def _spoken(soul: Soul, thought: Considered) -> Memory:
    return Memory(Role.ASSISTANT, thought.reply, name=soul.display_name, metadata={"verb": "said"})
