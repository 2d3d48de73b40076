"""Threads that are bound to a session of Claude Code: what people say there goes to it in place of the soul."""

from dataclasses import dataclass
from typing import Final

from daemon.core.perception import Modality, Perception

KEPT_MS: Final = 24 * 3_600_000
"""For so long what is said in a bound thread waits for a session that is gone; then the soul answers again."""

MOST_SAID_HOURLY: Final = 60
"""What the sessions of one key may say of themselves in their threads within an hour."""

LONGEST_SAID: Final = 4_000
"""The most characters that a session says of itself at once."""


@dataclass(frozen=True, slots=True)
class BoundThread:
    """A conversation that is bound to a session of `person`, a Slack id; empty for the admin's.

    What `person` says there goes to the session, and what others say if `everybody`. `gone_ms` is since when the
    session is gone, as the thread has heard; None while it is there.
    """

    conversation: str
    session: str
    person: str
    everybody: bool
    bound_ms: int
    gone_ms: int | None = None

    def takes(self, perception: Perception) -> bool:
        """Whether a message goes to the session: words of its owner, or of any person where all may."""
        if perception.modality is not Modality.WORDS or perception.bot:
            return False
        return self.everybody or (bool(self.person) and perception.author == self.person)
