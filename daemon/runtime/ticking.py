"""What is otherwise in a cycle in which the soul thinks by itself: it is not shown, and words end it at once."""

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, nullcontext

from daemon.core.errors import LostLease
from daemon.memory.records import Delivery
from daemon.mind.interrupts import Interrupted
from daemon.runtime.cycle_state import Cycle


class WordsCame(LostLease):
    """A person wrote while the soul thought by itself; the thought that answers them takes its place."""


def shown_thinking(cycle: Cycle) -> AbstractAsyncContextManager[Callable[[str], None]]:
    """Shows people that the soul thinks, and how; not where it does so unasked."""
    return nullcontext(lambda _: None) if cycle.is_tick else cycle.channel.thinking(cycle.newest)


async def unless_words_come(cycle: Cycle, running: Coroutine[object, object, Delivery | None]) -> Delivery | None:
    """The result of a cycle. Raises WordsCame where it was unasked and a person writes meanwhile."""
    if not cycle.is_tick:
        return await running
    try:
        return await cycle.interrupt.unless_called(running)
    except Interrupted:
        raise WordsCame("words came first", hint="nothing to do: they are answered") from None
