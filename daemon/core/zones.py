"""Time zones by their IANA names, as Slack and operating systems give them."""

from functools import lru_cache
from zoneinfo import ZoneInfo

_LONGEST = 64  # characters of a name; the longest of IANA's has 32


@lru_cache(maxsize=512)
def zone_of(name: str) -> ZoneInfo | None:
    """The zone called `Europe/Berlin` or the like; None for an empty name, and for one that is not known here."""
    if not name or len(name) > _LONGEST or not name.isascii():
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # a name that is no zone, or a folder of zones
        return None
