"""Long replies are split without loss, at good places, with closed code fences in every message."""

import random
import re
from bisect import bisect_right

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from daemon.channels.slack.link_safety import PART, size, sizes
from daemon.channels.slack.splitting import FLOOR, pieces, split

FAMILY = "\U0001f469\u200d\U0001f469\u200d\U0001f467"
BLOCKS = [
    "A sentence of words. Another one! A third? ",
    "word " * 40,
    "\n",
    "\n\n",
    "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 12 + "\n",
    "```python\n" + "print('x')\n" * 15 + "```\n",
    "~~~~\n```\nnot the end\n```\n~~~~\n",
    "  ```js title=x\n  a\n\n  b\n  ```\n",
    "- item one\n- item two\n",
    FAMILY * 20,
    "e\u0301" * 50,
    "\U0001f1e9\U0001f1ea" * 20,
    "x" * 300,
    "`code` ",
    "> quoted ```\n",
    "# Heading\n\n",
]


def check(text: str, limit: int) -> tuple[str, ...]:
    """Assert every invariant of a split; returns the messages."""
    parts = split(text, limit)
    assert all(0 < size(part) <= limit for part in parts)
    assert all(part.strip() for part in parts)
    assert "".join(piece.text for piece in pieces(text, limit)) == text
    sure = bisect_right(sizes(text[:limit]), limit * (FLOOR - 0.01)) - 1
    if parts and text[:sure].strip():
        assert parts[0].startswith(text[:sure])
    return parts


def fences_close(message: str) -> bool:
    """Whether every fence of a message is closed, by a CommonMark parser."""
    lines = message.split("\n")
    for token in MarkdownIt("commonmark").parse(message):
        if token.type == "fence" and token.map:
            last = lines[min(token.map[1], len(lines)) - 1]
            if not re.match(rf"[ >]*{re.escape(token.markup)}", last) or token.map[1] - token.map[0] < 2:
                return False
    return True


def test_a_short_reply_is_one_message_and_a_long_one_is_split_at_good_places() -> None:
    for text in ("Hi\n", "```py\nunclosed", "x" * PART):
        assert split(text) == (text,)
    assert split("") == ()
    assert split(" \n\t ") == ()
    assert [part.strip() for part in split("a" + "\n" * 5000 + "b", 1000)] == ["a", "b"]
    with pytest.raises(ValueError, match="too small"):
        split("x", 999)
    head = "Some words and more. " * 1000
    assert split(head[:PART] + "x" * 5)[0] == split(head[:PART] + "\n```\n" * 900)[0]
    for length in (1, 100, 5800):
        assert split(head)[0].startswith(head[:length])
    words, sentences = "word " * 100, "One two three. " * 30
    assert split(f"{words}{sentences}\n{words}\n\n{words}{words}", 2000)[0].endswith(f"{words}\n\n")
    assert split(f"{words}{words}\n{words}{words}", 1100)[0].endswith("word \n")
    assert split(f"{words}{sentences}{words}", 1000)[0].endswith("three. ")
    assert split("word " * 400, 1001)[0] == "word " * 200
    assert split("漢字。" * 500, 1000)[0].endswith("。")
    row = "| some cell with words. And more | another cell |\n"
    for part in split(row * 200, 1000):
        assert len(part) % len(row) == 0
    for cluster in (*CLUSTERS, "\U0001f3f4\U000e0067\U000e0062\U000e007f"):
        parts = split("a" + cluster * 2000, 1000)
        assert "".join(parts) == "a" + cluster * 2000
        assert all(len(part.removeprefix("a")) % len(cluster) == 0 for part in parts)
    text = "a" + "\u0301" * 5000
    assert "".join(check(text, 1000)) == text


def test_a_code_fence_is_closed_and_opened_again_never_at_the_end_of_a_message() -> None:
    code = "".join(f"line {number}\n" for number in range(300))
    parts = split(f"Look:\n\n````python title=x\n{code}````\nDone.", 1000)
    assert len(parts) > 2
    assert parts[0].startswith("Look:\n\n````python title=x\nline 0\n")
    assert all(part.startswith("````python title=x\nline ") for part in parts[1:])
    assert all(part.endswith("\n````") for part in parts[:-1])
    assert parts[-1].endswith("````\nDone.")
    assert "".join(re.findall(r"line \d+\n", "".join(parts))) == code
    assert fences_close("a\n```\nb\n```")
    assert not fences_close("a\n```\nb")
    parts = split("word " * 190 + "\n\n```py\n" + "x = 1\n" * 100 + "```", 1000)
    assert parts[0].endswith("word \n\n")
    assert parts[1].startswith("```py\nx = 1")
    parts = split('```py\ndef f():\n    """\n    ```\n    """\n' + "    x = 1\n" * 300 + "```\n", 1000)
    assert all(part.startswith("```py\n") for part in parts)
    assert all(fences_close(part) for part in parts)
    parts = split("```\n" + "x" * 3000 + "\n```", 1000)
    assert all(fences_close(part) for part in parts)
    assert sum(part.count("x") for part in parts) == 3000


CLUSTERS = [
    FAMILY,
    "e\u0301\u0302",
    "\U0001f44d\U0001f3fd",
    "\U0001f1e9\U0001f1ea",
    "\u1112\u1161\u11ab",
    "\u2764\ufe0f",
]


def test_forty_thousand_characters_are_split_without_loss() -> None:
    choice = random.Random(11)
    for _ in range(2):
        text = "".join(choice.choice(BLOCKS) for _ in range(2000))[:40_000]
        assert len(check(text, PART)) >= 3
    for unit in ("```\n", "`", "~~~", "\n", "> ", "| ", "\u200d", "\U0001f1e9", ". ", "```" + "x" * 126 + "\n"):
        check((unit * 40_000)[:40_000], PART)


@settings(max_examples=80)
@given(st.lists(st.sampled_from(BLOCKS) | st.text(max_size=40), max_size=60).map("".join), st.integers(1000, 3000))
def test_the_messages_of_any_reply_are_complete_and_within_the_limit(text: str, limit: int) -> None:
    check(text, limit)


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from([block for block in BLOCKS if not block.startswith((">", "  "))]), min_size=10, max_size=80
    ).map("\n".join),
    st.integers(1000, 2000),
)
def test_every_message_has_its_fences_closed(text: str, limit: int) -> None:
    assert all(fences_close(part) for part in split(text, limit))
