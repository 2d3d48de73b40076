"""The one filter under every step: what of a model's answer may be read as the answer, and what of it may be shown."""

import json
from collections.abc import Mapping
from typing import Any

from daemon.core.step import AnswerForm, Step
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.tagged_output import TaggedOutput
from daemon.mind.tagged_output.inline_reasoning import InlineReasoning
from daemon.mind.tagged_output.leading_element import LeadingElement
from daemon.mind.tagged_output.plain_output import PlainOutput
from daemon.mind.thought.speech import SpeechInThought


def words_aloud(text: str) -> str:
    """What of a text in a model's JSON may be said to users word for word."""
    reasoning, plain = InlineReasoning(streams=False), PlainOutput()
    plain.feed(reasoning.feed(text) + reasoning.finish())
    plain.finish()
    return plain.words.strip()


class AnswerFilter:
    """Takes an answer piece by piece; the Mind puts one under every call, so that no step can do without it.

    Reasoning that the model writes inline is taken out of every answer. Speech then loses the elements of the tagged
    form, and an answer in that form all but its reply; of a thought in JSON only the speech goes this way. What is left
    goes through the step's own `visible` filter. The model's habit decides how early it is shown, and how early `lead`,
    the element or the field that it begins with, is known.
    """

    def __init__(self, step: Step[Any], habit: ModelHabit) -> None:  # of any value
        self._step = step
        self._raw: list[str] = []
        self._elements = step.form is AnswerForm.ELEMENTS
        self._thought = SpeechInThought() if step.form is AnswerForm.COGNITION else None
        self._early = habit.streams_elements
        self.lead: str | None = None
        formed = self._elements or self._thought is not None  # what stands in front shows that it is no reasoning
        self._reasoning = InlineReasoning(streams=habit.streams_elements if formed else habit.streams_speech)
        self._tagged = TaggedOutput(wary=not habit.streams_speech)
        self._plain = PlainOutput()
        self._guard = step.visible() if step.visible else None
        self._passed = False
        self._awaits_lead = True

    def feed(self, piece: str) -> str:
        """Take the next piece; return the text that may be shown now."""
        self._raw.append(piece)
        words = self._aloud.feed(self._reasoning.feed(self._thought.feed(piece) if self._thought else piece))
        self._look_for_lead(ended=False)
        self._passed = self._passed or bool(words)
        return self._guard.feed(words) if words and self._guard and not self.withdrawn else ""

    def finish(self) -> str:
        """End the answer; return the rest that may be shown."""
        rest = self._late_speech() or self._reasoning.finish()
        self._look_for_lead(ended=True)
        if self._reasoning.withdrawn:  # what was passed on is reasoning; the answer stands behind it
            self._plain = PlainOutput()
            rest = self._reasoning.text
        words = self._aloud.feed(rest) + self._aloud.finish()
        if self._guard is None or self.withdrawn:
            return ""
        if self._elements and not self._passed:  # nothing is shown yet, so only a reply that stands is
            words = self._tagged.begun_reply or ""
        return self._guard.feed(words) + self._guard.finish()

    def _late_speech(self) -> str:
        """The speech of a thought with reasoning in front, of which nothing could be shown before."""
        if self._thought is None or self._begins_with_brace:
            return ""
        self._thought = SpeechInThought()
        spoken = self._reasoning.feed(self._thought.feed(self.answer))
        return spoken + self._reasoning.finish()

    @property
    def _begins_with_brace(self) -> bool:
        return "".join(self._raw).lstrip().startswith("{")

    def _look_for_lead(self, *, ended: bool) -> None:
        """The first element, behind any reasoning; early only of a model that ends no reasoning by a bare mark.

        No reasoning stands in front of a field that leads: the answer begins with its brace.
        """
        if self._thought is not None:
            self.lead = self._thought.wish
        elif self._elements and (ended or (self._early and self._awaits_lead)):
            element = LeadingElement.of(self._reasoning.text)
            self.lead, self._awaits_lead = element.content, not element.decided

    @property
    def opening(self) -> Mapping[str, str]:
        """The attributes of the reply's opening tag, once it is read; none in other forms."""
        return self._tagged.reply_attributes if self._elements else {}

    @property
    def answer(self) -> str:
        """The answer as the step reads it, once it has ended."""
        raw = "".join(self._raw)
        if self._step.json_schema is not None and self._begins_with_brace:
            return raw
        if self._thought is not None:  # the other reasoning is that in its speech
            whole = InlineReasoning(streams=False)
            return whole.feed(raw) + whole.finish()
        if self._step.json_schema is None and self._step.form is AnswerForm.SPEECH:
            return self._plain.words
        return self._reasoning.text

    @property
    def closed(self) -> bool:
        """Whether the answer itself shows that nothing is missing: its reply is closed, and nothing else is open."""
        if self._elements:
            self.finish()
            return self._early and self._tagged.closed and self.answer.rstrip().endswith(">")
        if self._step.json_schema is None:
            return False
        try:
            json.loads(self.answer)
        except (ValueError, RecursionError):
            return False
        return True

    @property
    def only_reasons(self) -> bool:
        """Whether the answer holds reasoning alone, or nothing at all."""
        return not (self._reasoning.text if self._thought is None else self.answer).strip()

    @property
    def reasoned(self) -> bool:
        """Whether the answer has marks of reasoning."""
        return self._reasoning.met

    @property
    def withdrawn(self) -> bool:
        """Whether text was passed on that turned out to be no part of what is said."""
        return self._reasoning.withdrawn or self._plain.withdrawn

    @property
    def thought_aloud(self) -> bool:
        """Whether reasoning stood where only a later mark told it from speech."""
        return self._reasoning.alone or self._plain.withdrawn

    @property
    def _aloud(self) -> TaggedOutput | PlainOutput:
        return self._tagged if self._elements else self._plain
