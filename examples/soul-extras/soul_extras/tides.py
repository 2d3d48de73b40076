"""A cognitive step: what the tide makes of a message, thought in private before the reply."""

from daemon.core.step import AnswerForm, Step
from daemon.core.working_memory import thought
from daemon.mind.extended_steps import StepExtension
from daemon.soul import Soul


def _tide(soul: Soul) -> Step[str]:
    return Step(
        name="tide",
        command="Say in five words at most whether the newest message rises, turns or ebbs, and why.",
        read=str.strip,
        remember=lambda tide: (thought(tide, "felt the tide", name=soul.display_name),),
        form=AnswerForm.THOUGHT,
        max_output_tokens=64,
    )


TIDE = StepExtension(_tide)
