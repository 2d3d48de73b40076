"""The extended steps of a soul: its own creativity for a step, and the list of who works on what."""

from pkgutil import iter_modules
from typing import Final, TypeVar

from msgspec.structs import replace

import daemon.mind.steps
from daemon.core.step import Step
from daemon.mind.process import ProcessContext
from daemon.shared.who_works import listed
from daemon.soul import Soul

T = TypeVar("T")


def with_soul_creativity(soul: Soul, step: Step[T]) -> Step[T]:
    """Return the step with the soul's own creativity, if soul.toml gives one for it."""
    return replace(step, creativity=soul.creativity_of(step.name, step.creativity))


STEPS: Final = tuple(sorted(module.name for module in iter_modules(daemon.mind.steps.__path__)))


_SHOWN = (
    "Who is working on what, as their sessions of Claude Code say, stands in a list below your reply. Say so in one "
    "sentence, and name at most who they asked about; claim nothing that the list doesn't say."
)


def knows_of_sessions(context: ProcessContext) -> bool:
    return bool(context.cycle.at_work)


async def show_who_works(context: ProcessContext) -> str:
    context.motor.show_below(listed(context.cycle.at_work, context.motor.words))
    return _SHOWN
