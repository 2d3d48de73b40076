"""Who is the soul? Folders of plain text, their schema, how they are read and how edits are followed."""

from daemon.soul.files import MANIFEST, MODE_MANIFEST, PERSONALITY, SIZE_CAP
from daemon.soul.loader import KnownNames, load_soul, load_souls
from daemon.soul.reload import ReloadingSoul, Souls, find_souls_directory
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
    "ReloadingSoul",
    "Soul",
    "Souls",
    "SpeakingFirst",
    "Verbs",
    "VerbsInMood",
    "find_souls_directory",
    "load_soul",
    "load_souls",
]
