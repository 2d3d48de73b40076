"""Where a soul may say nothing (seed 002): unasked without a trace, else by a reaction."""

from daemon.core.ports.posts import Nod
from daemon.memory.records import Speaks
from daemon.mind.silence import Silence
from daemon.runtime.cycle_state import Cycle
from daemon.soul import Soul


def silence_of(cycle: Cycle, soul: Soul) -> Silence:
    """What becomes of it when the soul says nothing to the messages of a cycle."""
    newest = cycle.newest
    if newest.asks_nothing:
        return Silence.UNSEEN
    if not all(one.perception.has_message for one in cycle.messages):
        return Silence.REFUSED
    if not any(one.addressed for one in cycle.messages):
        return Silence.UNSEEN
    return Silence.NOD if nod_of(cycle, soul) is not None else Silence.REFUSED


def nod_of(cycle: Cycle, soul: Soul) -> Nod | None:
    """The reaction that answers the newest message meant for the soul; None where none can be shown."""
    asked = [one.perception for one in cycle.messages if one.addressed and one.perception.has_message]
    if not asked or not soul.presence.nod or Speaks.of(asked[-1].author) is not Speaks.PERSON:
        return None
    shown = cycle.services.channel.offers(asked[-1].conversation).nods
    return Nod(soul.presence.nod, asked[-1].ts) if shown else None
