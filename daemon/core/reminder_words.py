"""How reminders and their rules are put into words for the person who reads them, on their own clock."""

import datetime as dt
import re
from typing import Final

from daemon.core.recurrence import Every, Recurrence, recurrence_of
from daemon.core.sentences import Words
from daemon.core.zones import zone_of

_TIME: Final = re.compile(r"(\d{1,2})(?:[:.h]([0-5]\d))?\s*(am|pm|uhr|h)?", re.ASCII)
_NOON: Final = 12
_LAST_HOUR: Final = 23
_LATEST_MS: Final = 253_402_200_000_000  # the last day but one that a calendar here knows, in any zone


def time_in(ms: int, zone: str) -> str:
    """A time as a person reads it in their zone: `2026-03-01 09:00 (Europe/Berlin)`; else in UTC."""
    known = zone_of(zone)
    ms = min(max(0, ms), _LATEST_MS)  # a row that holds any other number stops nothing
    return f"{dt.datetime.fromtimestamp(ms / 1000, known or dt.UTC):%Y-%m-%d %H:%M} ({known.key if known else 'UTC'})"


def rule_in_words(every: str, words: Words) -> str:
    """What repeats a reminder, as a sentence says it; a crontab of the admin's stays as it is (UTC)."""
    rule = recurrence_of(every)
    if rule is None:
        return f"{every} (UTC)" if every else ""
    return _said(rule, words)


def repeats_in_words(when: str, every: str, words: Words, *, until: str = "", times: int = 0) -> str:
    """When it comes next, by which rule again, and where that ends, if it does."""
    line = words.say("reminders_repeats", when=when, rule=rule_in_words(every, words))
    line = words.say("reminders_until", line=line, until=until) if until else line
    return words.say("reminders_times", line=line, count=times) if times else line


def time_of_day(text: str) -> tuple[int, int] | None:
    """Hour and minute of a time of day, as people write it: `9:30`, `9.30 Uhr`, `9 am`; None for anything else."""
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
