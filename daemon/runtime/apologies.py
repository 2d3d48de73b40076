"""What the daemon says of an error that prevents a reply."""

from daemon.core.errors import (
    ConfigError,
    CutShort,
    DaemonError,
    MalformedReply,
    ModelRefused,
    ModelUnavailable,
    NoAccess,
    OnlyThought,
)
from daemon.core.sentences import Sentence

LATER = Sentence("advice_later")
_BROKEN = (Sentence("what_broken"), LATER)
_APOLOGIES: tuple[tuple[type[Exception], tuple[Sentence, Sentence]], ...] = (  # the first kind that fits counts
    (ConfigError, (Sentence("what_setup"), Sentence("advice_log"))),
    (NoAccess, (Sentence("what_setup"), Sentence("advice_log"))),
    (ModelRefused, (Sentence("what_refused"), Sentence("advice_put_differently"))),
    (ModelUnavailable, (Sentence("what_unreachable"), LATER)),
    (OnlyThought, (Sentence("what_only_thought"), Sentence("advice_think_less"))),
    (CutShort, (Sentence("what_too_long"), Sentence("advice_ask_less"))),
    (MalformedReply, (Sentence("what_form"), Sentence("advice_say_again"))),
    (DaemonError, (Sentence("what_unclear"), LATER)),
)


def apology_for(error: Exception) -> tuple[Sentence, Sentence]:
    """The apology's reason and advice; the details are in the log under the reference."""
    return next((words for kind, words in _APOLOGIES if isinstance(error, kind)), _BROKEN)
