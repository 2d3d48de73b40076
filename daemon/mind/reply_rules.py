"""Rules that every reply keeps (seed 004, section 6): lines that the model reads, and one check of the reply."""

from collections.abc import Mapping
from typing import Final

from daemon.core.step import Stated, mode_in
from daemon.memory.knowledge.records.kinds import Qualia
from daemon.mind.process import ProcessContext

_PHONE: Final = "If they say that they are on a phone, show at most three lines of code unless they ask for all of it."
_ALERT: Final = "You are on the alert: answer in a few short, plain sentences."
_ROLE: Final = "State things in this way, as epistemic_mode: {modes}."
_INTENSE, _SHARP = 0.9, "sharp"


def is_alarming(felt: Qualia | None) -> bool:
    """Return whether a feeling is so intense and sharp that the soul is on the alert."""
    return felt is not None and felt.intensity >= _INTENSE and felt.texture.casefold() == _SHARP


class ReplyRules:
    """The rules of one reply. A soul's role in a mental process may restrict how it states things there."""

    def __init__(self, context: ProcessContext) -> None:
        role = context.soul.role_in(context.state.process)
        self._context = context
        self._modes = role[1].epistemic_modes if role else ()

    @property
    def advice(self) -> str:
        alert = _ALERT if self._context.cycle.on_alert else ""
        return " ".join(filter(None, (_PHONE, alert, _ROLE.format(modes=self._named) if self._modes else "")))

    def judge(self, opening: Mapping[str, str]) -> str:
        """Return the fault of a reply with this opening, or an empty string. A missing or unknown mode is no fault."""
        mode = mode_in(opening)
        if not self._modes or mode is None or mode in self._modes:
            return ""
        self._count()
        return f"it was stated as {mode.value!r}, which is not your part here; state it as {self._named}"

    def note(self, stated: Stated) -> None:
        """Count a reply that was stated in another way, where that is known only after its words."""
        if self._modes and stated.epistemic_mode not in self._modes:
            self._count()

    def _count(self) -> None:
        self._context.cycle.emit("rule_broken.epistemic_mode", trace=self._context.mind.trace_id)

    @property
    def _named(self) -> str:
        return " or ".join(map(str, self._modes))
