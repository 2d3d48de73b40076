"""Souls: folders of plain text that say who answers; their shape, how they are read, how edits are followed."""

from daemon.soul.files import MANIFEST, MODE_MANIFEST, PERSONALITY, SIZE_CAP
from daemon.soul.loader import Known, check_names, load_soul, load_souls
from daemon.soul.reload import SoulKeeper, Souls, find_souls_directory
from daemon.soul.schema import (
    Budgets,
    Contact,
    IsmLimits,
    Mode,
    Models,
    Mood,
    Notes,
    Presence,
    Soul,
    Verbs,
    VerbsInMood,
)

__all__ = [
    "MANIFEST",
    "MODE_MANIFEST",
    "PERSONALITY",
    "SIZE_CAP",
    "Budgets",
    "Contact",
    "IsmLimits",
    "Known",
    "Mode",
    "Models",
    "Mood",
    "Notes",
    "Presence",
    "Soul",
    "SoulKeeper",
    "Souls",
    "Verbs",
    "VerbsInMood",
    "check_names",
    "find_souls_directory",
    "load_soul",
    "load_souls",
]
