"""The place of the settings beside the environment: the working directory, or the folder of an installed service."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class SettingsPlace:
    """A folder with `.env`, below which relative paths lie, and what a service manager adds to it.

    `variables` stand in for those that the environment doesn't have. `credentials` are values by the names of their
    files, `unread` the names of those that this account may not read. `start` is what starts the daemon there.
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
        """A path of a setting; in the working directory it stays as it is."""
        return self.folder / path if self.folder != Path() else path


HERE: Final = SettingsPlace()


class _Chosen:
    """The place that `find` gives, looked for when settings are read for the first time."""

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
    """Inside the block settings are read from the place that `find` gives; None is the working directory."""
    chosen = _Chosen(find)
    _chosen.append(chosen)
    try:
        yield
    finally:
        _chosen.pop()
        chosen.undo()


def settings_place() -> SettingsPlace:
    """The place of the settings. Raises what the search for it raises."""
    return _chosen[-1].place() if _chosen else HERE


@dataclass(frozen=True, slots=True)
class HomeButton:
    """A button: `does` comes back when it is pressed; with `asks` the platform asks that before."""

    label: str
    does: str
    asks: str = ""


@dataclass(frozen=True, slots=True)
class HomeItem:
    """A piece of text in markdown, with what can be done to it."""

    text: str
    buttons: tuple[HomeButton, ...] = ()


@dataclass(frozen=True, slots=True)
class HomeSection:
    """Items under a title."""

    title: str
    items: tuple[HomeItem, ...]


HomePage = tuple[HomeSection, ...]
"""The sections of a home, in order."""
