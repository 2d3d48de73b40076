"""Takes out the reasoning that models write into their answers, by the marks of the model families.

Sources: the reasoning parsers of vLLM, SGLang and Dynamo, the tags of Open WebUI (docs/SOURCES.md, "Inline reasoning").
"""

import re

from daemon.mind.tagged_output import VOCABULARY
from daemon.mind.tagged_output.tags import Kind, Token, Tokenizer, Vocabulary

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
    """Passes on an answer without its reasoning; the text is the same for every cut of the stream.

    The content of reasoning marks is left out. An unclosed mark, or a disguised one, ends the text. A closing mark
    without an opening one makes everything before it reasoning: then `alone` is true, and `withdrawn` too if some of
    that was passed on already. If it stands within an element of ours, all that follows is private, too.

    Text is passed on while it streams only with `streams`, and until the first mark: a later mark may say that what
    stands before it is reasoning.
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
        """Take the next piece; return text that may be passed on now."""
        self._translate(piece, ended=False)
        return self._fresh() if self._streams and not self.met else ""

    def finish(self) -> str:
        """End the answer; return what is still to be passed on, nothing where something was withdrawn."""
        self._translate("", ended=True)
        return "" if self.withdrawn else self._fresh()

    @property
    def text(self) -> str:
        """The answer so far without its reasoning."""
        return "".join(self._kept)

    def _translate(self, piece: str, *, ended: bool) -> None:
        """Feed the text that is certain to the tokenizer, with every mark written as a tag."""
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
        """Close the innermost mark of that name and what is open within it; another name closes nothing."""
        if not self._open:
            self._drop_all()
        elif name in self._open:
            while self._open.pop() != name:
                pass

    def _drop_all(self) -> None:
        """What was taken for the answer is reasoning."""
        self._lost = self._lost or _ends_within_element(self.text)
        self.alone = True
        self.withdrawn = self.withdrawn or self._passed > 0
        self._kept.clear()
        self._passed = 0


def _ends_within_element(text: str) -> bool:
    """Whether a text has an element that is not closed, or a disguised tag."""
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
