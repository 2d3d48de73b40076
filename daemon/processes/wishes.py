"""The wishes that a person's words may express apart from a reply: the word for the model, and the target."""

from daemon.mind.acts import handle_reminders
from daemon.mind.extended_steps import knows_of_sessions, show_who_works
from daemon.mind.process import Intent
from daemon.mind.taking_effect import handle_remembering, show_own_memory

WISHES = (
    Intent(
        "reminder",
        "they want to be reminded later, or a reminder changed or dropped; promise none without this word",
        "they want a reminder set or dropped",
        carry_out=handle_reminders,
    ),
    Intent(
        "remember",
        "they ask you to remember something for good",
        "they want something remembered",
        carry_out=handle_remembering,
    ),
    Intent(
        "own_memory",
        "they ask what you know or remember of themselves, or want that shown, corrected, copied, paused or erased",
        "they ask what is known of them",
        carry_out=show_own_memory,
    ),
    Intent(
        "who_works",
        "they ask who works on what now, or what a colleague is at",
        "they ask who is working on what",
        carry_out=show_who_works,
        has_ground=knows_of_sessions,
    ),
    Intent(
        "session",
        'they want a session under "Who is at work" asked something, or given a task',
        "they want something put to a session",
        to="liaising",
    ),
    Intent(
        "poem",
        "they want a poem, a song or other words in a bound form made now, or such a piece worked on",
        "they want a poem",
        to="poetic",
        mode="poetic",
    ),
    Intent(
        "person",
        "they need a person who can act, decide or grant something, not your answer",
        "they need a person who can act",
        to="ready",
    ),
    Intent(
        "scholarship",
        "they want a scholarly treatment: evidence, schools of thought, what is certain, what contested",
        "they want a scholarly treatment",
        to="academic",
        mode="academic",
    ),
    Intent(
        "research",
        "what you know and have before you isn't enough: it has to be looked up, or worked out in several steps",
        "it takes looking up, or several steps",
        to="problem_solving",
    ),
    Intent(
        "other_matters",
        "while you speak as a scholar or a poet: they have turned from that to other matters",
        "they have turned to other matters",
        to="engaged",
        origins=frozenset({"academic", "poetic"}),
    ),
)
"""The wishes that are carried out come first, since the message may still lead elsewhere then."""
