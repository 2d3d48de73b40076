"""Words of phrases: times and rules of reminders, short answers, suggested prompts."""

import datetime as dt
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.phrases import phrase_in
from daemon.core.sentences import Words
from daemon.core.text import one_line
from daemon.core.timetable import Every, Recurrence, recurrence_of, zone_of

_TIME: Final = re.compile(r"(\d{1,2})(?:[:.h]([0-5]\d))?\s*(am|pm|uhr|h)?", re.ASCII)
_NOON: Final = 12
_LAST_HOUR: Final = 23
_LATEST_MS: Final = 253_402_200_000_000  # the last day but one of the calendar, in any zone


def time_in(ms: int, zone: str) -> str:
    """Return a time as `2026-03-01 09:00 (Europe/Berlin)` in a zone, else in UTC."""
    known = zone_of(zone)
    ms = min(max(0, ms), _LATEST_MS)  # a row that holds any other number stops nothing
    return f"{dt.datetime.fromtimestamp(ms / 1000, known or dt.UTC):%Y-%m-%d %H:%M} ({known.key if known else 'UTC'})"


def rule_in_words(every: str, words: Words) -> str:
    """Return the rule of a repeated reminder in words. An admin's crontab stays as it is (UTC)."""
    rule = recurrence_of(every)
    if rule is None:
        return f"{every} (UTC)" if every else ""
    return _said(rule, words)


def repeats_in_words(when: str, every: str, words: Words, *, until: str = "", times: int = 0) -> str:
    """Return a line with the next time, the rule, and the end of the repetition, if there is one."""
    line = words.say("reminders_repeats", when=when, rule=rule_in_words(every, words))
    line = words.say("reminders_until", line=line, until=until) if until else line
    return words.say("reminders_times", line=line, count=times) if times else line


def time_of_day(text: str) -> tuple[int, int] | None:
    """Read a time of day as people write it: `9:30`, `9.30 Uhr`, `9 am`. None for anything else."""
    found = _TIME.fullmatch(text.strip().lower().removeprefix("at ").removeprefix("um ").strip())
    if found is None or not (found[2] or found[3]):
        return None
    hour, minute, half = int(found[1]), int(found[2] or 0), found[3]
    if half in {"am", "pm"}:
        if not 1 <= hour <= _NOON:
            return None
        hour = hour % _NOON + (_NOON if half == "pm" else 0)
    return (hour, minute) if hour <= _LAST_HOUR else None


def _said(rule: Recurrence, words: Words) -> str:
    time = f"{rule.hour:02d}:{rule.minute:02d}"
    match rule.every:
        case Every.HOURS:
            return words.say("rule_hours", hours=rule.hours)
        case Every.DAY:
            return words.say("rule_daily", time=time)
        case Every.WEEK:
            names = words.say("weekday_names").split()
            return words.say("rule_weekly", days=", ".join(names[one] for one in sorted(rule.weekdays)), time=time)
        case Every.MONTH:
            return words.say("rule_monthly", day=rule.day, time=time)
        case Every.YEAR:
            return words.say("rule_yearly", day=f"{rule.month:02d}-{rule.day:02d}", time=time)


FEWEST: Final = 2
MOST: Final = 5
LONGEST: Final = 60
"""Characters of one answer. Slack's buttons take 75."""

_READ: Final = 1_000  # characters; a longer list gives no answers
_MARKUP: Final = re.compile(r"[<>@`*~\[\]\\#]|://|^[!/_-]|\b_|_\b")


def short_answers_in(listed: str) -> tuple[str, ...]:
    """Return the distinct answers of a list separated by `|`. None of them if they are too few, too many or not plain.

    An answer is treated as the user's own words: it holds no markup, mention or address, and is no command.
    """
    if len(listed) > _READ:
        return ()
    found: dict[str, str] = {}
    for part in listed.split("|"):
        answer = one_line(unicodedata.normalize("NFC", part))
        if answer:
            found.setdefault(unicodedata.normalize("NFKC", answer).casefold(), answer)
    answers = tuple(found.values())
    fits = FEWEST <= len(answers) <= MOST and all(map(_is_plain, answers))
    return answers if fits else ()


def _is_plain(answer: str) -> bool:
    readable = answer.isprintable() and any(one.isalnum() for one in answer)
    return readable and len(answer) <= LONGEST and not _MARKUP.search(answer) and phrase_in(answer, alone=True) is None


SUGGESTIONS_MOST: Final = 4
"""Suggestions shown at once, at most (Slack: suggested prompts)."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A suggested prompt: pressing `title` sends `message`."""

    title: str
    message: str


def house_suggestions(words: Words) -> tuple[Suggestion, ...]:
    """Return the suggestions of a soul whose file names none."""
    names = ("prompt_hello", "prompt_problem", "prompt_memory")
    return tuple(Suggestion(words.say(f"{name}_title"), words.say(name)) for name in names)


def with_reminder(suggestions: Sequence[Suggestion], words: Words, when: str) -> tuple[Suggestion, ...]:
    """Return the suggestions, preceded by one for the user's next reminder, if there is one."""
    if not when:
        return tuple(suggestions[:SUGGESTIONS_MOST])
    own = Suggestion(words.say("prompt_reminder_title", when=when), words.say("prompt_reminder"))
    return (own, *suggestions[: SUGGESTIONS_MOST - 1])
