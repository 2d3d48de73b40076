"""Tempo, the rules of unasked thoughts (seed 002), alarms, and time spans in words."""

from collections.abc import Sequence
from typing import Final, Literal, get_args

from daemon.core.packaged import packaged_table
from daemon.core.sensing import HouseSense

TickKind = Literal["awakening", "due", "surprise", "sense", "result", "visit_end", "wake"]
"""The kinds of ticks: existence, a due goal, a surprise, a reading, a result, a visit's end, the soul's wish."""

KINDS: Final[tuple[TickKind, ...]] = get_args(TickKind)
"""All kinds. The first of those that are due names the occasion."""

SOONEST_WAKE_S: Final = 2.0
LATEST_WAKE_S: Final = 86_400.0
MOST_WAKES: Final = 8
"""Wakes by the soul's own wish in a day, at most."""

MOST_FRUITLESS: Final = 2
"""Wakes in a row without effect after which there are none until a person has written."""

Skipped = Literal["budget", "quiet", "not_invited", "words", "breaker"]
"""The reasons why a counted tick was not thought, such as an empty budget, new words, or a failing model."""

REFLECTING: Final = "reflecting"
"""The mental process of a tick."""

OCCASION: Final = "occasion"
"""The param of a tick's perception that holds its kind."""

RESULTS: Final = "results"
"""The param that holds the subjects of ticks of kind `result`, each `PROPOSED` or `ANSWERED`."""

PROPOSED: Final = ""
ANSWERED: Final = "session"
"""The subjects of a tick of kind `result`: an admin's decision on proposals, and a session's answer."""

SURPRISING: Final = 0.5
"""The surprise, from 0 to 1, from which on an outcome is worth a thought."""

STALE_AFTER_MS: Final = 14 * 86_400_000
"""Milliseconds without a change after which a goal is stale."""

FIRST_PAUSE_MS: Final = 3_600_000
LONGEST_PAUSE_MS: Final = 86_400_000
LASTS_MS: Final = 86_400_000
"""Milliseconds for which a visit's end, a surprise, or a decision on a proposal is worth a thought."""

AGAIN_MS: Final = 1_800_000
"""Milliseconds after which a soul without budget checks whether it may think again."""


def next_pause(kind: TickKind, pause_ms: int, *, open_: bool, said: str, said_before: str) -> int | None:
    """Return the pause (ms) before a tick is thought about again; None drops the tick.

    `open_`: the thought neither closed its goal nor gave it another time. `said` is a digest of the thought: an equal
    digest drops the tick. All kinds but `due` are thought about once.
    """
    if kind != "due" or not open_ or (said and said == said_before):
        return None
    return min(LONGEST_PAUSE_MS, pause_ms * 2) if pause_ms else FIRST_PAUSE_MS


def pause_of_reading(thoughts: Sequence[str]) -> int | None:
    """Return the pause (ms) after these thoughts during which an equal reading wakes none. None: it never does.

    The thoughts are digests, newest first, all since the last change. Each doubles the pause; two equal ones end it.
    """
    if len(thoughts) > 1 and thoughts[0] and thoughts[0] == thoughts[1]:
        return None
    return min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS << max(0, min(len(thoughts), 8) - 1))


QUIET_MS: Final = 600_000
"""Milliseconds after which an alarm that was not seen again has healed."""

DISK: Final = "disk"
OPS: Final = "ops"
SLACK: Final = "slack"

_ALARMS: Final = packaged_table("core/alarms.toml")
_MOST_LINES: Final = 10
_LONGEST: Final = 80  # characters of a name
_OF_HOST: Final = frozenset({"backup", DISK, "doctor"})


def alarm_name(kind: str, what: str = "") -> str:
    """Return the name of an alarm, without characters that a name may not hold."""
    plain = "".join(letter for letter in what if letter.isprintable() and letter not in "`*_<>&~|\\")
    return f"{kind}:{plain}"[:_LONGEST] if what else kind


def sentence_of(name: str) -> str:
    """Return what is wrong and what to do, in one or two plain sentences."""
    return _said(name, "says")


def alarm_post(names: Sequence[str]) -> str:
    """Return the post about new alarms, however many there are."""
    lines = [sentence_of(name) for name in names[:_MOST_LINES]]
    if len(lines) == 1:
        return f"⚠ {lines[0]}"
    more = [f"• and {len(names) - _MOST_LINES} more: `soul status` lists them"] if len(names) > _MOST_LINES else []
    return "\n".join(("⚠ Several things are wrong:", *(f"• {line}" for line in lines), *more))


def healed_line(names: Sequence[str], seconds: float) -> str:
    """Return the line about healed alarms, `seconds` after the first of them was raised."""
    return f"✓ {healed_in_words(names, seconds)}"


def sense_of(name: str) -> HouseSense:
    return HouseSense.HOST if name.partition(":")[0] in _OF_HOST else HouseSense.DAEMON


def healed_in_words(names: Sequence[str], seconds: float) -> str:
    """Return a sentence about healed alarms, `seconds` after the first of them was raised."""
    shown = ", ".join(_said(name, "name") for name in names[:_MOST_LINES])
    more = f", and {len(names) - _MOST_LINES} more" if len(names) > _MOST_LINES else ""
    minutes = max(1, round(seconds / 60))
    after = f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"  # noqa: PLR2004 - two hours
    return f"Healed after {after}: {shown}{more}."


def _said(name: str, text: str) -> str:
    kind, _, what = name.partition(":")
    texts = _ALARMS.get(kind)
    return str(texts[text]).format(what=what) if texts else f"{name}: `soul doctor` says more."


_DAY_S: Final = 86_400
_SIZES: Final = ((_DAY_S, "day"), (3_600, "hour"), (60, "minute"))


def span_in_words(seconds: float, *, units: int = 1) -> str:
    """Return a time span in words, by its greatest units: "12 minutes", by two "3 hours and 12 minutes".

    Less than a minute is given to a tenth of a second.
    """
    parts, left = list[str](), max(0.0, seconds)
    for size, name in _SIZES:
        number, left = int(left // size), left % size
        if number:
            parts.append(f"{number} {name}{'s' * (number > 1)}")
        elif parts:
            break
    return " and ".join(parts[:units]) if parts else f"{max(0.0, seconds):.1f} seconds"


def dated(words: str, when_ms: int, now_ms: int) -> str:
    """Return words with their age if that is a day or more: "calm (12 days ago)". Times in ms, UTC."""
    seconds = (now_ms - when_ms) / 1000
    return f"{words} ({span_in_words(seconds)} ago)" if words and seconds >= _DAY_S else words
