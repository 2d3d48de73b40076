"""Actions that other packages bring to the autonomous loop."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.ism.machine import Action, ActionUse, Recurse
from daemon.mind.mental_process import ProcessContext, Stay, Transition

HOUSE_ACTIONS = frozenset(
    {
        "think",
        "research",
        "read",
        "ask",
        "remember",
        "remind",
        "share",
        "tell",
        "handoff",
        "respond",
        "escalate",
        "done",
    }
)
"""Names that no extension may take, in lower case."""


@dataclass(frozen=True, slots=True)
class ActionExtension:
    """What stands behind an entry point of `soul_daemon.actions`.

    The model chooses it by `name` and `description`, which are read as the daemon's own words. `handler` carries it
    out; the input of its use was written by a model. `acts`: it changes something, and is not offered where the soul
    may only read.
    """

    name: str
    description: str
    handler: Callable[[ProcessContext, ActionUse], Coroutine[object, object, Recurse | Stay | Transition]]
    acts: bool = False


def action_named(name: str) -> ActionExtension:
    """The action that a package brings under this name. Raises ExtensionFault."""
    found = extension(ExtensionGroup.ACTION, name)
    if not isinstance(found, ActionExtension):
        raise ExtensionFault(f"{name!r} is a {type(found).__name__}, no ActionExtension", hint="see docs/EXTENDING.md")
    if found.name.casefold() in HOUSE_ACTIONS:
        raise ExtensionFault(f"{name!r} calls its action {found.name}, as one of the house's", hint="ask its author")
    return found


def extended_actions(context: ProcessContext, *, acts: bool) -> tuple[Action, ...]:
    """The actions that the soul names in `[extensions]`; its files were checked when they were read."""
    named = (action_named(name) for name in context.soul.extensions.actions)
    return tuple(_action(context, one) for one in named if acts or not one.acts)


def _action(context: ProcessContext, found: ActionExtension) -> Action:
    async def handle(use: ActionUse) -> Recurse | Stay | Transition:
        return await found.handler(context, use)

    return Action(found.name, found.description, handle)
