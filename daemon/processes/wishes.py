"""What a person's words may call for besides a reply: each wish, its word for the model, and where it leads."""

import re

from daemon.mind.mental_process import Wish
from daemon.mind.reminders import heed_reminders


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


WISHES = (
    Wish(
        "reminder",
        "they want to be reminded of something at a later time, or want a reminder changed or dropped; only this word "
        "sets or drops one, so promise none without it",
        "they want a reminder set or dropped",
        carry_out=heed_reminders,
        hint=_words(r"\bremind(?:er|ers|s|ed)?\b", r"\b(?:ping|nudge|wake) me\b"),
    ),
    Wish(
        "poem",
        "they want you to compose a poem, a song or other words in a bound form now, or to work on such a piece",
        "they want a poem",
        to="poetic",
        mode="poetic",
        hint=_words(r"\b(?:poem|haiku|sonnet|verses?|ode|lament|hymn|elegy|ballad|limerick)\b", r"\bpoet(?:ry|ic)\b"),
    ),
    Wish(
        "person",
        "they need a person who can act, decide or grant something, rather than an answer from you",
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
        "they want a scholarly treatment: evidence, schools of thought, what is certain and what is contested",
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
        "what you know and were given here isn't enough: to answer well you first have to look something up, or to "
        "work through several steps",
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
        "only while you speak as a scholar or a poet: with these words they have turned from that to other matters",
        "they have turned to other matters",
        to="engaged",
        origins=frozenset({"academic", "poetic"}),
        hint=_words(""),  # in a mode each message may leave it
    ),
)
""""reminder" stands first: it is carried out, and the message may still lead elsewhere afterwards."""
