"""The action Remember: note a conclusion that the soul drew from what was said and found."""

from daemon.core.telemetry.redaction import remove_keys
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mind.process import ProcessContext
from daemon.mind.reply import words_aloud

_LONGEST = 300  # characters


def remember(context: ProcessContext) -> Action:
    """Build the action. Its input says what to note."""

    async def handle(use: ActionUse) -> Recurse:
        content = remove_keys(words_aloud(use.input))[:_LONGEST].strip()
        if not content:
            return use.recurse(observation="Give what to note, in one plain sentence.")
        if context.cycle.paused:
            return use.recurse(observation="Nothing may be noted here: they have paused remembering.")
        context.motor.remember(content)
        return use.recurse(observation="It is noted, as your own conclusion.")

    return Action("Remember", "note a conclusion of your own for later talks; input: one plain sentence", handle)
