"""What a person's words may call for besides a reply: each wish, its word for the model, and where it leads."""

import re

from daemon.mind.mental_process import Wish
from daemon.mind.own_memory import show_own_memory
from daemon.mind.remembering import heed_remembering
from daemon.mind.reminders import heed_reminders
from daemon.mind.who_works import knows_of_sessions, show_who_works


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


WISHES = (
    Wish(
        "reminder",
        "they want to be reminded later, or a reminder changed or dropped; promise none without this word",
        "they want a reminder set or dropped",
        carry_out=heed_reminders,
        hint=_words(
            r"\bremind(?:er|ers|s|ed)?\b",
            r"\b(?:ping|nudge|wake) me\b",
            r"\b(?:tell me|let me know) (?:when|once|if)\b",
            r"\berinner(?:e|st|n)? mich\b",
            r"\b(?:sag|gib) mir bescheid\b",
        ),
    ),
    Wish(
        "remember",
        "they ask you to remember something for good",
        "they want something remembered",
        carry_out=heed_remembering,
        hint=_words(r"\b(?:remember|memori[sz]e|keep in mind|don.?t forget)\b", r"\bmerke? dir\b"),
    ),
    Wish(
        "own_memory",
        "they ask what you know or remember of themselves, or want that shown, corrected, copied, paused or erased",
        "they ask what is known of them",
        carry_out=show_own_memory,
        hint=_words(r"\b(?:know|remember|noted?|stored?|saved?|memor(?:y|ies)) (?:\w+ )?(?:about|of|on) me\b"),
    ),
    Wish(
        "who_works",
        "they ask who works on what now, or what a colleague is at",
        "they ask who is working on what",
        carry_out=show_who_works,
        has_ground=knows_of_sessions,
        hint=_words(
            r"\b(?:who|what|whats|what.s)\b.{1,40}\bwork(?:s|ing) (?:on|at)\b",
            r"\b(?:wer|woran|an was)\b.{0,30}\barbeite(?:t|n)\b",
            r"\bcoding sessions?\b",
        ),
    ),
    Wish(
        "session",
        'they want a session under "Who is at work" asked something, or given a task',
        "they want something put to a session",
        to="liaising",
        hint=_words(
            r"\b(?:ask|tell|hand|give)\b.{1,60}\bsessions?\b",
            r"\b(?:ask|tell|hand|give|frage?|sage?|gib)\s+[`*_]?[^\W_]+-[^\W_]",
            r"\b(?:frage?|sage?|gib|übergib)\b.{1,60}\b(?:session|sitzung)\b",
            r"\b(?:session|sitzung)\b.{1,60}\b(?:fragen|geben)\b",
        ),
    ),
    Wish(
        "poem",
        "they want a poem, a song or other words in a bound form made now, or such a piece worked on",
        "they want a poem",
        to="poetic",
        mode="poetic",
        hint=_words(r"\b(?:poem|haiku|sonnet|verses?|ode|lament|hymn|elegy|ballad|limerick)\b", r"\bpoet(?:ry|ic)\b"),
    ),
    Wish(
        "person",
        "they need a person who can act, decide or grant something, not your answer",
        "they need a person who can act",
        to="ready",
        hint=_words(
            r"\b(?:talk|speak|hand (?:me|this|it) (?:over|on))\s+(?:to|with)\s+(?:a |an |the )?"
            r"(?:human|person|someone|somebody)\b",
            r"\bwhom?\s+(?:do|should|can|could|may|is able to|decides|approves|owns|handles)\b",
            r"\bin charge of\b",
        ),
    ),
    Wish(
        "scholarship",
        "they want a scholarly treatment: evidence, schools of thought, what is certain, what contested",
        "they want a scholarly treatment",
        to="academic",
        mode="academic",
        hint=_words(
            r"\bscholar(?:s|ly|ship)?\b",
            r"\bacademic(?:ally)?\b",
            r"\b(?:etymolog|philolog|epigraph)\w*\b",
            r"\bcitations?\b",
            r"\bpeer.reviewed\b",
        ),
    ),
    Wish(
        "research",
        "what you know and have before you isn't enough: it has to be looked up, or worked out in several steps",
        "it takes looking up, or several steps",
        to="problem_solving",
        hint=_words(
            r"\b(?:find out|figure out|work out|look (?:it |this |that )?(?:up|into))\b",
            r"\b(?:investigate|research|diagnose|debug|troubleshoot)\b",
            r"\broot cause\b",
            r"\bsolve\b",
            r"\bwhy (?:does|do|did|is|are|was|were)\b",
        ),
    ),
    Wish(
        "other_matters",
        "while you speak as a scholar or a poet: they have turned from that to other matters",
        "they have turned to other matters",
        to="engaged",
        origins=frozenset({"academic", "poetic"}),
        in_thought="With what was said last they have turned from scholarship, or from the poem, to other matters.",
    ),
)
"""Those that are carried out stand first: the message may still lead elsewhere then."""
