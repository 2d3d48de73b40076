"""The role that a soul has in a mental process decides how it may state things there (seed 004, rule 3)."""

from collections.abc import Mapping

from daemon.core.turn_fields import Stated, mode_in
from daemon.mind.mental_process import ProcessContext
from daemon.mind.reply_rules import ReplyRule


class RoleLock:
    """Judges the opening tag of one reply by the soul's role; without a role any way of stating things is right."""

    def __init__(self, context: ProcessContext) -> None:
        role = context.soul.role_in(context.state.process)
        self._motor = context.motor
        self._modes = role[1].epistemic_modes if role else ()

    @property
    def advice(self) -> str:
        """What the model reads of it; empty where the role leaves every way open."""
        return f"State things in this way, as epistemic_mode: {self._named}." if self._modes else ""

    def judge(self, opening: Mapping[str, str]) -> str:
        """What is wrong with a reply that begins so; a mode that is missing or unknown is no fault."""
        mode = mode_in(opening)
        if not self._modes or mode is None or mode in self._modes:
            return ""
        self._motor.note_breach(ReplyRule.EPISTEMIC_MODE)
        return f"it was stated as {mode.value!r}, which is not your part here; state it as {self._named}"

    def note(self, stated: Stated) -> None:
        """Count a reply that was stated in another way, where that is known only behind its words."""
        if self._modes and stated.epistemic_mode not in self._modes:
            self._motor.note_breach(ReplyRule.EPISTEMIC_MODE)

    @property
    def _named(self) -> str:
        return " or ".join(map(str, self._modes))
