"""An action: count the words of a text."""

from daemon.ism.machine import ActionExtension, ActionUse, Recurse
from daemon.mind.process import ProcessContext


async def _count(_context: ProcessContext, use: ActionUse) -> Recurse:
    return use.recurse(observation=f"It has {len(use.input.split())} words.")


COUNT = ActionExtension("Count", "count the words of a text; input: the text", _count)
