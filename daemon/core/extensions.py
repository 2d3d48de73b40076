"""Extensions of other packages, found by entry point. To install a package and name its extension is to trust it."""

from enum import StrEnum
from importlib.metadata import EntryPoint, entry_points
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.text import one_line


class ExtensionGroup(StrEnum):
    """The group of entry points of each kind of extension."""

    ACTION = "soul_daemon.actions"
    PROVIDER = "soul_daemon.providers"


class ExtensionFault(DaemonError):
    """Raised when a named extension can't be used: `message` says why."""


_loaded: Final[dict[tuple[ExtensionGroup, str], object]] = {}


def extension(group: ExtensionGroup, name: str) -> object:
    """Return the extension of this name, imported at the first call and cached.

    Raises ExtensionFault where no package or more than one offers it, and where its import fails.
    """
    known = (group, name)
    if known not in _loaded:
        _loaded[known] = _load(_found(group, name))
    return _loaded[known]


def origin_of(group: ExtensionGroup, name: str) -> str:
    """Return the package of an extension, with its version. Raises ExtensionFault."""
    found = _found(group, name).dist
    return f"{found.name} {found.version}" if found is not None else "a package without a name"


def _found(group: ExtensionGroup, name: str) -> EntryPoint:
    found = list(entry_points(group=group, name=name))
    if not found:
        raise ExtensionFault(f"no installed package brings {name!r} in {group}", hint="install the package that does")
    if len({one.value for one in found}) > 1:
        names = ", ".join(sorted(one.dist.name if one.dist else "?" for one in found))
        raise ExtensionFault(f"several packages bring {name!r} in {group}: {names}", hint="uninstall all but one")
    return found[0]


def _load(found: EntryPoint) -> object:
    try:
        return found.load()
    except (Exception, SystemExit) as error:  # a module may try to end the process, too
        reason = f"{type(error).__name__}: {one_line(str(error))}"
        raise ExtensionFault(
            f"{found.value} can't be imported: {reason}", hint="ask its author, or name it no more"
        ) from error
