"""No private thought leaves, whatever a model writes: a grammar of hostile answers, whole and cut at every point."""

import random
import re
import sys
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.lookalike import OPENERS
from daemon.mind.tagged_output import KNOWN_TAGS, REPLY_TAG, TaggedOutput
from tests import chance

CANARY = "KANARIE"
PRIVATE = [tag for tag in KNOWN_TAGS if tag != REPLY_TAG]
OUTPUTS = chance.tries(4_000, 20_000)
NAMES = "|".join(tag.replace("_", "[^a-z]*") for tag in KNOWN_TAGS)
TAG_LIKE = re.compile(f"[<\uff1c\ufe64\u2039]\\s*/?\\s*(?:{NAMES})", re.IGNORECASE)


class Author:
    """Writes hostile answers; a canary stands wherever text is private, whichever way a reader takes the structure."""

    def __init__(self, choice: random.Random) -> None:
        self._choice = choice

    def answer(self) -> str:
        """One answer of a few top-level parts, sometimes cut short."""
        parts = [self._choice.choice(self._parts())() for _ in range(self._choice.randint(1, 5))]
        text = "".join(parts)
        return text[: self._choice.randint(0, len(text))] if self._choice.random() < 0.15 else text

    def _parts(self) -> list[Callable[[], str]]:
        thoughts = [self._thought, self._thought, self._thought_with_quotes, self._unclosed_thought]
        replies = [self._reply, self._reply, self._reply_with_secret]
        return [*thoughts, *replies, self._mismatched_thought, self._stray, self._noise, self._comment]

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
            ]
        )
        return f"{self._tag(name)}{self._secret()}{quoted}{self._secret()}{self._tag(name, closing=True)}"

    def _unclosed_thought(self) -> str:
        """From here on a reader can't tell what is private, so all of it has to be."""
        name = self._choice.choice(PRIVATE)
        return f"{self._tag(name)}{self._secret()}{self._hidden_reply()}"

    def _mismatched_thought(self) -> str:
        name = self._choice.choice(PRIVATE)
        wrong = self._choice.choice(["</thought>", self._disguise(name).replace("<", "</"), f"<{name}/", f"</{name}"])
        return f"{self._tag(name)}{self._secret()}{wrong}\n{self._hidden_reply()}"

    def _stray(self) -> str:
        """A thought that mentions its own closing tag: what follows is still thought."""
        name = self._choice.choice(PRIVATE)
        close = self._tag(name, closing=True)
        return f"{self._tag(name)}{self._secret()}{close}{self._secret()}{self._hidden_reply()}{close}"

    def _hidden_reply(self) -> str:
        return f"{self._tag(REPLY_TAG)}{self._secret()}{self._tag(REPLY_TAG, closing=True)}"

    def _comment(self) -> str:
        return f"<!-- {self._hidden_reply()} -->"

    def _noise(self) -> str:
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
            ]
        )
        return f"{self._tag(REPLY_TAG)}{self._spoken()}{inner}{self._tag(REPLY_TAG, closing=True)}"


def released_by(text: str, cuts: tuple[int, ...] = ()) -> tuple[str, TaggedOutput]:
    """What the parser lets out of a text cut at some points."""
    output = TaggedOutput()
    bounds = (0, *cuts, len(text))
    shown = "".join(output.feed(text[start:end]) for start, end in pairwise(bounds))
    return shown + output.finish(), output


def leaks(shown: str) -> bool:
    """Whether what left holds a canary or anything that reads as one of our tags."""
    return CANARY in shown or bool(TAG_LIKE.search(shown))


def naive(text: str) -> str:
    """What people write first: take the first match, else strip the tags."""
    match = re.search(rf"<{REPLY_TAG}[^>]*>(.*?)</{REPLY_TAG}>", text, re.DOTALL)
    return match[1].strip() if match else re.sub(r"<[^>]+>", "", text)


def check(text: str, cuts: tuple[int, ...]) -> int:
    """Parse a text whole and cut; every invariant holds. Returns how many characters of a reply were let out."""
    whole, output = released_by(text)
    assert not leaks(whole), text
    if output.reply is not None:
        assert output.reply == whole
    assert output.complete == (output.reply is not None)
    pieces, other = released_by(text, cuts)
    assert pieces == whole, text
    assert (other.reply, other.faults, dict(other.elements)) == (output.reply, output.faults, dict(output.elements))
    return len(whole)


@pytest.mark.parametrize("part", range(4))
def test_no_hostile_answer_lets_a_private_word_out(part: int, capsys: pytest.CaptureFixture[str]) -> None:
    choice = chance.dice(f"hostile answers {part}")
    author = Author(choice)
    talkative = naive_leaks = 0
    for number in range(OUTPUTS // 4):
        text = author.answer()
        every_point = tuple(range(1, len(text)))
        some = tuple(sorted(choice.sample(range(len(text) + 1), min(3, len(text)))))
        talkative += check(text, some if number % 3 else every_point) > 0
        naive_leaks += leaks(naive(text))
    with capsys.disabled():
        sys.stdout.write(f"outputs={OUTPUTS // 4} leaks=0 with_reply={talkative} naive_leaks={naive_leaks}\n")
    assert talkative > OUTPUTS // 4 // 20, "a parser that says nothing would pass"
    assert naive_leaks > OUTPUTS // 4 // 3, "the checker must catch a naive extractor"


@settings(max_examples=300, deadline=None)
@given(st.randoms(use_true_random=False), st.data())
def test_every_cut_of_an_answer_shows_the_same(choice: random.Random, data: st.DataObject) -> None:
    text = Author(choice).answer()
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=6).map(sorted))
    check(text, tuple(cuts))


FRAGMENTS = [
    *(f"<{tag}>" for tag in KNOWN_TAGS[:4]),
    *(f"</{tag}>" for tag in KNOWN_TAGS[:4]),
    *(
        "<",
        ">",
        "/",
        "&lt;",
        "&",
        ";",
        "internal_",
        "monologue",
        "external_dialogue",
        " ",
        "\n",
        "verb=",
        '"',
        "'",
        "`",
    ),
    *("\u200b", "word", "<think>", "</think>", "<!--"),
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30))
def test_any_soup_of_fragments_shows_no_tag_and_the_same_for_every_cut(fragments: list[str]) -> None:
    text = "".join(fragments)
    check(text, tuple(range(1, len(text))))


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(exclude_characters=f"&{OPENERS}")))
def test_a_reply_without_brackets_is_let_out_to_the_letter(reply: str) -> None:
    shown, output = released_by(f"<internal_monologue>{CANARY}</internal_monologue><{REPLY_TAG}>{reply}</{REPLY_TAG}>")
    assert shown == (output.reply or "") == reply.strip()
