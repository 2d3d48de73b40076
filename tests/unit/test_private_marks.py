"""What a model marks as private within its own speech is not said: asides in brackets, JSON of a thought, fences."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from daemon.mind.private_marks import PrivateMarks

SECRET = "zqsecret"
FENCE = "note-2f62b032d1"


def passed(pieces: list[str]) -> tuple[str, bool]:
    """What is let through of these pieces, and whether the rest of the speech is private."""
    marks = PrivateMarks()
    said = "".join([*map(marks.feed, pieces), marks.finish()])
    return said, marks.met


def at_every_cut(speech: str) -> tuple[str, bool]:
    whole = passed([speech])
    assert passed(list(speech)) == whole
    assert all(passed([speech[:place], speech[place:]]) == whole for place in range(len(speech)))
    return whole


def test_thoughts_and_fences_within_a_speech_are_left_out_wherever_they_stand() -> None:
    for aside in (
        f"(thinks: {SECRET})",
        f"[inner_speech: {SECRET} (or [not]) so]",
        f"(*Inner thoughts:* {SECRET})",
        f"[_internal monologue_ : {SECRET}]",
        f"(Gedanken: {SECRET})",
        f"(denkt: {SECRET}\n\nnoch mehr)",
    ):
        assert at_every_cut(f"{aside} Hello.") == (" Hello.", False)
        assert at_every_cut(f"Hello {aside}there.") == ("Hello there.", False)
        assert at_every_cut(f"Hello.{aside}") == ("Hello.", False)
        assert at_every_cut(f"Hello {aside[:-1]}") == ("Hello ", True), "one that is not closed lasts to the end"
    for speech in (
        f'{{"calls_for": "nothing", "inner_speech": "{SECRET}", "external_speech": "Hello."}}',
        f'```json\n{{"innerSpeech": "{SECRET}"}}\n```',
        f"[{{'inner_monologue': '{SECRET}'}}]",
        f'  {{"output": {{"external_speech": "{SECRET}"}}}}',
    ):
        assert at_every_cut(speech) == ("", True)
    for mark in (f"<{FENCE} about=", f"</{FENCE}>", "<context-0123456789>", f"&lt;{FENCE}"):
        assert at_every_cut(f"Hello {mark} {SECRET}") == ("Hello ", True)
        assert at_every_cut(f"{mark} {SECRET}") == ("", True)
    wrapped = '<said-2f62b032d1 by="Tess">\nHello.\n</said-2f62b032d1>'
    assert at_every_cut(wrapped) == ("\nHello.\n", False)
    assert at_every_cut(f"{wrapped}\n\n<context-2f62b032d1>\n{SECRET}") == ("\nHello.\n\n\n", True)
    assert at_every_cut("Hello.</said-2f62b032d1> So.") == ("Hello.", True)


def test_other_speech_is_passed_on_as_it_stands() -> None:
    for speech in (
        "Hello (as I said), see [the docs](https://example.org/a) & <https://example.org>.",
        "(think: it over)",
        "( thinks: so)",
        "I had a thought: (it is late) [1]: x",
        '{"verb": "hums", "count": 1}',
        '```json\n{"verb": "hums"}\n```',
        'A thought has `inner_speech` and `external_speech`, as in:\n```json\n{"inner_speech": "So."}\n```',
        "<note> and <said-so> and &lt;context-free&gt; and a &amp; b < c",
        "(thoughts",
        "```",
        "[",
        "",
    ):
        assert at_every_cut(speech) == (speech, False)


BITS = [
    *("(", ")", "[", "]", "thinks", ":", " ", "\n", "_", "a", "```", "{", ">", "&lt;"),
    *("<note-", "<said-", "</said-", "2f62b032d1", '"inner_speech"'),
]


@given(st.lists(st.sampled_from(BITS), max_size=14), st.lists(st.integers(0, 80), max_size=6))
def test_no_cut_of_the_stream_changes_what_is_said(parts: list[str], cuts: list[int]) -> None:
    speech = "".join(parts)
    edges = [0, *sorted(min(cut, len(speech)) for cut in cuts), len(speech)]
    assert passed([speech[begin:end] for begin, end in pairwise(edges)]) == passed([speech])
