"""What of a thought is in effect, as far as the functions of the mind may."""

from collections.abc import Collection

from daemon.core.authority import FUNCTION_OF, Authority
from daemon.mind.thought.cognitive_output import CognitiveOutput


def without(output: CognitiveOutput, fields: Collection[str]) -> CognitiveOutput:
    """A thought that says nothing in some of its fields."""
    if not fields:
        return output
    kept = {name: getattr(output, name) for name in CognitiveOutput.model_fields if name not in fields}
    return CognitiveOutput.model_construct(**{"inner_speech": "", **kept})


def in_effect(output: CognitiveOutput, authority: Authority) -> CognitiveOutput:
    """A thought without the fields whose functions may do nothing by themselves."""
    return without(output, [name for name in FUNCTION_OF if not authority.allows(name)])
