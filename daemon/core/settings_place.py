"""The place of the settings outside the environment, and the sections of a home page."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from daemon.core.value import Value


@dataclass(frozen=True, slots=True)
class SettingsPlace:
    """The folder of `.env` and of relative paths, with additions of the service manager.

    `variables` are used where the environment has none. `credentials` are values by file name, `unread` the file names
    that this account may not read. `start` is the command that starts the daemon there.
    """

    folder: Path = Path()
    variables: Mapping[str, str] = field(default_factory=dict)
    credentials: Mapping[str, str] = field(default_factory=dict, repr=False)
    unread: tuple[str, ...] = ()
    start: str = "soul run"

    @property
    def dotenv(self) -> Path:
        return self.folder / ".env"

    def absolute(self, path: Path) -> Path:
        """Return the path of a setting. In the working directory it stays relative."""
        return self.folder / path if self.folder != Path() else path


HERE: Final = SettingsPlace()


class _Chosen:
    """The place that `find` returns, searched when settings are read for the first time."""

    def __init__(self, find: Callable[[], SettingsPlace | None]) -> None:
        self._find = find
        self._place: SettingsPlace | None = None
        self._added: list[str] = []

    def place(self) -> SettingsPlace:
        if self._place is None:
            self._place = self._find() or HERE
            for name, value in self._place.variables.items():
                if name not in os.environ:
                    os.environ[name] = value
                    self._added.append(name)
        return self._place

    def undo(self) -> None:
        for name in self._added:
            os.environ.pop(name, None)


_chosen: list[_Chosen] = []


@contextmanager
def settings_from(find: Callable[[], SettingsPlace | None]) -> Iterator[None]:
    """Read settings inside the block from the place that `find` returns; None is the working directory."""
    chosen = _Chosen(find)
    _chosen.append(chosen)
    try:
        yield
    finally:
        _chosen.pop()
        chosen.undo()


def settings_place() -> SettingsPlace:
    """Return the place of the settings. Raises the errors of the search for it."""
    return _chosen[-1].place() if _chosen else HERE


class HomeButton(Value):
    """A button of the home page. `does` comes back when it is pressed; `asks` is a question to confirm first."""

    label: str
    does: str
    asks: str = ""


class HomeItem(Value):
    """A piece of markdown with its buttons."""

    text: str
    buttons: tuple[HomeButton, ...] = ()


class HomeSection(Value):
    title: str
    items: tuple[HomeItem, ...]


HomePage = tuple[HomeSection, ...]
"""The sections of a home page, in order."""
