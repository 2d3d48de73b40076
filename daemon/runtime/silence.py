"""Where a soul may say nothing (seed 002): unasked without a trace, else by a reaction."""

import re
from typing import Final

from daemon.core.ports.posts import Nod
from daemon.memory.records import Speaks
from daemon.mind.silence import Silence
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul

_QUESTION: Final = re.compile(r"[?？؟][\"'”»)\]*_!]*(?=\s|\Z)")  # noqa: RUF001  # as others write it; none within an address


def silence_of(cycle: Cycle, soul: Soul) -> Silence:
    """What becomes of it when the soul says nothing to the messages of a cycle.

    No nod answers a question: a model that forgets its words is asked for them, whatever it thought of the message.
    """
    newest = cycle.newest
    if newest.asks_nothing:
        return Silence.UNSEEN
    if not all(one.perception.has_message for one in cycle.messages):
        return Silence.REFUSED
    if not any(one.addressed for one in cycle.messages):
        return Silence.UNSEEN
    if any(one.addressed and _QUESTION.search(one.perception.content) for one in cycle.messages):
        return Silence.REFUSED
    return Silence.NOD if nod_of(cycle, soul) is not None else Silence.REFUSED


def nod_of(cycle: Cycle, soul: Soul) -> Nod | None:
    """The reaction that answers the newest message meant for the soul; None where none can be shown."""
    asked = [one.perception for one in cycle.messages if one.addressed and one.perception.has_message]
    if not asked or not soul.presence.nod or Speaks.of(asked[-1].author) is not Speaks.PERSON:
        return None
    shown = cycle.channel.offers(asked[-1].conversation).nods
    return Nod(soul.presence.nod, asked[-1].ts) if shown else None
