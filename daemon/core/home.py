"""The page that the platform shows to one person as the soul's home: what stands there, whoever renders it."""

from dataclasses import dataclass


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
