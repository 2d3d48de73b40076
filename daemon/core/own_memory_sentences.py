"""What the daemon says of what it knows of a person, and of what they decide about it: a part of the sentences."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

ABOUT_OWN_MEMORY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "own_notice": "I remember what we talk about. `what do you know about me` shows it, `pause remembering` "
        "stops it.",
        "own_way": "Write me a direct message with `what do you know about me`: there you see, correct and erase it.",
        "own_in_private": "I have answered you in a direct message.",
        "own_known": "This is what I know about you:",
        "own_nothing": "I have noted nothing about you.",
        "own_role": "What you do",
        "own_work": "What you work on",
        "own_preference": "What you like",
        "own_answering": "How you like to be answered",
        "own_other": "More about you",
        "own_aside": "What I noted besides",
        "own_beliefs": "What I believe for now, which fades",
        "own_noted": "an old note without your words",
        "own_in_words": "in your own words",
        "own_unread": "Not looked through yet: {messages} of your messages. Ask me again in a minute.",
        "own_besides": "I also keep, word for word, your messages ({messages}), what I saw or read in your files "
        "({files}) and your reminders ({reminders}).",
        "own_summaries": "Of our talks I keep what came of them, too ({number}); *export my memory* shows it.",
        "own_zone": "Your time zone is {zone}.",
        "own_how_line": "About a line, say *why 1*, *wrong 1: what is right* or *forget 1*.",
        "own_how": "About all of it, say *pause remembering*, *export my memory* or *forget me*.",
        "own_why": "{number}. {fact}. I know it from these words of yours:",
        "own_unproved": "None that I could show here: it is an old note, or was said where you don't read along now.",
        "own_believed": "{number}. {belief}. No words of yours say so: I believe it for now, and no longer than {day}.",
        "own_concluded": "{number}. {fact}. No words of yours say so: I noted it myself while we talked, on {day}.",
        "own_belief_wrong": "Forgotten: {fact}. If I should keep what is right, say *remember: …*",
        "own_here": "({day}, here)",
        "own_elsewhere": "({day}, in another conversation)",
        "own_no_number": "There is no {number} in the list that I showed you last. *what do you know about me* "
        "shows it.",
        "own_corrected": "Corrected: {number} now says: {words}",
        "own_wrong_how": "Tell me what is right, like this: *wrong {number}: what is right*",
        "own_wrong_paused": "I note nothing while remembering is paused. *resume remembering* first, or *forget "
        "{number}*.",
        "own_remembered": "Noted: {words}",
        "own_remembered_cut": "Noted, as far as it fits: {words} …",
        "own_remember_paused": "I note nothing while remembering is paused. *resume remembering* first.",
        "own_forgotten_fact": "Forgotten: {fact}",
        "own_forgotten_that": "Forgotten: your last message here, my answer to it, and what I had made of it. Slack's "
        "own copy stays until you delete it there.",
        "own_which": "What do you mean by *that*? Nothing is forgotten yet; *what do you know about me* shows more.",
        "own_which_fact": "- *forget {number}*: {fact}",
        "own_which_message": "- *forget my last message*: {words}",
        "own_paused": "Paused: I note nothing of you and look nothing up. What we say now is erased when this talk "
        "ends. *resume remembering* goes on.",
        "own_resumed": "I remember again what we talk about from now on.",
        "own_export": "Here is all that I keep of you, as a file.",
        "own_forget_me": "Do you want me to forget everything of you: your messages to me and my answers, what I "
        "know of you, your reminders? It can't be undone. Say *yes, forget me* within an hour. *export my memory* "
        "gives you a copy first.",
        "own_not_forgotten": "Nothing is forgotten.",
        "own_forgotten": "Forgotten: everything that I kept of you. What stays: Slack's own copy of our messages until "
        "it is deleted there, and backups of my memory until they are replaced, which forget you too when they are "
        "used.",
    }
)
