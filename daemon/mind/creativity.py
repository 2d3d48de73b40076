"""How freely a step is answered: the soul's own creativity before the step's."""

from dataclasses import replace
from typing import TypeVar

from daemon.core.step import Step
from daemon.soul import Soul

T = TypeVar("T")


def with_soul_creativity(soul: Soul, step: Step[T]) -> Step[T]:
    """The step with the soul's own creativity, if soul.toml gives one for it."""
    return replace(step, creativity=soul.creativity_of(step.name, step.creativity))
