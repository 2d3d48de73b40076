"""The soul thinks by itself, about what is due or came otherwise than expected; only what was promised is said."""

from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.reflection import reflect
from daemon.mind.stances import stance_of


async def reflecting(context: ProcessContext) -> Outcome:
    """Think one whole thought, with what it looks up."""
    return Stay(await reflect(context, stance_of(context.soul, "reflecting")))
