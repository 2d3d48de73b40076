"""Visits: exchanges ended by the visit timeout, which decide whether a user is greeted or welcomed back."""

from collections.abc import Sequence

from daemon.core.value import Value
from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.records import VisitState


class Visit(Value):
    """The visit that a perception belongs to. A configurable silence ends a visit.

    `number` counts this user's visits here from one, `exchanges` the replies already given in this visit. `silence` is
    the seconds since the last message of any user in the conversation, zero at its beginning. `away` is the seconds
    since this user last spoke with the soul, as far as this audience may know, zero for never. `met`: the soul knows
    the user, as far as this audience may know. `fresh`: the user's visit begins with this message. `begun_ms` (UTC) is
    when the visit began, for a soul that thinks whole thoughts, 0 if unknown.
    """

    number: int = 1
    exchanges: int = 0
    silence: float = 0.0
    met: bool = False
    fresh: bool = False
    away: float = 0.0
    begun_ms: int = 0

    @property
    def begins(self) -> bool:
        return self.exchanges == 0


def visit_of(
    visit_state: VisitState,
    models: Sequence[UserModel],
    transcript: Transcript,
    now_ms: int,
    silence_ms: int,
) -> Visit:
    """Return the visit of messages that arrive at `now_ms`. `silence_ms` is the visit timeout."""
    silent_ms = now_ms - visit_state.spoken_ms if visit_state.spoken_ms else 0
    over = not visit_state.spoken_ms or silent_ms > silence_ms
    seen_ms = max((one.seen_ms for one in models), default=0)
    fresh = now_ms - seen_ms > silence_ms
    return Visit(
        number=max((one.visits for one in models), default=0) + fresh,
        exchanges=0 if over else visit_state.exchanges,
        silence=silent_ms / 1000,
        met=any(one.interactions for one in models) or bool(transcript.turns or transcript.summary),
        fresh=fresh,
        away=max(0, now_ms - seen_ms) / 1000 if seen_ms else 0.0,
    )
