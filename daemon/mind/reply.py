"""The reading of model answers: inline reasoning removed by its marks, and the text to show."""

import json
import re
from collections.abc import Mapping
from typing import Any

from daemon.core.step import AnswerForm, Step
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.tagged_output import REPLY_TAG, VOCABULARY, LeadingElement, TaggedOutput
from daemon.mind.tagged_output.tags import Kind, Token, Tokenizer, Vocabulary
from daemon.mind.thought_speech import SpeechInThought

_CHANNEL = "reasoning_channel"
_VOCABULARY = Vocabulary.of(
    (
        *("think", "thinking", "thought", "thoughts", "reason", "reasoning", "analysis", "reflection", "scratchpad"),
        *("antthinking", "inner_thoughts", "inner_monologue", "chain_of_thought", _CHANNEL),
        *("seed_think", "begin_of_thought", "end_of_thought", "start_thinking", "end_thinking"),
    ),
    misspelt=False,
)

# Marks that are no plain tags: of Kimi, Mistral, Seed, MiniMax, Hunyuan, OpenThinker, Cohere, Gemma and GPT-OSS.
_BAR = "[|\uff5c]"
_MARKS = (
    (r"\u25c1\s*think\s*\u25b7|\[think\]", "<think>"),
    (r"\u25c1\s*/\s*think\s*\u25b7|\[/think\]", "</think>"),
    (r"<(?:seed|mm):think>|<seed:cot_budget_reflect>|<think:[a-z]{1,20}>", "<think>"),
    (r"</(?:seed|mm):think>|</seed:cot_budget_reflect>|</think:[a-z]{1,20}>", "</think>"),
    (rf"<{_BAR}(?:begin_of_thought|start_thinking|think){_BAR}>", "<think>"),
    (rf"<{_BAR}(?:end_of_thought|end_thinking){_BAR}>", "</think>"),
    (rf"<{_BAR}channel{_BAR}?>\s{{0,8}}final|<channel{_BAR}>", f"</{_CHANNEL}>"),
    (rf"<{_BAR}channel{_BAR}?>", f"<{_CHANNEL}>"),
    (rf"<{_BAR}start{_BAR}>(?:assistant)?", ""),
    (rf"<{_BAR}(?:(?:begin|end)_of_solution|(?:start|end)_(?:response|text)|message|end|return){_BAR}>", ""),
)
_MARK = re.compile("|".join(f"({pattern})" for pattern, _ in _MARKS), re.IGNORECASE)
_BEGUN = re.compile(
    rf"(?:<{_BAR}channel{_BAR}?>\s{{0,8}}f?i?n?a?|<{_BAR}start{_BAR}>[a-z]{{0,9}}|<[/|\uff5c]?[a-z_:|\uff5c]{{0,30}}"
    r"|\[/?[a-z]{0,5}|\u25c1[\s/]{0,4}[a-z]{0,5}\s{0,4})\Z",
    re.IGNORECASE,
)


class InlineReasoning:
    """A filter that passes on an answer without its reasoning, the same for every cut of the stream.

    The content of reasoning marks is left out. An unclosed or disguised mark ends the text. A closing mark without an
    opening one makes everything before it reasoning. Then `alone` is true, and `withdrawn` too if some of it was
    passed on already. If such a mark is within an element of ours, all that follows is private, too. Text streams only
    with `streams`, and until the first mark, since a later mark may turn earlier text into reasoning. Sources: the
    reasoning parsers of vLLM, SGLang and Dynamo, the tags of Open WebUI (docs/SOURCES.md, "Inline reasoning").
    """

    def __init__(self, *, streams: bool) -> None:
        self._tokens = Tokenizer(_VOCABULARY, self._take)
        self._streams = streams
        self._held = ""
        self._kept: list[str] = []
        self._passed = 0
        self._open: list[str] = []
        self._lost = False
        self.met = False
        self.alone = False
        self.withdrawn = False

    def feed(self, piece: str) -> str:
        self._translate(piece, ended=False)
        return self._fresh() if self._streams and not self.met else ""

    def finish(self) -> str:
        """End the answer, and return what is still to be passed on, nothing where something was withdrawn."""
        self._translate("", ended=True)
        return "" if self.withdrawn else self._fresh()

    @property
    def text(self) -> str:
        return "".join(self._kept)

    def _translate(self, piece: str, *, ended: bool) -> None:
        text = self._held + piece
        begun = None if ended else _BEGUN.search(text)
        certain = begun.start() if begun else len(text)
        self._held = text[certain:]
        self._tokens.feed(_MARK.sub(_as_tag, text[:certain]))

    def _fresh(self) -> str:
        fresh = "".join(self._kept[self._passed :])
        self._passed = len(self._kept)
        return fresh

    def _take(self, token: Token) -> None:
        if self._lost:
            return
        if token.kind is Kind.TEXT:
            if not self._open:
                self._kept.append(token.raw)
            return
        self.met = True
        match token.kind:
            case Kind.OPEN if not (token.name == _CHANNEL and _CHANNEL in self._open):  # one channel follows another
                self._open.append(token.name)
            case Kind.CLOSE:
                self._close(token.name)
            case Kind.SUSPECT:
                self._lost = True
                if not self._open and "/" in token.raw:
                    self._drop_all()

    def _close(self, name: str) -> None:
        if not self._open:
            self._drop_all()
        elif name in self._open:
            while self._open.pop() != name:
                pass

    def _drop_all(self) -> None:
        self._lost = self._lost or _ends_within_element(self.text)
        self.alone = True
        self.withdrawn = self.withdrawn or self._passed > 0
        self._kept.clear()
        self._passed = 0


def _ends_within_element(text: str) -> bool:
    """Return whether a text has an element that is not closed, or a disguised tag."""
    open_tags: list[str] = []
    disguised: list[Token] = []

    def take(token: Token) -> None:
        if token.kind is Kind.OPEN:
            open_tags.append(token.name)
        elif token.kind is Kind.CLOSE and token.name in open_tags:
            open_tags.remove(token.name)
        elif token.kind is Kind.SUSPECT:
            disguised.append(token)

    Tokenizer(VOCABULARY, take).feed(text)
    return bool(open_tags or disguised)


def _as_tag(mark: re.Match[str]) -> str:
    return _MARKS[(mark.lastindex or 1) - 1][1]


class PlainOutput:
    """A filter that passes on plain speech up to the first tag of an element, real or disguised.

    After that only a well-formed `external_dialogue` counts, in place of everything before. Without one, the speech
    before the first tag does. `withdrawn`: other words were passed on already.
    """

    def __init__(self) -> None:
        self._tokens = Tokenizer(VOCABULARY, self._take)
        self._tagged = TaggedOutput()
        self._speech: list[str] = []
        self._passed = 0
        self._tag_met = False
        self.withdrawn = False

    def feed(self, piece: str) -> str:
        self._tokens.feed(piece)
        self._tagged.feed(piece)
        return "" if self._tag_met else self._fresh()

    def finish(self) -> str:
        self._tagged.finish()
        if not self._tagged.reply_met:
            return self._fresh()
        self.withdrawn = self.withdrawn or self._passed > 0
        return "" if self.withdrawn else self.words

    @property
    def words(self) -> str:
        return (self._tagged.reply or "") if self._tagged.reply_met else "".join(self._speech)

    def _fresh(self) -> str:
        fresh = "".join(self._speech[self._passed :])
        self._passed = len(self._speech)
        return fresh

    def _take(self, token: Token) -> None:
        if self._tag_met:
            return
        if token.kind is Kind.TEXT:
            self._speech.append(token.raw)
            return
        self._tag_met = True
        closes = token.kind is Kind.CLOSE and token.name != REPLY_TAG
        if closes or (token.kind is Kind.SUSPECT and "/" in token.raw):
            # A private element ends that never began: the speech before belonged to it.
            self.withdrawn = self._passed > 0
            self._speech.clear()
            self._passed = 0


def words_aloud(text: str) -> str:
    """Return the part of a text in a model's JSON that may be said to users word for word."""
    reasoning, plain = InlineReasoning(streams=False), PlainOutput()
    plain.feed(reasoning.feed(text) + reasoning.finish())
    plain.finish()
    return plain.words.strip()


class AnswerFilter:
    """The filter for an answer, piece by piece. The Mind applies one to every call.

    Inline reasoning is removed from every answer. Speech then loses the elements of the tagged form, and an answer in
    that form all but its reply. Of a thought in JSON only the speech is filtered. The rest passes the step's own
    `visible` filter. The model's habit decides how early text is shown, and how early `lead`, the first element or
    field, is known.
    """

    def __init__(self, step: Step[Any], habit: ModelHabit) -> None:  # of any value
        self._step = step
        self._raw: list[str] = []
        self._elements = step.form is AnswerForm.ELEMENTS
        self._thought = SpeechInThought() if step.form is AnswerForm.COGNITION else None
        self._early = habit.streams_elements
        self.lead: str | None = None
        formed = self._elements or self._thought is not None  # the first tag or brace shows that it is no reasoning
        self._reasoning = InlineReasoning(streams=habit.streams_elements if formed else habit.streams_speech)
        self._tagged = TaggedOutput(wary=not habit.streams_speech)
        self._plain = PlainOutput()
        self._guard = step.visible() if step.visible else None
        self._passed = False
        self._awaits_lead = True

    def feed(self, piece: str) -> str:
        self._raw.append(piece)
        words = self._aloud.feed(self._reasoning.feed(self._thought.feed(piece) if self._thought else piece))
        self._look_for_lead(ended=False)
        self._passed = self._passed or bool(words)
        return self._guard.feed(words) if words and self._guard and not self.withdrawn else ""

    def finish(self) -> str:
        rest = self._late_speech() or self._reasoning.finish()
        self._look_for_lead(ended=True)
        if self._reasoning.withdrawn:  # the text passed on was reasoning; the answer follows it
            self._plain = PlainOutput()
            rest = self._reasoning.text
        words = self._aloud.feed(rest) + self._aloud.finish()
        if self._guard is None or self.withdrawn:
            return ""
        if self._elements and not self._passed:  # nothing is shown yet, so only a valid reply is
            words = self._tagged.begun_reply or ""
        return self._guard.feed(words) + self._guard.finish()

    def _late_speech(self) -> str:
        if self._thought is None or self._begins_with_brace:
            return ""
        self._thought = SpeechInThought()
        spoken = self._reasoning.feed(self._thought.feed(self.answer))
        return spoken + self._reasoning.finish()

    @property
    def _begins_with_brace(self) -> bool:
        return "".join(self._raw).lstrip().startswith("{")

    def _look_for_lead(self, *, ended: bool) -> None:
        """Set the first element after any reasoning, early only for a model that never ends reasoning by a bare mark.

        A field that leads has no reasoning in front: the answer begins with its brace.
        """
        if self._thought is not None:
            self.lead = self._thought.wish
        elif self._elements and (ended or (self._early and self._awaits_lead)):
            element = LeadingElement.of(self._reasoning.text)
            self.lead, self._awaits_lead = element.content, not element.decided

    @property
    def opening(self) -> Mapping[str, str]:
        return self._tagged.reply_attributes if self._elements else {}

    @property
    def answer(self) -> str:
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
        return not (self._reasoning.text if self._thought is None else self.answer).strip()

    @property
    def reasoned(self) -> bool:
        return self._reasoning.met

    @property
    def withdrawn(self) -> bool:
        return self._reasoning.withdrawn or self._plain.withdrawn

    @property
    def thought_aloud(self) -> bool:
        return self._reasoning.alone or self._plain.withdrawn

    @property
    def _aloud(self) -> TaggedOutput | PlainOutput:
        return self._tagged if self._elements else self._plain
