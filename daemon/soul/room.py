"""The tokens (by our own estimate) of a prompt that a soul's texts take, and those left for the talk."""

from collections.abc import Iterable

from daemon.core.working_memory import estimate_tokens
from daemon.soul.files import MANIFEST, PERSONALITY
from daemon.soul.schema import Mode, Soul

BESIDE = 500
"""The tokens kept for what changes every turn: a message of usual length, the summary, mood, moment and stance."""

HOUSE = 790
"""The most tokens of the daemon's rules and the form of an answer, without a soul's own words."""

TALK_STEP = 200
"""The step of the talk's share, which keeps the first turn shown the same for a while."""

_LEAD_IN = 8  # before the triggers of a mode, and before its hints
_FOR_NOW = 25  # before the text of a mode
_LEAST = 600  # that a soul's texts have to leave of the whole prompt
_LEAST_TALK = 200


def standing(soul: Soul, mode: str = "") -> int:
    """Return the tokens in every prompt of a soul in a mode: its texts, the rules, the form of an answer."""
    named = soul.mode(mode)
    own = estimate_tokens(soul.personality) + (estimate_tokens(named.personality) + _FOR_NOW if named else 0)
    verbs = estimate_tokens(", ".join((*soul.verbs.named_speech, *soul.verbs.named_thought)))
    return own + HOUSE + verbs + sum(_calls(one) for one in soul.modes)


def talk_budget(soul: Soul, mode: str = "") -> int:
    """Return the tokens of recent turns that a prompt in a mode surely shows. Older turns belong in the summary."""
    left = soul.budgets.prompt - standing(soul, mode) - BESIDE
    return min(soul.budgets.transcript, max(_LEAST_TALK, left // TALK_STEP * TALK_STEP))


def least_talk_budget(soul: Soul) -> int:
    return min(talk_budget(soul, mode) for mode in ("", *(one.name for one in soul.modes)))


def overfull(soul: Soul) -> Iterable[str]:
    """Yield a sentence for each mode, and for the soul without one, whose texts leave no room in the prompt."""
    allowed = soul.budgets.prompt
    for mode in ("", *(one.name for one in soul.modes)):
        if (size := standing(soul, mode)) > allowed - _LEAST:
            texts = f"{PERSONALITY} and {mode}/{PERSONALITY} are" if mode else f"{PERSONALITY} is"
            yield (
                f"{texts} too long: with the house's rules about {size} of the {allowed} tokens that budgets.prompt in "
                f"{MANIFEST} allows, and {_LEAST} have to be left; shorten the text, or raise budgets.prompt"
            )


def _calls(mode: Mode) -> int:
    triggers, hints = " ".join(mode.named_triggers), ", ".join(mode.named_hints)
    return sum(estimate_tokens(text) + _LEAD_IN for text in (triggers, hints) if text)
