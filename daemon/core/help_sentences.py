"""What the daemon says about itself: help, its state, its slash command. A part of the table of sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_HELP: Final[Mapping[str, str]] = MappingProxyType(
    {
        "help_head": "This is what I can do for you here and now:",
        "help_unknown": "“{words}” is nothing that I know as a command.",
        "help_talk": "Talk and think with you, in your own language.",
        "help_remember": "Remember what we talk about, and look it up when it bears on what you ask.",
        "help_paused": "Not remember: you have paused it. *resume remembering* goes on.",
        "help_files": "Open the files that you send me.",
        "help_library": "Look things up in {folders}, and say where it stands.",
        "help_tools": "Look things up with {tools}.",
        "help_allowed": "Use {tools}, which change something, after a click of who may allow it.",
        "help_problems": "Work on a problem in several steps, and show them.",
        "help_contacts": "Hand a question on to {names}, once you have allowed it.",
        "help_reminders": "Remind you, once or again and again, when you ask me to; *my reminders* lists them.",
        "help_own": "Show, correct and forget what I know about you: *what do you know about me*, *pause remembering*, "
        "*forget me*; *why* says where my last answer comes from.",
        "help_sessions": "Say who is working on what in Claude Code: *who is working on what?*",
        "help_souls": "Hand a thread to another soul: *hand this thread to NAME*, with one of these: {souls}.",
        "help_command": "`{command}` works everywhere and shows its answer to you alone: `{usage}`. In a direct "
        "message the same words are enough; in a thread put a `!` before them.",
        "help_words": "In a direct message `{usage}` are enough as words of their own; in a thread put a `!` before.",
        "help_outsiders": "Not everybody here is a full member, so I use no tools and only what all may read.",
        "help_more": "… and {count} more",
        "command_shows": "Help, what I know of you, your reminders, and how I am",
        "command_refused": "I'm sorry, I may not answer you here.",
        "command_unknown": "No soul with this command answers here now.",
        "command_later": "I can't look that up just now. Please try again in a moment.",
        "command_as_message": "That needs a message: write it to me as it is, in a direct message or in the thread "
        "that it is about.",
        "ask_about_shortcut": "Ask about this",
        "ask_about_shortcut_shows": "Asks the soul about this message; answered to you alone, or in its thread.",
        "ask_about_title": "Ask about this",
        "ask_about_send": "Ask",
        "ask_about_ask": "What do you want to know about this message?",
        "ask_about_where": "Where shall I answer?",
        "ask_about_private": "To me alone, in a direct message",
        "ask_about_thread": "In the thread of the message, for all who are there",
        "status_head": "I am here and answer. My mood: {mood}.",
        "status_remembers": "I remember what we talk about; *pause remembering* stops it.",
        "status_paused": "Remembering is paused; *resume remembering* goes on.",
        "status_waiting": "Of your messages {waiting} wait for an answer; your reminders: {reminders}.",
    }
)
