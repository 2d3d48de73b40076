"""No private thought is released: a grammar of hostile answers, whole and cut at every point."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daemon.core.lookalike import OPENERS
from daemon.mind.tagged_output import KNOWN_TAGS, REPLY_TAG, TaggedOutput
from tests import chance
from tests.unit.hostile_answers import CANARY, Author

NAMES = "|".join(tag.replace("_", "[^a-z]*") for tag in KNOWN_TAGS)
TAG_LIKE = re.compile(f"[<\uff1c\ufe64\u2039]\\s*/?\\s*(?:{NAMES})", re.IGNORECASE)


def released_by(text: str, cuts: tuple[int, ...] = ()) -> tuple[str, TaggedOutput]:
    """The text that the parser releases of an answer cut at these points."""
    output = TaggedOutput()
    bounds = (0, *cuts, len(text))
    shown = "".join(output.feed(text[start:end]) for start, end in pairwise(bounds))
    return shown + output.finish(), output


def leaks(shown: str) -> bool:
    """Whether released text contains a canary or anything that reads as one of the known tags."""
    return CANARY in shown or bool(TAG_LIKE.search(shown))


def naive(text: str) -> str:
    """A naive parser: take the first match, else strip the tags."""
    match = re.search(rf"<{REPLY_TAG}[^>]*>(.*?)</{REPLY_TAG}>", text, re.DOTALL)
    return match[1].strip() if match else re.sub(r"<[^>]+>", "", text)


def check(text: str, cuts: tuple[int, ...]) -> int:
    """Parse an answer whole and cut and check the invariants; gives the length of the released reply."""
    whole, output = released_by(text)
    assert not leaks(whole), text
    if output.reply is not None:
        assert output.reply == whole
    assert output.complete == (output.reply is not None)
    pieces, other = released_by(text, cuts)
    assert pieces == whole, text
    assert (other.reply, other.faults, dict(other.elements)) == (output.reply, output.faults, dict(output.elements))
    return len(whole)


@pytest.mark.parametrize("outputs", [150, pytest.param(4_000, marks=pytest.mark.slow)])
def test_no_hostile_answer_releases_a_private_word(outputs: int) -> None:
    choice = chance.dice("hostile answers")
    author = Author(choice, reasons=False)
    talkative = naive_leaks = 0
    for number in range(outputs):
        text = author.answer()
        every_point = tuple(range(1, len(text)))
        some = tuple(sorted(choice.sample(range(len(text) + 1), min(3, len(text)))))
        talkative += check(text, some if number % 3 else every_point) > 0
        naive_leaks += leaks(naive(text))
    assert talkative > outputs // 20, "a parser that says nothing would pass"
    assert naive_leaks > outputs // 3, "the checker must catch a naive extractor"


FRAGMENTS = [
    *(f"<{tag}>" for tag in KNOWN_TAGS[:4]),
    *(f"</{tag}>" for tag in KNOWN_TAGS[:4]),
    *("<", ">", "/", "&lt;", "&", ";", "internal_", "monologue", "external_dialogue", " ", "\n", "verb="),
    *('"', "'", "`"),
    *("\u200b", "word", "<think>", "</think>", "<!--"),
]


@settings(max_examples=100)
@given(st.lists(st.sampled_from(FRAGMENTS), max_size=30))
@example(["<external_dialogue>", "<", "<calls_for>", "</calls_for>", "external_dialogue"])
@example(["<external_dialogue>a <inter", "<calls_for>", "</calls_for>", "nal_monologue"])
@example(["<external_dialogue>a < /", "<calls_for>", "</calls_for>", "internal monologue"])
def test_any_soup_of_fragments_shows_no_tag_and_the_same_for_every_cut(fragments: list[str]) -> None:
    text = "".join(fragments)
    check(text, tuple(range(1, len(text))))


@settings(max_examples=60)
@given(st.text(st.characters(exclude_characters=f"&{OPENERS}")))
def test_a_reply_without_brackets_is_released_unchanged(reply: str) -> None:
    shown, output = released_by(f"<internal_monologue>{CANARY}</internal_monologue><{REPLY_TAG}>{reply}</{REPLY_TAG}>")
    assert shown == (output.reply or "") == reply.strip()
