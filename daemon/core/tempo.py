"""When a soul thinks unasked (seed 002, *Tempo*): pure rules."""

from collections.abc import Sequence
from typing import Final, Literal, get_args

TickKind = Literal["awakening", "due", "surprise", "sense", "result", "visit_end", "wake"]
"""What it thinks about: that it exists, a goal that is due, what came otherwise than expected, what a sense tells it,
what came of what it asked for, the end of a visit, or what it wished to come back to."""

KINDS: Final[tuple[TickKind, ...]] = get_args(TickKind)
"""All kinds; the first of those that are due names the occasion."""

SOONEST_WAKE_S: Final = 2.0
LATEST_WAKE_S: Final = 86_400.0
MOST_WAKES: Final = 8
"""How often in a day a soul may wake by its own wish."""

MOST_FRUITLESS: Final = 2
"""After so many wakes in a row to no effect there are none until a person has written."""

Skipped = Literal["budget", "quiet", "not_invited", "words", "breaker"]
"""Why a counted tick was not thought: nothing left to spend, words came first, or the model failed, among others."""

REFLECTING: Final = "reflecting"
"""The mental process that a tick visits."""

OCCASION: Final = "occasion"
"""The parameter of a tick's perception that names its kind."""

RESULTS: Final = "results"
"""The parameter that holds what the ticks of kind `result` are about, each `PROPOSED` or `ANSWERED`."""

PROPOSED: Final = ""
ANSWERED: Final = "session"
"""What a tick of kind `result` is about: what an admin decided on proposals, and what a session answered."""

SURPRISING: Final = 0.5
"""From this surprise on, from 0 to 1, what came otherwise than expected weighs."""

STALE_AFTER_MS: Final = 14 * 86_400_000
"""How long a goal stays untouched until it is stale."""

FIRST_PAUSE_MS: Final = 3_600_000
LONGEST_PAUSE_MS: Final = 86_400_000
LASTS_MS: Final = 86_400_000
"""For how long the end of a visit, a surprise, or a decision on what was proposed, is worth a thought."""

AGAIN_MS: Final = 1_800_000
"""After which a soul without anything left to spend looks whether it may think again."""


def next_pause(kind: TickKind, pause_ms: int, *, open_: bool, said: str, said_before: str) -> int | None:
    """For how long (ms) a tick waits before it is thought about again; None drops it.

    `open_`: the matter is as it was, since the thought neither closed its goal nor gave it another time. `said` is a
    digest of the thought: the same twice drops the matter. All else is thought about once.
    """
    if kind != "due" or not open_ or (said and said == said_before):
        return None
    return min(LONGEST_PAUSE_MS, pause_ms * 2) if pause_ms else FIRST_PAUSE_MS


def pause_of_reading(thoughts: Sequence[str]) -> int | None:
    """For how long (ms) after the last of these thoughts about it an equal reading wakes none; None: it never does.

    They are digests, newest first, all since anything changed. Each doubles the pause, and the same twice ends it.
    """
    if len(thoughts) > 1 and thoughts[0] and thoughts[0] == thoughts[1]:
        return None
    return min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS << max(0, min(len(thoughts), 8) - 1))
