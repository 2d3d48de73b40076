"""No markdown stops the rendering of a post, and none is lost in it."""

import random

from daemon.channels.slack.outgoing.markup import inert
from daemon.channels.slack.outgoing.mrkdwn import to_mrkdwn
from daemon.channels.slack.outgoing.splitting import split
from tests.unit.hostile_markdown import hostile_markdown

_DEPTH = 3_000
HOSTILE = 20
CLOSED = {
    "emphasis": "*a " * _DEPTH + "x" + "*" * _DEPTH,
    "emphasis and strong": "**_a " * _DEPTH + "x" + "_**" * _DEPTH,
    "strikethrough": "~~a " * _DEPTH + "x" + "~~" * _DEPTH,
    "images": "![" * _DEPTH + "x" + "](y)" * _DEPTH,
    "links": "[" * _DEPTH + "x" + "](y)" * _DEPTH,
    "emphasis in a link": "[" + "*a " * 900 + "x" + "*" * 900 + "](https://a.example)",
    "quotes": "> " * _DEPTH + "x",
    "lists": "- " * _DEPTH + "x",
    "two hundred levels": "*a " * 200 + "x" + "*" * 200,
    "a wide table": "|" * 4_000 + "\n" + "|-" * 4_000 + "|\n" + "|x|\n" * 2_000,
}


def test_marks_are_rendered_as_deep_as_people_write_them_and_survived_however_deep() -> None:
    for kind, text in CLOSED.items():
        assert "x" in to_mrkdwn(text), kind
    assert to_mrkdwn("**a _b ~~c~~_**") == "*a _b ~c~_*"
    shown = to_mrkdwn("*a " * 60 + "x" + "*" * 60)
    assert shown.startswith("_a a a")
    assert shown.count("a") == 60
    assert to_mrkdwn("| a | b |\n|---|---|\n" + "| a | b |\n" * 40).startswith("```\na | b")
    huge = "|" + " a |" * 60 + "\n|" + "---|" * 60 + "\n" + ("|" + " b |" * 60 + "\n") * 60
    assert to_mrkdwn(huge).startswith("| a |")


def test_a_hostile_text_is_rendered_part_by_part() -> None:
    for seed in range(HOSTILE):
        for part in split(inert(hostile_markdown(random.Random(seed)))):
            assert isinstance(to_mrkdwn(inert(part)), str), seed
