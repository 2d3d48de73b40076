"""What an admin hears of once until it heals: names of alarms, and a plain sentence for each, with what to do.

A name is a kind, or `kind:what`. `what` names a part of the daemon or a model; a sentence never holds words of users.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from daemon.core.house_senses import HouseSense

QUIET_MS: Final = 600_000
"""An alarm that was not seen for so long has healed."""

DISK: Final = "disk"
OPS: Final = "ops"
SLACK: Final = "slack"

_SENTENCES: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "backup": ("copies of memory.db", "No copy of memory.db can be made: `soul doctor` says why."),
        "budget": (
            "the cap of {what}",
            (
                "{what} has spent what it may spend today, or nearly: `soul costs --by step` shows for what; "
                "SOUL_MAX_USD_A_DAY (or max_usd_a_day in its soul.toml) allows more."
            ),
        ),
        "dead": (
            "given up: {what}",
            (
                "Something was given up for good ({what}): `soul {what} list --state dead` lists it, "
                "`soul {what} retry` tries it again, `soul {what} drop` lets it go."
            ),
        ),
        DISK: ("the disk", "The disk that holds the data is nearly full: free some space on it."),
        "doctor": ("the check of {what}", "`soul doctor` fails at {what}: run it, it says what to do."),
        "loop": ("the task {what}", "A task of the daemon fails again and again ({what}): `soul logs` says why."),
        "model": (
            "the model {what}",
            (
                "The model {what} does not answer; it is tried again by itself. `soul status` shows who stands in, "
                "`soul logs` why."
            ),
        ),
        OPS: (
            "the ops channel",
            (
                "The channel of SOUL_OPS_CHANNEL takes no posts: invite the app there or unarchive it, "
                "or set another one and restart the daemon."
            ),
        ),
        "posting": (
            "posting in Slack",
            "Slack takes no posts from the app: `soul doctor` says whether a token or a scope is at fault.",
        ),
        SLACK: (
            "the connection to Slack",
            (
                "A daemon is not connected to Slack, or was not until some minutes ago; meanwhile it hears nothing "
                "there: `soul status` and `soul doctor` say why."
            ),
        ),
    }
)
_MOST_LINES: Final = 10
_LONGEST: Final = 80  # characters of a name
_OF_HOST: Final = frozenset({"backup", DISK, "doctor"})


def alarm_name(kind: str, what: str = "") -> str:
    """The name of an alarm; what can't stand in one is left out."""
    plain = "".join(letter for letter in what if letter.isprintable() and letter not in "`*_<>&~|\\")
    return f"{kind}:{plain}"[:_LONGEST] if what else kind


def sentence_of(name: str) -> str:
    """What is wrong and what to do, in one or two plain sentences."""
    return _said(name, 1)


def alarm_post(names: Sequence[str]) -> str:
    """The post that tells of new alarms, however many there are."""
    lines = [sentence_of(name) for name in names[:_MOST_LINES]]
    if len(lines) == 1:
        return f"⚠ {lines[0]}"
    more = [f"• and {len(names) - _MOST_LINES} more: `soul status` lists them"] if len(names) > _MOST_LINES else []
    return "\n".join(("⚠ Several things are wrong:", *(f"• {line}" for line in lines), *more))


def healed_line(names: Sequence[str], seconds: float) -> str:
    """The line that tells of alarms that healed, so long after the first of them was raised."""
    return f"✓ {healed_in_words(names, seconds)}"


def sense_of(name: str) -> HouseSense:
    """The sense by which a soul perceives an alarm."""
    return HouseSense.HOST if name.partition(":")[0] in _OF_HOST else HouseSense.DAEMON


def healed_in_words(names: Sequence[str], seconds: float) -> str:
    """That alarms healed, so long after the first of them was raised."""
    shown = ", ".join(_said(name, 0) for name in names[:_MOST_LINES])
    more = f", and {len(names) - _MOST_LINES} more" if len(names) > _MOST_LINES else ""
    minutes = max(1, round(seconds / 60))
    after = f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"  # noqa: PLR2004 - two hours
    return f"Healed after {after}: {shown}{more}."


def _said(name: str, number: int) -> str:
    kind, _, what = name.partition(":")
    sentences = _SENTENCES.get(kind)
    return sentences[number].format(what=what) if sentences else f"{name}: `soul doctor` says more."
