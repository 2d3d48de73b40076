"""What is wrong now, for the admin: loops that failed lately, a platform that takes nothing, models that are down."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daemon.core.alarms import alarm_name
from daemon.core.ports.clock import Clock

_LATELY: Final = 3600.0  # seconds for which a failure is shown
_MOST: Final = 20
_FAILING: Final = {"outbox.access_lost": "posting", "backup.failed": "backup"}
_ENDED: Final = {"outbox.sent": "posting", "backup.made": "backup"}
_AGAIN_AND_AGAIN: Final = 3  # failures within that time of what goes on by itself after one


@dataclass(frozen=True, slots=True)
class _Trouble:
    """When it was seen last, how often, why, and of which alarm it is a sign."""

    last: float
    times: int
    why: str
    alarm: str


class Troubles:
    """Reads events; implements `daemon.core.ports.telemetry.Emit`. Never raises."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, _Trouble] = {}  # by what fails

    def __call__(self, event: str, /, **fields: object) -> None:
        """Note an event that tells of trouble, or of its end."""
        if (what := _ended_by(event, fields)) is not None:
            self._seen.pop(what, None)
        elif (sign := _sign(event, fields)) is not None:
            self._note(*sign)

    def now(self) -> Mapping[str, str]:
        """What failed within the last hour, by what fails: how often, and the last reason."""
        return {name: f"{one.times} times, last: {one.why}" for name, one in self._lately().items()}

    def alarms(self) -> tuple[str, ...]:
        """The names of the alarms (`daemon.core.alarms`) of which these are signs."""
        found = [one.alarm for one in self._lately().values() if _is_alarming(one)]
        return tuple(dict.fromkeys(found))

    def _lately(self) -> dict[str, _Trouble]:
        since = self._clock.monotonic() - _LATELY
        return {name: one for name, one in self._seen.items() if one.last >= since}

    def _note(self, name: str, why: str, alarm: str) -> None:
        before = self._seen.pop(name, None)
        times = before.times + 1 if before else 1
        self._seen[name] = _Trouble(self._clock.monotonic(), times, why, alarm)
        while len(self._seen) > _MOST:
            del self._seen[next(iter(self._seen))]


def _is_alarming(trouble: _Trouble) -> bool:
    goes_on = trouble.alarm == "backup" or trouble.alarm.startswith("loop:")
    return trouble.times >= _AGAIN_AND_AGAIN or not goes_on


def _sign(event: str, fields: Mapping[str, object]) -> tuple[str, str, str] | None:
    """What fails, why, and of which alarm it is a sign; None for an event that tells of no trouble."""
    reason, model = str(fields.get("reason", "")), str(fields.get("model", ""))
    match event:
        case "loop.failed":
            loop = str(fields.get("loop", ""))
            return loop, reason, alarm_name("loop", loop)
        case "outbox.access_lost" | "backup.failed":
            what = _FAILING[event]
            return what, reason, what
        case "model.stood_in":
            first = str(fields.get("instead_of", ""))
            return first, f"{model} answers instead", alarm_name("model", first)
        case "llm.circuit_opened":
            return model, "it failed several times in a row", alarm_name("model", model)
        case "cap.met" if fields.get("paid_by") == "soul" and not fields.get("background"):
            soul = str(fields.get("soul", ""))
            return f"cap of {soul}", f"${fields.get('usd')} a day is met", alarm_name("budget", soul)
    return None


def _ended_by(event: str, fields: Mapping[str, object]) -> str | None:
    """What works again after an event."""
    ended = _ENDED.get(event)
    answered = event == "llm.circuit_closed" or (event == "step.completed" and fields.get("outcome") == "ok")
    return str(fields.get("model", "")) if answered else ended
