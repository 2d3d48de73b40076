"""The first words with somebody the soul has not met here: a warm welcome that is of use at once."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.transitions.following import follow_cues

_STANCE = (
    "You have not met this person here before. Answer what they said, and let it be felt that they are welcome: say "
    "in half a sentence who you are. Don't list what you can do and don't ask more than one question."
)


async def greeting(context: ProcessContext) -> Outcome:
    """Welcome, then grow curious; whoever comes straight with a poem to be written gets the poem."""
    if leading := await follow_cues(context):
        return leading
    return Transition(await converse(context, _STANCE), "curious", "they have been welcomed")
