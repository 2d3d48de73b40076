"""Who is the soul? Folders of plain text, their schema, how they are read and how edits are followed."""

from daemon.soul.budgets import Budgets
from daemon.soul.files import MANIFEST, MODE_MANIFEST, PERSONALITY, PLAYBOOK, SIZE_CAP, STATES
from daemon.soul.lists import Contact, SuggestedPrompt
from daemon.soul.loader import KnownNames, load_soul, load_souls
from daemon.soul.own_models import Models
from daemon.soul.presence import SpeakingFirst
from daemon.soul.reload import ReloadingSoul, Souls, find_souls_directory
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
from daemon.soul.states import NEEDED, PLACEHOLDERS, filled

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
