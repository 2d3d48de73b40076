"""The soul thinks by itself, about what is due or came otherwise; only what was promised or invited is said."""

from daemon.mind.awakening import awakening_of
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.reflection import reflect
from daemon.mind.stances import stance_of
from daemon.mind.thought.occasion import occasion_of


async def reflecting(context: ProcessContext) -> Outcome:
    """Think one whole thought, with what it looks up; the first one ever is about the soul itself."""
    first = occasion_of(context.perception) == "awakening"
    stance = awakening_of(context.soul) if first else stance_of(context.soul, "reflecting")
    return Stay(await reflect(context, stance))
