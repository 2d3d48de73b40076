"""The first message of a user the soul has not met: a warm welcome that also answers."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Transition
from daemon.mind.transitions.following import follow_cues

_STANCE = (
    "You have not met this person here before. Answer what they said, and let it be felt that they are welcome: say "
    "in half a sentence who you are. Don't list what you can do and don't ask more than one question."
)


async def greeting(context: ProcessContext) -> Outcome:
    """Welcome the user, then go to `curious`; a cue leads to its own process at once."""
    if transition := await follow_cues(context):
        return transition
    return Transition(await converse(context, _STANCE), "curious", "they have been welcomed")
