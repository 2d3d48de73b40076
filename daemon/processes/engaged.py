"""In conversation: the default process, in which most messages are answered."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.transitions.following import follow_cues


async def engaged(context: ProcessContext) -> Outcome:
    """Answer, unless a cue leads to another process."""
    return await follow_cues(context) or Stay(await converse(context))
