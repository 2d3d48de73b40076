"""The names that a soul's files may hold: of the house's processes and subprocesses, and of extensions that work."""

from daemon.core.extensions import ExtensionFault
from daemon.ism.extended import action_named
from daemon.processes import PROCESSES
from daemon.processes.subprocesses import SUBPROCESSES
from daemon.soul import KnownNames


def known_names() -> KnownNames:
    """All names; an action of another package is imported when a soul names it."""
    return KnownNames(PROCESSES, SUBPROCESSES, why_not_extended)


def why_not_extended(name: str) -> str:
    """Why an action of another package can't be used; empty if it can."""
    try:
        action_named(name)
    except ExtensionFault as fault:
        return f"{fault.message}; {fault.hint}"
    return ""
