"""The moment in which a thought takes effect."""

from dataclasses import dataclass

from daemon.core.initiative import NEVER_QUIET, QuietHours
from daemon.core.timeframes import due_time
from daemon.core.timetable import InThePast, TooFarAhead
from daemon.soul.field_types import Physio


@dataclass(frozen=True, slots=True)
class Moment:
    """When a thought takes effect (ms, UTC), and the zone of the person whom it answers, empty where it is unknown.

    `surprise` (0 to 1) is the greatest among what came otherwise than expected. `values` are those of the soul's
    soul.toml, `moods` those that it knows, none where that was checked before; half of one is gone after
    `half_life_minutes`. `mood` is the one before, and `physio` what each is in the body.
    `wakes`: the soul may think by itself.
    `promises` is how many things more it may promise the person whom it answers to come back to, None where it may
    promise nothing here; in `quiet` hours it says nothing unasked.
    """

    now_ms: int
    zone: str = ""
    surprise: float = 0.0
    values: tuple[str, ...] = ()
    moods: tuple[str, ...] = ()
    half_life_minutes: float = 120.0
    mood: str = ""
    physio: Physio = ()
    wakes: bool = True
    promises: int | None = None
    quiet: QuietHours = NEVER_QUIET


def due_by(text: str, moment: Moment) -> int | str:
    """A time in ms, UTC, as a thought writes it, or the reason why there is none."""
    try:
        return due_time(text, moment.now_ms, moment.zone)
    except InThePast:
        return "past"
    except TooFarAhead:
        return "too_far"
    except ValueError:
        return "out_of_range"
