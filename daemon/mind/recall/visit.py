"""Visits: spells of talk, each ended by a silence; what decides whether somebody is greeted or welcomed back."""

from collections.abc import Sequence
from dataclasses import dataclass

from daemon.memory.knowledge.turns import Transcript
from daemon.memory.knowledge.user_models import UserModel
from daemon.memory.records import VisitState


@dataclass(frozen=True, slots=True)
class Visit:
    """The spell of talk that a perception belongs to; a configurable silence ends it.

    `number` counts this person's visits here from one; `exchanges` counts the replies already given in this visit.
    `silence` is the seconds since anybody last spoke in the conversation, zero at its beginning. `met` says that the
    soul has met the person before, where this conversation may know of it; `fresh` that their visit begins just now.
    """

    number: int = 1
    exchanges: int = 0
    silence: float = 0.0
    met: bool = False
    fresh: bool = False

    @property
    def begins(self) -> bool:
        """Whether nothing has been answered in it yet."""
        return self.exchanges == 0


def visit_of(
    visit_state: VisitState, models: Sequence[UserModel], transcript: Transcript, now_ms: int, silence_ms: int
) -> Visit:
    """The visit that words said now belong to: by when the person was last heard here, and how long it was silent."""
    silent_ms = now_ms - visit_state.spoken_ms if visit_state.spoken_ms else 0
    over = not visit_state.spoken_ms or silent_ms > silence_ms
    fresh = now_ms - max((one.seen_ms for one in models), default=0) > silence_ms
    return Visit(
        number=max((one.visits for one in models), default=0) + fresh,
        exchanges=0 if over else visit_state.exchanges,
        silence=silent_ms / 1000,
        met=any(one.interactions for one in models) or bool(transcript.turns or transcript.summary),
        fresh=fresh,
    )
