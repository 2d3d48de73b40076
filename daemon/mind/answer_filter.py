"""The one filter under every step: what of a model's answer may be read as the answer, and what of it may be shown."""

from collections.abc import Mapping
from typing import Any

from daemon.core.step import AnswerForm, Step
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.tagged_output import TaggedOutput
from daemon.mind.tagged_output.inline_reasoning import InlineReasoning
from daemon.mind.tagged_output.leading_element import LeadingElement
from daemon.mind.tagged_output.plain_output import PlainOutput


def words_aloud(text: str) -> str:
    """What of a text in a model's JSON may be said to users word for word."""
    reasoning, plain = InlineReasoning(streams=False), PlainOutput()
    plain.feed(reasoning.feed(text) + reasoning.finish())
    plain.finish()
    return plain.words.strip()


class AnswerFilter:
    """Takes an answer piece by piece; the Mind puts one under every call, so that no step can do without it.

    Reasoning that the model writes inline is taken out of every answer. Speech then loses the elements of the tagged
    form, and an answer in that form all but its reply. What is left goes through the step's own `visible` filter. The
    model's habit decides how early it is shown, and how early `lead`, the element that it begins with, is known.
    """

    def __init__(self, step: Step[Any], habit: ModelHabit) -> None:  # of any value
        self._step = step
        self._raw: list[str] = []
        self._elements = step.form is AnswerForm.ELEMENTS
        self._early = habit.streams_elements
        self.lead: str | None = None
        self._reasoning = InlineReasoning(streams=habit.streams_elements if self._elements else habit.streams_speech)
        self._tagged = TaggedOutput(wary=not habit.streams_speech)
        self._plain = PlainOutput()
        self._guard = step.visible() if step.visible else None
        self._passed = False
        self._awaits_lead = True

    def feed(self, piece: str) -> str:
        """Take the next piece; return the text that may be shown now."""
        self._raw.append(piece)
        words = self._aloud.feed(self._reasoning.feed(piece))
        self._look_for_lead(ended=False)
        self._passed = self._passed or bool(words)
        return self._guard.feed(words) if words and self._guard and not self.withdrawn else ""

    def finish(self) -> str:
        """End the answer; return the rest that may be shown."""
        rest = self._reasoning.finish()
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

    def _look_for_lead(self, *, ended: bool) -> None:
        """The first element, behind any reasoning; early only of a model that ends no reasoning by a bare mark."""
        if self._elements and (ended or (self._early and self._awaits_lead)):
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
        if self._step.json_schema is not None and raw.lstrip().startswith("{"):
            return raw
        if self._step.json_schema is None and self._step.form is AnswerForm.SPEECH:
            return self._plain.words
        return self._reasoning.text

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
