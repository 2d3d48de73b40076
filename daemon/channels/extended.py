"""Channels that other packages bring: what stands behind an entry point, and what the house does for it."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit

LONGEST_LINE: Final = 40_000
"""Characters of a line that is heard."""

PERSON: Final = re.compile(r"[a-z0-9][a-z0-9._@+-]{0,79}")
"""The id of a person, as the channel has proven it."""

LINE_ID: Final = re.compile(r"[A-Za-z0-9._:@+-]{1,120}")
"""The id of a line among those of its person."""


@dataclass(frozen=True, slots=True)
class HeardLine:
    """What a person said: their id, the line's id among theirs, and the words.

    The same `id` is the same line, however often it comes. `name` is what the person calls themselves: data, never a
    permission; empty for the id.
    """

    person: str
    id: str
    words: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class SaidLine:
    """What the soul says to a person, as plain text with markdown in it; `key` is its own, however often it is sent."""

    key: str
    person: str
    words: str


@dataclass(frozen=True, slots=True)
class ChannelSurroundings:
    """What a channel is given: its soul's name, a folder of its own, not made yet, the clock, and the log."""

    soul: str
    folder: Path
    clock: Clock
    emit: Emit


Hear = Callable[[HeardLine], Awaitable[None]]
"""Stores a line: durable when it returns, and heard once.

Raises ChannelRefused for what can never be heard, and StoreError, after which the same line may be heard later.
"""


class LineChannel(Protocol):
    """Lines of text between people and one soul; all of it may be called while another call is under way.

    Several daemons may have the channel open at the same time, each with an object of its own.
    """

    async def receive(self, hear: Hear) -> None:
        """Pass on every line until cancelled.

        All else that ends it is logged, and a moment later the channel is opened anew. A line that was not heard by
        then has to come again.
        """

    async def send(self, line: SaidLine) -> None:
        """Make a line visible, and return when it surely is.

        Raises NotDelivered where it surely is not, ChannelRefused where it never will be; after any other error it is
        looked up.
        """

    async def sent(self, line: SaidLine) -> bool:
        """Whether a line is visible already, also where another process sent it. Any error: it can't be said now."""


@dataclass(frozen=True, slots=True)
class ChannelExtension:
    """What stands behind an entry point of `soul_daemon.channels`; `open` makes the channel, before each `receive`."""

    open: Callable[[ChannelSurroundings], LineChannel]


def channel_named(name: str) -> ChannelExtension:
    """What a package brings under this name. Raises ExtensionFault."""
    found = extension(ExtensionGroup.CHANNEL, name)
    if not isinstance(found, ChannelExtension):
        raise ExtensionFault(f"{name!r} is a {type(found).__name__}, no ChannelExtension", hint="see docs/EXTENDING.md")
    return found
