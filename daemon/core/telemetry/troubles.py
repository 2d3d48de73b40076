"""What is wrong now, for the admin: loops that failed lately, a platform that takes nothing, models that are down."""

from collections.abc import Mapping
from typing import Final

from daemon.core.ports import Clock

_LATELY: Final = 3600.0  # seconds for which a failure is shown
_MOST: Final = 20


class Troubles:
    """Reads events; implements `daemon.core.ports.Emit`. Never raises."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[float, int, str]] = {}  # by what fails: when last, how often, why

    def __call__(self, event: str, /, **fields: object) -> None:
        """Note an event that tells of trouble, or of its end."""
        if event == "loop.failed":
            self._note(str(fields.get("loop", "")), str(fields.get("reason", "")))
        elif event == "outbox.access_lost":
            self._note("posting", str(fields.get("reason", "")))
        elif event == "outbox.sent":
            self._seen.pop("posting", None)
        elif event == "model.stood_in":
            self._note(str(fields.get("instead_of", "")), f"{fields.get('model')} answers instead")
        elif event == "step.completed" and fields.get("outcome") == "ok":
            self._seen.pop(str(fields.get("model", "")), None)

    def now(self) -> Mapping[str, str]:
        """What failed within the last hour, by what fails: how often, and the last reason."""
        since = self._clock.monotonic() - _LATELY
        return {name: f"{times} times, last: {why}" for name, (last, times, why) in self._seen.items() if last >= since}

    def _note(self, name: str, why: str) -> None:
        _, times, _ = self._seen.pop(name, (0.0, 0, ""))
        self._seen[name] = (self._clock.monotonic(), times + 1, why)
        while len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]
