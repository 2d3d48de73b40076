"""Mental processes that other packages bring: entered by a wish of their own, left as any other."""

from dataclasses import dataclass

from daemon.core.extensions import ExtensionFault, ExtensionGroup, extension
from daemon.mind.mental_process import MentalProcess, Wish
from daemon.soul import Soul


@dataclass(frozen=True, slots=True)
class ProcessExtension:
    """What stands behind an entry point of `soul_daemon.processes`; the entry point's name is that of the process.

    `calls_for` completes "what the message calls for" in the model's words, as `they want the standup held`; the model
    sees it under the process's name. `reason` stands in `soul trace`.
    """

    run: MentalProcess
    calls_for: str
    reason: str


def process_named(name: str) -> ProcessExtension:
    """The process that a package brings under this name. Raises ExtensionFault."""
    found = extension(ExtensionGroup.PROCESS, name)
    if not isinstance(found, ProcessExtension):
        raise ExtensionFault(f"{name!r} is a {type(found).__name__}, no ProcessExtension", hint="see docs/EXTENDING.md")
    return found


def processes_of(soul: Soul) -> dict[str, MentalProcess]:
    """The processes that a soul names in `[extensions]`; its files were checked when they were read."""
    return {name: process_named(name).run for name in soul.extensions.processes}


def wishes_of(soul: Soul) -> tuple[Wish, ...]:
    """The wishes that lead to them."""
    named = ((name, process_named(name)) for name in soul.extensions.processes)
    return tuple(Wish(name, one.calls_for, one.reason, to=name) for name, one in named)
