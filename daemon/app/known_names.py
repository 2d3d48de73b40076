"""The names that a soul's files may hold: of the house's processes and subprocesses, and of extensions that work."""

from daemon.core.extensions import ExtensionFault, ExtensionGroup
from daemon.ism.extended import action_named
from daemon.mind.extended import process_named
from daemon.mind.extended_steps import step_named
from daemon.mind.step_names import STEPS
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.soul import KnownNames


def known_names() -> KnownNames:
    """All names; an extension is imported when a soul names it."""
    return KnownNames(PROCESSES, SUBPROCESSES, why_not_extended)


def why_not_extended(group: ExtensionGroup, name: str) -> str:
    """Why an extension can't be used; empty if it can."""
    try:
        if group is ExtensionGroup.ACTION:
            action_named(name)
        elif group is ExtensionGroup.STEP:
            step_named(name)
        else:
            process_named(name)
    except ExtensionFault as fault:
        return f"{fault.message}; {fault.hint}"
    kind, taken = ("process", PROCESSES) if group is ExtensionGroup.PROCESS else ("step", STEPS)
    return f"{name!r} is a {kind} of the house" if group is not ExtensionGroup.ACTION and name in taken else ""
