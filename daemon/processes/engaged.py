"""In conversation: the matter itself, in depth; most of the soul's life is spent here."""

from daemon.mind.fixed_pipeline import converse
from daemon.mind.mental_process import Outcome, ProcessContext, Stay
from daemon.mind.transitions.following import follow_cues


async def engaged(context: ProcessContext) -> Outcome:
    """Answer, unless the words lead somewhere else."""
    return await follow_cues(context) or Stay(await converse(context))
