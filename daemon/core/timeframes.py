"""Times in words: deadlines and due times as a soul writes them, and the times and rules of reminders."""

import datetime as dt
import re
from typing import Final

from daemon.core.sentences import Words
from daemon.core.timetable import FARTHEST_MS, MINUTE_MS, Every, Recurrence, recurrence_of, when, zone_of
from daemon.core.value import Value

DAY_MS: Final = 24 * 60 * MINUTE_MS

EXCHANGES_LAST_MS: Final = 14 * DAY_MS
"""Milliseconds for which exchanges are awaited. After that an expectation of them is open no longer."""

_A_FEW: Final = 3
_MOST_EXCHANGES: Final = 50
_NUMBERS: Final = {
    **dict.fromkeys(("a", "an", "one", "ein", "eine", "einer", "einem", "einen"), 1),
    **dict.fromkeys(("couple", "two", "zwei", "paar"), 2),
    **dict.fromkeys(("few", "some", "several", "three", "drei", "wenigen", "einigen", "einige", "wenige"), _A_FEW),
    **dict.fromkeys(("four", "vier"), 4),
    **dict.fromkeys(("five", "fünf"), 5),
    **dict.fromkeys(("ten", "zehn"), 10),
}
_UNITS: Final = {
    **dict.fromkeys(("second", "seconds", "sec", "secs", "s", "sekunde", "sekunden"), "s"),
    **dict.fromkeys(("minute", "minutes", "min", "mins", "m", "minuten"), "m"),
    **dict.fromkeys(("hour", "hours", "hr", "hrs", "h", "stunde", "stunden"), "h"),
    **dict.fromkeys(("day", "days", "d", "tag", "tage", "tagen", "tages"), "d"),
    **dict.fromkeys(("week", "weeks", "w", "woche", "wochen"), "w"),
}
_SEVERAL: Final = (
    *("seconds", "minutes", "hours", "days", "weeks"),
    *("sekunden", "minuten", "stunden", "tage", "tagen", "wochen"),
)
_EXCHANGE: Final = re.compile(
    r"(?:exchanges?|turns?|messages?|repl(?:y|ies)|responses?|nachrichten?|antwort(?:en)?|wortwechseln?|beiträgen?)"
)
_LEADING: Final = re.compile(
    r"(?:within|in|by|until|till|before|during|over|on|at|after|next|the|this|coming|end of|"
    r"innerhalb|binnen|bis|am|um|zum|vor|nächsten?|nächster|kommenden?|diese[nr]?|der|den|dem|des|von) "
)
_DAYS: Final = (
    ("monday", "mon", "montag"),
    ("tuesday", "tue", "dienstag"),
    ("wednesday", "wed", "mittwoch"),
    ("thursday", "thu", "donnerstag"),
    ("friday", "fri", "freitag"),
    ("saturday", "sat", "samstag"),
    ("sunday", "sun", "sonntag"),
)
_WEEKDAYS: Final = {name: number for number, names in enumerate(_DAYS) for name in names}
_NEAR: Final = {
    **dict.fromkeys(("today", "tonight", "day", "heute", "heute abend", "tages"), 0),
    **dict.fromkeys(("tomorrow", "morgen"), 1),
    **dict.fromkeys(("day after tomorrow", "übermorgen"), 2),
}
_PARTS_OF_DAY: Final = {
    **dict.fromkeys(("morning", "vormittag", "früh"), (9, 0)),
    **dict.fromkeys(("noon", "midday", "lunch", "mittag"), (12, 0)),
    **dict.fromkeys(("afternoon", "nachmittag"), (15, 0)),
    **dict.fromkeys(("evening", "tonight", "night", "abend"), (18, 0)),
    "end of day": (17, 0),
}
_OVER: Final = (  # the end of each part of a day
    (re.compile(r"\b(?:morning|vormittag|früh)\b"), "12:00"),
    (re.compile(r"\b(?:afternoon|nachmittag)\b"), "18:00"),
    (re.compile(r"\b(?:evening|night|abend)\b"), "23:59"),
)
_FRIDAY: Final = _WEEKDAYS["friday"]
_SUNDAY: Final = _WEEKDAYS["sunday"]
_NAMES: Final = "|".join(sorted({*_NEAR, *_WEEKDAYS} - {"day", "tages"}, key=len, reverse=True))
_DAY_FIRST: Final = re.compile(rf"(?P<day>{_NAMES})(?: (?P<time>.+))?")
_TIME_FIRST: Final = re.compile(rf"(?P<time>.+?) (?:on |am )?(?P<day>{_NAMES})")
_NO_TIME: Final = (12, 0)  # of a day that is named without a time
_OF_DAY: Final = re.compile(r"(?:at|in the|in|by|before|until|till|around|about|um|am|gegen|bis|vor|,) ")
_ALONE: Final = re.compile(
    r"(?:(?:at|by|before|until|till|around|about|in the|um|gegen|bis|zum|am|vor|ab|spätestens) )*(?P<time>.+)"
)
_CLOCK: Final = re.compile(r"[0-9]{1,2}(?::[0-9]{2}(?: ?(?:am|pm|uhr))?|(?:\.[0-9]{2})? ?(?:am|pm|uhr))")
_THIS: Final = re.compile(r"\bthis (?=(?:morning|afternoon)$)")
_MEANT: Final = tuple(
    (re.compile(rf"(?<!\S)(?:{said})$"), meant)
    for said, meant in (
        ("later today|heute noch|noch heute", "today"),
        ("this evening", "tonight"),
        ("end of (?:the day|today)|eod|close of business|cob|ende des tages|tagesende|feierabend", "end of day"),
        ("(?:end of (?:the |this )?|this )week|ende (?:der|dieser) woche|diese woche", "end of week"),
        ("(?:end of (?:the |this )?|this )month|ende (?:des|dieses) monats|monatsende|diesen monat", "end of month"),
    )
)
_END: Final = re.compile(r"end of (?P<span>day|week|month)")
_NOON_MARKS: Final = re.compile(r"\b([ap])\.m\b\.?")
_MIDNIGHT: Final = ("midnight", "mitternacht", "24 uhr", "24:00", "24:00 uhr")
_HALF: Final = re.compile(r"(?:(?:a )?half(?: an)?|½|1/2|(?:eine[rn]? )?halben?) (?:hour|stunde)")
_AND_HALF: Final = re.compile(
    r"(?P<a>\S+) and a half hours?|(?P<b>\S+) hours? and a half|(?P<c>[a-zäöüß]{3,6}?)(?:und)?einhalb stunden?"
    r"|(?P<d>[0-9]{1,4})(?:[.,]5|½| ½| 1/2) ?(?:h|hrs?|hours?|stunden?)|(?P<one>anderthalb stunden?)"
)
_COMMA_IN_HOURS: Final = re.compile(r"(?<=[0-9]),(?=5 ?(?:h|stunden?)\b)")  # as Germans write it
_SOON: Final = ("soon", "shortly", "immediately", "right away", "bald", "gleich", "sofort")
_SOON_MS: Final = 60 * MINUTE_MS


class Timeframe(Value):
    """The deadline (ms, UTC), and the number of exchanges: None where only the time counts."""

    until_ms: int
    exchanges: int | None = None


def timeframe(text: str, now_ms: int, zone: str = "") -> Timeframe:
    """Read a timeframe, such as "in 2h", "next 10 seconds", "by Friday" or "next few exchanges" (three).

    A day, a week and a month end at midnight in `zone`, an IANA name, or in UTC; a morning ends at noon. Unreadable
    text means a day from now.
    """
    words = _meant(" ".join(text.casefold().strip(" .!").split()))
    for part, over in _OVER:
        words = part.sub(over, words)
    if (number := _exchanges(words)) is not None:
        return Timeframe(now_ms + EXCHANGES_LAST_MS, number)
    found = _read(words, now_ms, zone)
    return Timeframe(now_ms + DAY_MS if found is None or not now_ms < found <= now_ms + FARTHEST_MS else found)


def due_time(text: str, now_ms: int, zone: str = "") -> int:
    """Read a due time (ms, UTC), such as "in 2h", "tomorrow 9:00" or "Friday afternoon".

    Besides what `when` reads, a day may be named, in `zone` or UTC. A day alone means noon, or an hour from now once
    noon is over today. A time or a part of a day alone ("by 5pm", "gegen Mittag") is the next one to come. The end of a
    day is at five, that of a week on Friday. Raises ValueError, InThePast and TooFarAhead as `when` does.
    """
    spoken = _COMMA_IN_HOURS.sub(".", text.casefold()).replace(",", " ").strip(" .!")
    words = _THIS.sub("today ", _meant(" ".join(spoken.split())))
    bare = words
    while bare:
        for read in (_soon, _half_hours, _end_of_work, _time_on_day, _span):
            if (found := read(bare, now_ms, zone)) is not None:
                return found
        if not _LEADING.match(bare):
            break
        bare = _LEADING.sub("", bare, count=1)
    if (found := _next_on_clock(words, now_ms, zone)) is not None:
        return found
    return when(words.removeprefix("by "), now_ms, zone or "UTC")


def clock_time(text: str) -> tuple[int, int] | None:
    """Read hour and minute of a time or part of a day alone, such as "5pm", "by noon" or "gegen Mittag"; else None."""
    if (found := _ALONE.fullmatch(text.casefold().strip())) is None:
        return None
    rest = "0:00" if found["time"] in _MIDNIGHT else found["time"]
    return _PARTS_OF_DAY.get(rest) or (time_of_day(rest) if _CLOCK.fullmatch(rest) else None)


def _meant(words: str) -> str:
    words = _NOON_MARKS.sub(r"\1m", words)
    for said, meant in _MEANT:
        words = said.sub(meant, words)
    return words


def _exchanges(words: str) -> int | None:
    parts = words.split()
    if not parts or not _EXCHANGE.fullmatch(parts[-1]):
        return None
    numbers = [_number(one) for one in parts[:-1]]
    said = [one for one in numbers if one is not None]
    many = parts[-1].endswith(("s", "en", "n"))
    return min(_MOST_EXCHANGES, max(1, said[-1] if said and not (said[-1] == 1 and many) else _A_FEW if many else 1))


def _number(word: str) -> int | None:
    return int(word) if re.fullmatch(r"[0-9]{1,9}", word) else _NUMBERS.get(word)


def _read(words: str, now_ms: int, zone: str) -> int | None:
    """Read a moment, tried with fewer and fewer of the leading words."""
    whole = words
    while words:
        try:
            for read in (_soon, _half_hours, _day, _time_on_day, _span):
                if (found := read(words, now_ms, zone)) is not None:
                    return found
            return when(words, now_ms, zone or "UTC")
        except ValueError:
            pass
        words = _LEADING.sub("", words, count=1) if _LEADING.match(words) else ""
    return _next_on_clock(whole, now_ms, zone)


def _soon(words: str, now_ms: int, _zone: str) -> int | None:
    return now_ms + _SOON_MS if words in _SOON else None


def _half_hours(words: str, now_ms: int, _zone: str) -> int | None:
    """Read half an hour, or hours and a half, such as "an hour and a half" or "anderthalb stunden"."""
    if _HALF.fullmatch(words):
        return now_ms + 30 * MINUTE_MS
    if (found := _AND_HALF.fullmatch(words)) is None:
        return None
    said = found["a"] or found["b"] or found["c"] or found["d"]
    hours = 1 if found["one"] else _number(said)
    try:
        return None if hours is None else when(f"{hours}h30m", now_ms)
    except ValueError:
        return None


def _next_on_clock(words: str, now_ms: int, zone: str) -> int | None:
    part = clock_time(words)
    return None if part is None else when(f"{part[0]:02}:{part[1]:02}", now_ms, zone or "UTC")


def _span(words: str, now_ms: int, _zone: str) -> int | None:
    """Read a number, in words too, and a unit, such as "few minutes" or "2 stunden". Plural units alone mean a few."""
    parts = [one for one in words.split() if one not in ("of", "von", "next", "nächsten")]
    unit = _UNITS.get(parts[-1]) if parts else None
    numbers = [_number(one) for one in parts[:-1]]
    if unit is None or None in numbers:
        return None
    said = [one for one in numbers if one is not None]
    number = said[-1] if said else _A_FEW if parts[-1] in _SEVERAL else 1
    try:
        return when(f"{number}{unit}", now_ms)
    except ValueError:
        return None


def _day(words: str, now_ms: int, zone: str) -> int | None:
    """Return the end of a named day, or of this week or month."""
    there = zone_of(zone) or dt.UTC
    last = today = dt.datetime.fromtimestamp(now_ms / 1000, there).date()
    if words in _NEAR:
        last += dt.timedelta(days=_NEAR[words])
    elif words in _WEEKDAYS:
        last += dt.timedelta(days=(_WEEKDAYS[words] - today.weekday()) % 7)
    elif end := _END.fullmatch(words):
        last = _last_day(end["span"], today, _SUNDAY)
    else:
        return None
    midnight = dt.datetime.combine(last + dt.timedelta(days=1), dt.time(), there)
    return int(midnight.timestamp() * 1000)


def _end_of_work(words: str, now_ms: int, zone: str) -> int | None:
    """Return the end of this day, week or month at work. Once over: the next one; for a day an hour from now."""
    if (end := _END.fullmatch(words)) is None:
        return None
    span = end["span"]
    if span == "day":
        return _on_day("today", _PARTS_OF_DAY["end of day"], now_ms, zone, alone=True)
    there = zone_of(zone) or dt.UTC
    today = dt.datetime.fromtimestamp(now_ms / 1000, there).date()
    five = dt.time(*_PARTS_OF_DAY["end of day"])
    at = dt.datetime.combine(_last_day(span, today, _FRIDAY), five, there)
    if at.timestamp() * 1000 <= now_ms:
        at = dt.datetime.combine(_last_day(span, at.date() + dt.timedelta(days=1), _FRIDAY), five, there)
    return int(at.timestamp() * 1000)


def _last_day(span: str, today: dt.date, weekday: int) -> dt.date:
    if span == "week":
        return today + dt.timedelta(days=(weekday - today.weekday()) % 7)
    if span == "month":
        return (today.replace(day=1) + dt.timedelta(days=32)).replace(day=1) - dt.timedelta(days=1)
    return today


def _time_on_day(words: str, now_ms: int, zone: str) -> int | None:
    if (found := _DAY_FIRST.fullmatch(words) or _TIME_FIRST.fullmatch(words)) is None:
        return None
    day, time = found["day"], found["time"] or ""
    part = _PARTS_OF_DAY["evening"] if day in ("tonight", "heute abend") and not time else _part_of_day(time)
    return None if part is None else _on_day(day, part, now_ms, zone, alone=not time)


def _part_of_day(rest: str) -> tuple[int, int] | None:
    """Read hour and minute of the words next to a day, such as `at 9`: noon for none, None where they are no time."""
    while rest and _OF_DAY.match(rest):
        rest = _OF_DAY.sub("", rest, count=1)
    if not rest:
        return _NO_TIME
    return _PARTS_OF_DAY.get(rest) or time_of_day(f"{rest}:00" if rest.isdecimal() else rest)


def _on_day(day: str, part: tuple[int, int], now_ms: int, zone: str, *, alone: bool) -> int:
    """Return that time on the next day of this name. || Once an unnamed time is over today, return an hour from now."""
    there = zone_of(zone) or dt.UTC
    today = dt.datetime.fromtimestamp(now_ms / 1000, there).date()
    ahead = _NEAR[day] if day in _NEAR else (_WEEKDAYS[day] - today.weekday()) % 7
    clock = f"{part[0]:02}:{part[1]:02}"
    named = f"{today + dt.timedelta(days=ahead):%Y-%m-%d}T{clock}"
    at = int(dt.datetime.fromisoformat(named).replace(tzinfo=there).timestamp() * 1000)
    if at > now_ms:
        return when(named, now_ms, zone or "UTC")
    if ahead == 0 and day in _WEEKDAYS:
        return when(f"{today + dt.timedelta(days=7):%Y-%m-%d}T{clock}", now_ms, zone or "UTC")
    return now_ms + _SOON_MS if alone else when(named, now_ms, zone or "UTC")


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
