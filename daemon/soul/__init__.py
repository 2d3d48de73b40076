"""Who is the soul? Folders of plain text, their schema, how they are read and how edits are followed."""

from daemon.soul.field_types import (
    NEEDED,
    PLACEHOLDERS,
    Budgets,
    Contact,
    Models,
    SpeakingFirst,
    SuggestedPrompt,
    filled,
)
from daemon.soul.files import MANIFEST, MODE_MANIFEST, PERSONALITY, PLAYBOOK, SIZE_CAP, STATES
from daemon.soul.loader import KnownNames, ReloadingSoul, Souls, find_souls_directory, load_soul, load_souls
from daemon.soul.room import BESIDE, least_talk_budget, standing, talk_budget
from daemon.soul.schema import (
    AgentRole,
    Extensions,
    IsmLimits,
    Mode,
    Mood,
    Notes,
    Soul,
    Verbs,
    VerbsInMood,
)

__all__ = [
    "BESIDE",
    "MANIFEST",
    "MODE_MANIFEST",
    "NEEDED",
    "PERSONALITY",
    "PLACEHOLDERS",
    "PLAYBOOK",
    "SIZE_CAP",
    "STATES",
    "AgentRole",
    "Budgets",
    "Contact",
    "Extensions",
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
    "SuggestedPrompt",
    "Verbs",
    "VerbsInMood",
    "filled",
    "find_souls_directory",
    "least_talk_budget",
    "load_soul",
    "load_souls",
    "standing",
    "talk_budget",
]
