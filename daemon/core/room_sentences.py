"""What the daemon says in channels, and about them. A part of the table of sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_ROOMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "introduction": "Hello, I am {name}; here I can {can}. Mention me to ask me something, and go on in its thread "
        "without that; I answer nothing else here, and {help} lists all that I can do.",
        "introduction_list": "{first} and {last}",
        "room_title": "This channel",
        "room_send": "Save",
        "room_instructions": "What shall I keep in mind in this channel?",
        "room_instructions_hint": "All in the channel read it, and who set it. Leave everything empty to clear it.",
        "room_soul": "Who answers in new threads here?",
        "room_soul_usual": "As usual",
        "room_streams": "Show answers while they grow?",
        "room_usual": "As everywhere",
        "room_streams_on": "Yes, for who asked",
        "room_streams_off": "No, only when they are whole",
        "room_joins": "When shall I answer here?",
        "room_joins_threads": "When mentioned, and in threads that I am in",
        "room_joins_mention": "Only when mentioned",
        "room_not_yours": "Only who made this channel, admins of the workspace and my own admins can set how I work "
        "here, if they and I are in it.",
        "room_set": "{name} has set how I work in this channel:",
        "room_set_instructions": "I keep this in mind, below my own rules:",
        "room_set_soul": "{soul} answers in new threads.",
        "room_set_on": "Who asked sees my answers while they grow.",
        "room_set_off": "My answers come when they are whole.",
        "room_set_mention": "I answer only when I am mentioned.",
        "room_cleared": "{name} has cleared what was set for me in this channel; I work here as everywhere.",
        "room_nothing": "Nothing is set for this channel; I work here as everywhere.",
        "room_holds": "This is set for this channel:",
        "room_how": "Who made it and admins can change that: `{command} channel` there opens the form.",
        "room_is_none": "That is about a channel: say it in one.",
        "there_shown": "That reply stands in the channel now, too.",
        "there_where": "What I can show in a channel is a reply in a thread of that channel: ask me in that thread.",
        "there_none": "My last reply in this thread is none that I can show in the channel.",
        "there_not_yours": "My last reply in this thread answers another person: they may ask me for this.",
        "there_refused": "Slack does not show that reply in the channel through me; perhaps it stands there already.",
        "there_later": "I can't show it in the channel just now. Ask me again in a moment.",
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
