"""Cognitive steps that other packages bring: a soul that names one thinks it through in private before each reply."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from daemon.core.errors import ModelError
from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.core.last_line import in_short
from daemon.core.step import Step
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.mind.creativity import with_soul_creativity
from daemon.mind.mental_process import ProcessContext
from daemon.soul import Soul

Setting = Callable[[WorkingMemory], WorkingMemory]
"""Adds what only one reply of one process needs: a mode, a stance, what the process keeps in mind."""


@dataclass(frozen=True, slots=True)
class StepExtension:
    """What stands behind an entry point of `soul_daemon.steps`; the entry point's name is that of the step.

    `step` makes it for a soul. What it remembers stands in the prompt of the reply, and in no later one; in the soul's
    voice it is a thought. Nothing of its answer is shown.
    """

    step: Callable[[Soul], Step[Any]]


def step_named(name: str) -> StepExtension:
    """The step that a package brings under this name. Raises ExtensionFault."""
    found = extension(ExtensionGroup.STEP, name)
    if not isinstance(found, StepExtension):
        raise ExtensionFault(f"{name!r} is a {type(found).__name__}, no StepExtension", hint="see docs/EXTENDING.md")
    return found


async def thought_through(context: ProcessContext, setting: Setting) -> Setting:
    """The setting of a reply with what the soul's steps of other packages came to; one that fails is left out."""
    for name in context.soul.extensions.steps:
        try:
            made = with_soul_creativity(context.soul, replace(step_named(name).step(context.soul), name=name))
            _, value = await context.mind.run(setting(context.memory), replace(made, visible=None))
            setting = _then(setting, tuple(map(_as_thought, made.remember(value))))
        except ModelError as error:
            context.cycle.emit("extension.failed", name=name, reason=error.message)
        except Exception as error:  # noqa: BLE001 - a fault of another package must not keep people from an answer
            context.cycle.emit("extension.failed", name=name, reason=in_short(error))
    return setting


def _as_thought(memory: Memory) -> Memory:
    """What a private step remembers in the soul's voice, as a thought: it was never said, however it is written."""
    if memory.role is not Role.ASSISTANT or memory.metadata.get("kind") == "thought":
        return memory
    return replace(memory, metadata={"kind": "thought", "verb": "thought"})


def _then(setting: Setting, thoughts: tuple[Memory, ...]) -> Setting:
    def added(memory: WorkingMemory) -> WorkingMemory:
        memory = setting(memory)
        for one in thoughts:
            memory = memory.with_memory(one)
        return memory

    return added
