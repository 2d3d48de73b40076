"""What a thought does to the documents of its mind, as parts that take effect where it is stored."""

from daemon.memory.mind.identity import IdentityPatch
from daemon.memory.mind.self_model import SelfModelPatch
from daemon.memory.mind.values import ValueChange, ValuesPatch
from daemon.memory.mind.world_model import WorldModelPatch
from daemon.mind.moment import Moment
from daemon.mind.thought import CognitiveOutput


def of_self(_moment: Moment, output: CognitiveOutput) -> tuple[SelfModelPatch, ...]:
    """What it says of itself."""
    patch = SelfModelPatch(**output.self_model_updates.model_dump())
    return (patch,) if patch.size else ()


def of_world(_moment: Moment, output: CognitiveOutput) -> tuple[WorldModelPatch, ...]:
    """What it says of people and things."""
    return (WorldModelPatch(output.world_model_updates),) if output.world_model_updates else ()


def of_values(moment: Moment, output: CognitiveOutput) -> tuple[ValuesPatch, ...]:
    """What it does to its values."""
    changes = tuple(ValueChange(one.action, one.value, one.meaning, one.why) for one in output.value_updates)
    return (ValuesPatch(changes, moment.values),) if changes else ()


def of_identity(_moment: Moment, output: CognitiveOutput) -> tuple[IdentityPatch, ...]:
    """What it does to its own text about itself."""
    update = output.identity_update
    return (IdentityPatch(update.action, update.text, update.why),) if update is not None else ()
