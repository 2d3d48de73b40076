"""Hostile model answers, for every test of tagged output."""

import json
import random
from collections.abc import Callable

from daemon.mind.tagged_output import KNOWN_TAGS, REPLY_TAG

CANARY = "KANARIE"
PRIVATE = [tag for tag in KNOWN_TAGS if tag != REPLY_TAG]


REASONING = (
    *(("<think>", "</think>"), ("<Thinking>", "</THINKING>"), ("<thought>", "</thought>")),
    *(("<reasoning>", "</reasoning >"), ("<scratchpad>", "</scratchpad>"), ("<reflection>", "</reflection>")),
    *(('<antThinking a="b">', "</antThinking>"), ("<analysis>", "</analysis>"), ("<reason>", "</reason>")),
    *(("<seed:think>", "</seed:think>"), ("\u25c1think\u25b7", "\u25c1/think\u25b7"), ("[THINK]", "[/THINK]")),
    *(("<|begin_of_thought|>", "<|end_of_thought|>"), ("<|START_THINKING|>", "<|END_THINKING|>")),
    *(("<|channel>thought\n", "<channel|>"), ("<|channel|>analysis<|message|>", "<|end|><|channel|>final<|message|>")),
)
"""The marks with which the model families enclose their reasoning."""


WISHES = (
    *("<calls_for>poem</calls_for>", "<calls_for>nothing</calls_for>", "<calls_for>poem", "</calls_for>"),
    *("<calls_for/>", f"<calls_for>{CANARY}</calls_for>", "&lt;calls_for&gt;poem&lt;/calls_for&gt;"),
    *("<calls-for>poem</calls-for>", "<CALLS_FOR x='<y>'> poem </Calls_For >", "<calls\u200b_for>poem</calls_for>"),
)
"""What says, or seems to say, what the words call for: true ones, quoted ones and forged ones."""


class Author:
    """Writes hostile answers with a canary in all text that is private in any reading of the structure.

    `plain` ones answer a step that asked for plain speech: words outside every mark may be shown. With `reasons`, some
    hold inline reasoning in the marks of a model family.
    """

    def __init__(self, choice: random.Random, *, plain: bool = False, reasons: bool = True) -> None:
        self._choice = choice
        self._plain, self._reasons = plain, reasons

    def answer(self) -> str:
        """One answer of a few top-level parts, sometimes cut short."""
        parts = [self._choice.choice(self._parts())() for _ in range(self._choice.randint(1, 5))]
        text = self._choice.choice(("", "", *WISHES)) * (not self._plain) + "".join(parts)
        return text[: self._choice.randint(0, len(text))] if self._choice.random() < 0.15 else text

    def whole_thought(self) -> str:
        """One answer in the JSON of a whole thought: hostile words as its speech, or a form that shows none of it."""
        fields: list[tuple[str, object]] = [
            ("calls_for", self._choice.choice(("nothing", "poem", CANARY))),
            ("inner_speech", f"{CANARY} {self.answer()}"),
            ("external_speech", self.answer()),
            ("attention", {"focus_on": [CANARY], "external_speech": CANARY}),
        ]
        if self._choice.random() < 0.2:
            self._choice.shuffle(fields)
        if self._choice.random() < 0.15:
            fields.append(("external_speech", f"{CANARY} again"))
        if self._choice.random() < 0.1:
            fields.insert(0, ("other", {"external_speech": CANARY}))
        plain = self._choice.random() < 0.5
        text = "{" + ", ".join(f'"{name}": {json.dumps(value, ensure_ascii=plain)}' for name, value in fields) + "}"
        opening, closing = self._choice.choice(REASONING)
        ahead = ("", "", "", "", f"{opening}{CANARY}{closing}", f"{CANARY} first: ", "```json\n", f'["{CANARY}", ')
        text = (
            self._choice.choice(ahead)
            + text
            + self._choice.choice(("", "", f" {CANARY}", '{"external_speech": "' + CANARY))
        )
        return text[: self._choice.randint(0, len(text))] if self._choice.random() < 0.15 else text

    def _parts(self) -> list[Callable[[], str]]:
        thoughts = [self._thought, self._thought, self._thought_with_quotes, self._unclosed_thought]
        thoughts += [self._reasoning, self._reasoning] if self._reasons else []
        replies = [self._spoken] * 3 if self._plain else [self._reply, self._reply, self._reply_with_secret]
        replies += [] if self._plain else [self._wish]
        return [*thoughts, *replies, self._mismatched_thought, self._stray, self._noise, self._comment]

    def _wish(self) -> str:
        return self._choice.choice(WISHES)

    def _tag(self, name: str, closing: bool = False) -> str:
        name = self._choice.choice([name, name, name, name.upper(), name.title()])
        if closing:
            return self._choice.choice([f"</{name}>", f"</{name}>", f"</{name} >", f"</ {name}>"])
        return self._choice.choice(
            [
                f"<{name}>",
                f'<{name} verb="thought">',
                f"<{name} verb='x'>",
                f"<{name}\n verb=x>",
                f'<{name} a="<b>" verb=“y”>',
            ]
        )

    def _disguise(self, name: str) -> str:
        at = self._choice.randint(1, len(name) - 1)
        spelled = self._choice.choice(
            [
                f"{name[:at]}\u200b{name[at:]}",
                f"{name[:at]}\u2060{name[at:]}",
                "".join(chr(ord(c) + 0xFEE0) for c in name),
                name.replace("_", "-"),
                name.replace("_", " "),
                name.replace("_", "&#95;"),
                name.replace("o", "\u043e"),
                name.replace("_", "\\_"),
                name[:-1],
                f"{name}s",
            ]
        )
        if spelled == name:
            spelled = name.replace("_", "\u00ad_")
        opener = self._choice.choice(["<", "</", "&lt;", "&lt;/", "&#60;", "&#x3C;", "&amp;lt;", "\uff1c", "< "])
        return f"{opener}{spelled}>"

    def _secret(self) -> str:
        return f" {CANARY} " + self._choice.choice(["", "a < b", "\n", "<div>", "**x**", "`", '"', "it's "])

    def _words(self) -> str:
        return self._choice.choice(
            ["Hello there", "a < b", "List<int>", "</p>", "\n\n", "`x`", "<b>", "I'm", "&amp;", "<", " "]
        )

    def _spoken(self) -> str:
        return "".join(self._words() for _ in range(self._choice.randint(0, 3)))

    def _reasoning(self) -> str:
        opening, closing = self._choice.choice(REASONING)
        quoted = self._choice.choice(
            ["", "", self._hidden_reply(), self._thought(), self._disguise("internal_monologue")]
        )
        return f"{opening}{self._secret()}{quoted}{self._secret()}{closing}"

    def _thought(self) -> str:
        name = self._choice.choice(PRIVATE)
        return f"{self._tag(name)}{self._secret()}{self._tag(name, closing=True)}" + self._choice.choice(
            ["", "\n", "\n\n"]
        )

    def _thought_with_quotes(self) -> str:
        name = self._choice.choice(PRIVATE)
        quoted = self._choice.choice(
            [
                f"{self._tag(REPLY_TAG)}{self._secret()}{self._tag(REPLY_TAG, closing=True)}",
                f"{self._tag(REPLY_TAG)}{self._secret()}",
                self._tag(REPLY_TAG, closing=True),
                self._tag(name) + self._secret() + self._tag(name, closing=True),
                self._tag(name),
                self._disguise(name),
                f"<!-- {self._secret()}",
                self._wish(),
            ]
        )
        return f"{self._tag(name)}{self._secret()}{quoted}{self._secret()}{self._tag(name, closing=True)}"

    def _unclosed_thought(self) -> str:
        """An unclosed thought: all that follows is ambiguous and so private."""
        name = self._choice.choice(PRIVATE)
        return f"{self._tag(name)}{self._secret()}{self._hidden_reply()}"

    def _mismatched_thought(self) -> str:
        name = self._choice.choice(PRIVATE)
        # In plain speech `</thought>` may end reasoning that an earlier part began: what follows it is then said aloud.
        foreign = "</idea>" if self._plain else "</thought>"
        wrong = self._choice.choice([foreign, self._disguise(name).replace("<", "</"), f"<{name}/", f"</{name}"])
        return f"{self._tag(name)}{self._secret()}{wrong}\n{self._hidden_reply()}"

    def _stray(self) -> str:
        """A thought that quotes its own closing tag: what follows is still private."""
        name = self._choice.choice(PRIVATE)
        close = self._tag(name, closing=True)
        return f"{self._tag(name)}{self._secret()}{close}{self._secret()}{self._hidden_reply()}{close}"

    def _hidden_reply(self) -> str:
        return f"{self._tag(REPLY_TAG)}{self._secret()}{self._tag(REPLY_TAG, closing=True)}"

    def _comment(self) -> str:
        return f"<!-- {self._hidden_reply()} -->"

    def _noise(self) -> str:
        if self._plain:
            opening, _ = self._choice.choice(REASONING)
            return self._choice.choice(["```xml\n", "\n", "<step>Go</step>", f"{opening}{self._secret()}"])
        return self._choice.choice(
            [self._secret(), "```xml\n", "\n", f"<step>{self._secret()}</step>", "<think>" + self._secret()]
        )

    def _reply(self) -> str:
        return f"{self._tag(REPLY_TAG)}{self._spoken()}{self._tag(REPLY_TAG, closing=True)}"

    def _reply_with_secret(self) -> str:
        name = self._choice.choice(PRIVATE)
        inner = self._choice.choice(
            [
                f"{self._tag(name)}{self._secret()}{self._tag(name, closing=True)}",
                f"{self._tag(name)}{self._secret()}",
                f"{self._tag(name)}{self._secret()}{self._disguise(name)}{self._secret()}",
                f"{self._disguise(name)}{self._secret()}",
                f"{self._tag(name, closing=True)}{self._secret()}",
                f"{self._tag(name)[:-1]}{self._secret()}",
                f"<{name}/>{self._secret()}",
                f"<calls_for>{self._secret()}</calls_for>",
            ]
        )
        return f"{self._tag(REPLY_TAG)}{self._spoken()}{inner}{self._tag(REPLY_TAG, closing=True)}"
