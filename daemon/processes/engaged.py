"""In conversation: the default process, in which most messages are answered."""

from daemon.core.perception import Modality
from daemon.mind.fixed_pipeline import converse
from daemon.mind.matter import Matter
from daemon.mind.mental_process import Outcome, ProcessContext, Stay, Transition
from daemon.mind.stances import stance_of


async def engaged(context: ProcessContext) -> Outcome:
    """Answer, unless the message calls for another process.

    It keeps count of the exchanges on one matter; `thinks_the_matter_over` adds a thought after the third.
    """
    matter = Matter.kept(context.state.process_memory)
    if context.perception.modality is Modality.WORDS:
        matter = matter.on(context.own_state.topic if context.own_state else "")
    reply = await converse(context, stance_of(context.soul, "engaged"), keep_in_mind=matter.in_mind)
    return reply if isinstance(reply, Transition) else Stay(reply, process_memory=matter.to_json())
