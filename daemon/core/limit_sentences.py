"""What the daemon says where a limit keeps it from answering: a part of the table of sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_LIMITS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "crowded": "You have very many questions waiting with me already, so I leave this one aside for now. Please "
        "ask it again when I have answered the others.",
        "cap_met": "I'm sorry: {what}. I can think again from {when}. I keep what is written here until then, but "
        "don't answer it by myself: write to me after that, and I read it all.",
        "cap_of_soul": "what I may spend on thinking today is used up",
        "cap_of_person": "what I may spend on your questions today is used up",
        "cap_of_room": "what I may spend on thinking in this room today is used up",
        "cap_of_nothing": "I'm sorry: my admin has not allowed me to spend anything on thinking here, so I can't "
        "answer. I keep what is written here.",
    }
)
