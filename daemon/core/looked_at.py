"""What a person has open beside the talk with the soul, as a platform tells it: ids, then names."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

LASTS_MS: Final = 15 * 60_000
"""For how long it is kept at most; what changes meanwhile takes its place at once."""

MOST: Final = 4
"""How many things a person has open at once."""


class Opened(StrEnum):
    """What kind of thing it is."""

    CHANNEL = "channel"
    MESSAGE = "message"
    CANVAS = "canvas"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class LookedAt:
    """One thing that is open: a channel, a message of it by its `ts`, or a page, of which nothing more is kept."""

    kind: Opened
    channel: str = ""
    ts: str = ""


@dataclass(frozen=True, slots=True)
class OpenBeside:
    """One of them as its person may know it: a name and an address, empty for a page; never a word of what it holds.

    `private_room` is the id of the private room that it names, `channel` that of any room; empty for none.
    """

    kind: Opened
    name: str = ""
    address: str = ""
    private_room: str = ""
    channel: str = ""
