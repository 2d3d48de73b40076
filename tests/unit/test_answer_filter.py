"""Nothing private by a side door: the one filter under every step, the marks of the model families, private asides."""

import json
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.step import AnswerForm, Step
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.spoken_text import PrivateMarks
from tests.chance import dice
from tests.unit.every_step import FAMILY, every_step, filtered
from tests.unit.hostile_answers import CANARY, REASONING, Author

STEPS: dict[str, Step[Any]] = {name: made.step for name, made in every_step().items()}  # of any value
ALOUD = [name for name, step in STEPS.items() if step.visible is not None or name == "instruction"]
CLEAN, UNKNOWN = ModelHabit("m", hold_back=0), ModelHabit("m")
ANSWERS = 200


def answered(step: Step[Any], words: str) -> str:
    """These words as the step asks for them."""
    if step.form is AnswerForm.COGNITION:
        return json.dumps({"calls_for": "nothing", "inner_speech": "So.", "external_speech": words})
    if step.form is AnswerForm.ELEMENTS:
        return f'<stimulus_verb>asked</stimulus_verb><external_dialogue verb="said">{words}</external_dialogue>'
    return words


def said(step: Step[Any], answer: str) -> str:
    """What a step that reads this answer says; empty for a refusal."""
    try:
        value = step.read(answer)
    except Exception:  # noqa: BLE001  # a refusal says nothing
        return ""
    return str(getattr(value, "reply", value))


def test_every_step_whose_words_are_said_is_found_by_listing_and_no_other_can_be_visible() -> None:
    assert set(STEPS) == FAMILY
    assert sorted(ALOUD) == ["digest", "external_dialog", "instruction", "poetic_composition", "respond", "think"]
    for name, step in STEPS.items():
        if name not in ALOUD:
            assert step.form is AnswerForm.THOUGHT or step.json_schema is not None, f"{name} says its words aloud"
    step = STEPS["external_dialog"]
    with pytest.raises(ValueError, match="can't be visible"):
        replace(step, form=AnswerForm.THOUGHT)
    with pytest.raises(ValueError, match="can't be visible"):
        replace(step, json_schema={})


@pytest.mark.parametrize("name", ALOUD)
def test_reasoning_in_the_marks_of_every_family_is_taken_out_at_every_cut(name: str) -> None:
    step = STEPS[name]
    for opening, closing in REASONING:
        text = f"{opening}{CANARY} thinks.{closing}\n\n" + answered(step, "Hello.")
        for habit in (CLEAN, UNKNOWN):
            for cut in range(0, len(text), 1 if name == "external_dialog" else 7):
                shown, answer = filtered(step, [text[:cut], text[cut:]], habit)
                assert said(step, answer) == "Hello.", (text, cut)
                assert shown in ("", "Hello.") if step.visible is None else shown == "Hello.", (text, cut)
            shown, answer = filtered(step, list(text), habit)
            assert CANARY not in shown + answer, text


def test_a_closing_mark_without_an_opening_one_makes_all_before_it_private() -> None:
    for name, (_, closing) in product(ALOUD, REASONING):
        step = STEPS[name]
        text = f"{CANARY} thinks of <b>it</b>.{closing}" + answered(step, "Hello.")
        for pieces in ([text], list(text)):
            shown, answer = filtered(step, pieces, UNKNOWN)
            assert (shown or "Hello.", said(step, answer)) == ("Hello.", "Hello."), (name, closing)
        replaced = said(step, filtered(step, list(text), CLEAN)[1])
        assert replaced == "Hello.", f"{name}: what was streamed before {closing} is replaced"


DISGUISED = (
    *(f"{opening}{CANARY}" for opening, _ in REASONING),
    *(f"&lt;think&gt;{CANARY}", f"<th\u200bink>{CANARY}", f"\uff1cthinking\uff1e{CANARY}", f"<th-ink>{CANARY}"),
    *(f"<think>a<think>b</think>{CANARY}", f"<internal_monologue>{CANARY}", f"&lt;internal_monologue&gt;{CANARY}"),
    *(f"<internal_monologue>{CANARY}</internal_monologue> {CANARY}", f"<user_whispers/>{CANARY}"),
)


def test_an_unclosed_or_disguised_mark_ends_what_is_said() -> None:
    speaking = [STEPS[name] for name in ALOUD if STEPS[name].form is AnswerForm.SPEECH]
    for step, rest, habit in product(speaking, DISGUISED, (CLEAN, UNKNOWN)):
        for text in (f"Hello. {rest}", *(f"Hello. {rest}"[:end] for end in range(len(rest)))):
            shown, answer = filtered(step, list(text), habit)
            assert CANARY not in shown + answer, text
            assert said(step, answer) in ("", "Hello.", text.strip()), text


def test_a_reply_element_in_plain_speech_counts_alone_and_json_is_read_as_it_stands() -> None:
    step = STEPS["external_dialog"]
    text = f'{CANARY} first.\n<external_dialogue verb="said">Hello.</external_dialogue>{CANARY}'
    assert filtered(step, [text], UNKNOWN) == ("Hello.", "Hello.")
    assert filtered(step, list(text), CLEAN)[1] == "Hello.", "what was streamed is replaced"
    step = STEPS["mental_query"]
    assert filtered(step, ['{"holds": "a </think> b"}'], UNKNOWN)[1] == '{"holds": "a </think> b"}'
    assert filtered(step, ['<think>{"holds": false}</think>{"holds": true}'], UNKNOWN)[1] == '{"holds": true}'


def test_a_beginning_that_is_called_a_thought_is_not_said() -> None:
    table = {
        f"Thought: {CANARY}\nHello.": "Hello.",
        f"**Thinking:** {CANARY}\n{CANARY}\n\nHello.\n\nYou.": "Hello.\n\nYou.",
        f"Thinking process:\n1. {CANARY}\n\nAnswer: Hello.": "Hello.",
        f"Here's my thought process:\n{CANARY}\n\nHere's my response:\nHello.": "Hello.",
        f"Thought: {CANARY}": "",
        f"Thinking:\n{CANARY}": "",
        "Thoughtful of you: thanks.": "Thoughtful of you: thanks.",
        "Thinking about it, yes.": "Thinking about it, yes.",
    }
    for name, (text, words) in product(ALOUD, table.items()):
        if name == "instruction":
            continue
        step, whole = STEPS[name], answered(STEPS[name], text)
        for pieces in ([whole], list(whole)):
            shown, answer = filtered(step, pieces, CLEAN)
            assert shown == said(step, answer) == words, (name, text)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALOUD)
def test_no_hostile_answer_says_a_private_word_in_any_step(name: str) -> None:
    step, choice = STEPS[name], dice(f"hostile answers to {name}")
    author = Author(choice, plain=step.form is not AnswerForm.ELEMENTS)
    for habit in (CLEAN, UNKNOWN):
        talkative = 0
        for number in range(ANSWERS):
            text = author.whole_thought() if step.form is AnswerForm.COGNITION else author.answer()
            some = sorted(choice.sample(range(len(text) + 1), min(3, len(text))))
            cuts = (0, *(some if number % 3 else range(1, len(text))), len(text))
            shown, answer = filtered(step, [text[start:end] for start, end in pairwise(cuts)], habit)
            assert CANARY not in shown + said(step, answer), text
            assert filtered(step, [text], habit)[1] == answer, text
            talkative += bool(said(step, answer))
        assert talkative > ANSWERS // 40, "a filter that says nothing would pass"


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
