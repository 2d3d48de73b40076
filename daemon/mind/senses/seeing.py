"""A mind that has pictures before its eyes: the steps that see are shown them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from daemon.core.ports.models import Image, Prompt
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.mind.cognition import Mind
from daemon.soul_engine import with_pictures


def seeing(mind: Mind, pictures: Sequence[Image]) -> Mind:
    """The mind with these pictures before its eyes."""

    def render(memory: WorkingMemory, step: Step[Any]) -> Prompt:
        prompt = mind.render(memory, step)
        return with_pictures(prompt, pictures) if step.sees else prompt

    return replace(mind, render=render) if pictures else mind
