"""What the daemon says in channels, and about them. A part of the table of sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_ROOMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "introduction": "Hello, I am {name}; here I can {can}. Mention me to ask me something, and go on in its thread "
        "without that; I answer nothing else here, and {help} lists all that I can do.",
        "introduction_list": "{first} and {last}",
        "can_talk": "think with you in your own language",
        "can_remember": "remember what we talk about",
        "can_files": "open your files",
        "can_library": "look things up in {folders}",
        "can_tools": "look things up with {tools}",
        "can_problems": "work on problems in several steps",
        "can_contacts": "hand a question on to {names}",
        "can_reminders": "remind you of things",
        "can_sessions": "say who is working on what in Claude Code",
        "can_souls": "hand a thread to {souls}",
    }
)
