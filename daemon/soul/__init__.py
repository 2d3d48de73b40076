"""Who is the soul? Folders of plain text, their schema, how they are read and how edits are followed."""

from daemon.soul.files import MANIFEST, MODE_MANIFEST, PERSONALITY, SIZE_CAP
from daemon.soul.loader import KnownNames, check_names, load_soul, load_souls
from daemon.soul.reload import SoulKeeper, Souls, find_souls_directory
from daemon.soul.schema import (
    Budgets,
    Contact,
    IsmLimits,
    Mode,
    Models,
    Mood,
    Notes,
    Soul,
    SpeakingFirst,
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
    "KnownNames",
    "Mode",
    "Models",
    "Mood",
    "Notes",
    "Soul",
    "SoulKeeper",
    "Souls",
    "SpeakingFirst",
    "Verbs",
    "VerbsInMood",
    "check_names",
    "find_souls_directory",
    "load_soul",
    "load_souls",
]
