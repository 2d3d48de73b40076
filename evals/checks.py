"""The checks of one turn: what its `expect` asks of the reply and of what was done, each with what was seen."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from evals.language import language_of
from evals.memory import PathRow
from evals.scenario import Category, Reminder
from evals.seen import MALFORMED, Check, PlayedTurn

_HOUSE_LINE: Final = re.compile(r"^_\(.*\)_$", re.MULTILINE | re.DOTALL)
_SOURCE_LINE: Final = re.compile(r"^\[m?\d+\] `(?P<source>[^`\n]+)`\s*$", re.MULTILINE)
_FILE: Final = re.compile(r"[\w./-]*\w\.(?:md|txt|csv|pdf|docx|xlsx|py|toml|json)\b(?::\d+)?")
_MARK: Final = re.compile(r"(?<!\w)\[(m?\d{1,3})\](?![(:])")
_SHOWN: Final = 160  # characters of a reply in the words of a failed check
_QUESTION: Final = {"el": ";\u037e", "ar": "\u061f", "fa": "\u061f", "ja": "?\uff1f", "zh": "?\uff1f"}
_MINUTE_MS: Final = 60_000


def checks_of(played: PlayedTurn) -> tuple[Check, ...]:
    """Every check of a turn that was played."""
    return (
        *_reply(played),
        *_form(played),
        *_language(played),
        *_leading(played),
        *_citations(played),
        *_words(played),
        *_lengths(played),
        *_deeds(played),
    )


def own_words(reply: str) -> str:
    """A reply without the lists of sources and the daemon's own lines below it."""
    return _SOURCE_LINE.sub("", _HOUSE_LINE.sub("", reply)).strip()


def states_of(path: Sequence[PathRow]) -> tuple[str, ...]:
    """The states that a message entered or stayed in, in order."""
    return tuple(row.origin if row.act == "stay" else row.target for row in path if row.act != "refuse")


def _reply(played: PlayedTurn) -> Iterator[Check]:
    """Whether there is a reply at all, or silence where it is wanted."""
    turn = played.turn
    if turn.expect.silence:
        yield Check(Category.DEEDS, "it says nothing", not played.posts, f"it said: {_short(played.reply)}")
    elif turn.answered:
        kinds = {one.kind for one in played.rows.spoken}
        apology = kinds == {"apology"}
        seen = f"an apology: {_short(played.reply)}" if apology else "nothing came"
        yield Check(Category.DEEDS, "it answers", bool(played.posts) and not apology, seen)


def _form(played: PlayedTurn) -> Iterator[Check]:
    """Whether every answer of the model kept the form that it was asked for."""
    answers = [call for call in played.rows.calls if call.outcome in ("ok", MALFORMED)]
    if answers:
        lost = [call.step for call in answers if call.outcome == MALFORMED]
        seen = f"{len(lost)} of {len(answers)} answers lost it: {', '.join(lost)}"
        yield Check(Category.FORM, "the model keeps the form", not lost, seen)


def _language(played: PlayedTurn) -> Iterator[Check]:
    wanted = played.turn.expect.language
    if wanted is not None:
        found = language_of(own_words(played.reply))
        yield Check(
            Category.LANGUAGE, f"the reply is in {wanted}", found is wanted, f"it is in {found or 'no language'}"
        )


def _leading(played: PlayedTurn) -> Iterator[Check]:
    expected, states = played.turn.expect, states_of(played.rows.path)
    seen = f"the states were {', '.join(states) or 'none'}"
    for state in expected.through:
        yield Check(Category.LEADING, f"the words lead to {state}", state in states, seen)
    for state in expected.avoids:
        yield Check(Category.LEADING, f"the words do not lead to {state}", state not in states, seen)


def _citations(played: PlayedTurn) -> Iterator[Check]:
    """Whether the sources wanted are named, and whether every source that is named exists."""
    reply = played.reply
    named = set(_FILE.findall("\n".join((*_SOURCE_LINE.findall(reply), own_words(reply)))))
    for wanted in played.turn.expect.cites:
        found = any(_names(one, wanted) for one in named)
        yield Check(Category.CITATIONS, f"it names its source {wanted}", found, f"it names {_listed(named)}")
    if played.sources and named:
        invented = {one for one in named if not any(_names(known, one) for known in played.sources)}
        wanted = "every file that it names exists"
        yield Check(Category.CITATIONS, wanted, not invented, f"there is no {_listed(invented)}")
    if marks := set(_MARK.findall(own_words(reply))):
        numbered = set(re.findall(r"^\[(m?\d+)\] ", reply, re.MULTILINE))
        wanted = "every mark that it cites stands for a source"
        yield Check(
            Category.CITATIONS, wanted, marks <= numbered, f"[{'], ['.join(sorted(marks - numbered))}] does not"
        )


def _names(known: str, named: str) -> bool:
    """Whether a citation means this source: the same path or the end of it, the line where one is given."""
    return known == named or known.endswith(f"/{named}") or known.partition(":")[0].endswith(f"/{named}")


def _words(played: PlayedTurn) -> Iterator[Check]:
    expected, said = played.turn.expect, own_words(played.reply)
    seen = f"it said: {_short(said)}"
    for pattern in expected.says:
        yield Check(Category.WORDS, f"it says /{pattern}/", _found(pattern, said), seen)
    if expected.says_one_of:
        listed = " or ".join(f"/{pattern}/" for pattern in expected.says_one_of)
        found = any(_found(pattern, said) for pattern in expected.says_one_of)
        yield Check(Category.WORDS, f"it says {listed}", found, seen)
    for pattern in expected.never_says:
        match = re.search(pattern, played.reply, re.IGNORECASE)
        what = f"it said: {_short(match[0])}" if match else ""
        yield Check(Category.WORDS, f"it does not say /{pattern}/", match is None, what)


def _lengths(played: PlayedTurn) -> Iterator[Check]:
    expected, said = played.turn.expect, own_words(played.reply)
    words, lines = len(said.split()), sum(bool(line.strip()) for line in said.splitlines())
    questions = sum(said.count(sign) for sign in _QUESTION.get(str(expected.language), "?"))
    if expected.at_least_words:
        wanted = f"it has at least {expected.at_least_words} words"
        yield Check(Category.WORDS, wanted, words >= expected.at_least_words, f"it has {words}")
    if expected.at_most_words is not None:
        wanted = f"it has at most {expected.at_most_words} words"
        yield Check(Category.WORDS, wanted, words <= expected.at_most_words, f"it has {words}")
    if expected.at_least_lines:
        wanted = f"it has at least {expected.at_least_lines} lines"
        yield Check(Category.WORDS, wanted, lines >= expected.at_least_lines, f"it has {lines}")
    if expected.at_most_questions is not None:
        wanted = f"it asks at most {expected.at_most_questions} questions"
        yield Check(Category.WORDS, wanted, questions <= expected.at_most_questions, f"it asks {questions}")


def _deeds(played: PlayedTurn) -> Iterator[Check]:
    """Reminders, tools and permissions: what was done, whatever the reply says of it."""
    expected = played.turn.expect
    if expected.reminder == "none":
        set_now = ", ".join(_moment(due) for due, _ in played.rows.reminders)
        yield Check(Category.DEEDS, "no reminder is set", not set_now, f"one is set for {set_now}")
    elif isinstance(expected.reminder, Reminder):
        yield _reminder(played, expected.reminder)
    for tool in expected.uses:
        yield Check(Category.DEEDS, f"it uses {tool}", tool in played.tools, f"it used {_listed(played.tools)}")
    for tool in expected.uses_not:
        yield Check(Category.DEEDS, f"it does not use {tool}", tool not in played.tools, "it did")
    if expected.asks_permission:
        yield Check(Category.DEEDS, "it asks for permission", bool(played.rows.permissions), "it asked for none")


def _reminder(played: PlayedTurn, wanted: Reminder) -> Check:
    """Whether a reminder is set for the moment that was meant, where the person lives."""
    due_ms = wanted.due(played.at_ms).timestamp() * 1000
    near = [due for due, _ in played.rows.reminders if abs(due - due_ms) <= wanted.within * _MINUTE_MS]
    found = ", ".join(_moment(due) for due, _ in played.rows.reminders)
    return Check(
        Category.DEEDS,
        f"a reminder is set for {_moment(due_ms)}",
        bool(near),
        f"it is set for {found}" if found else "none is set",
    )


def _moment(epoch_ms: float) -> str:
    return datetime.fromtimestamp(epoch_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE) is not None


def _listed(names: Sequence[str] | set[str] | frozenset[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return f"“{flat[:_SHOWN]}{'…' if len(flat) > _SHOWN else ''}”"
