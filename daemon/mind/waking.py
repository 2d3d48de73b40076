"""A soul's wish to think again after a while, as a part of its thought."""

from daemon.memory.queues.wakes import WakeWish
from daemon.mind.moment import Moment
from daemon.mind.thought import CognitiveOutput


def wishes_to_wake(moment: Moment, output: CognitiveOutput) -> tuple[WakeWish, ...]:
    """When it wants to think again, where it may think by itself at all."""
    if output.cycle_rate is None or not moment.wakes:
        return ()
    did = (
        *(output.external_speech, output.predictions, output.memory_ops, output.goal_updates, output.tool_calls),
        *(output.world_model_updates, output.value_updates, output.identity_update),
    )
    return (WakeWish(output.cycle_rate.seconds, fruitful=any(did)),)
