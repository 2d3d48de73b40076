"""Cues in a user's message that lead to another mental process: regular expressions, some confirmed by the model."""

import re
from dataclasses import dataclass

from daemon.mind.transitions import Situation, why_refused
from daemon.soul import Mode


@dataclass(frozen=True, slots=True)
class Cue:
    """A cue for a process: certain, or to be confirmed by a true answer to `question`."""

    target: str
    reason: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class _Rule:
    """`certain` patterns are a cue; `hint` patterns are one if `question` is answered with true."""

    target: str
    certain: re.Pattern[str] | None
    hint: re.Pattern[str] | None
    question: str
    reason: str = ""  # never quotes the message, which may be deleted later


def _words(*alternatives: str) -> re.Pattern[str]:
    return re.compile("|".join(alternatives), re.IGNORECASE)


_POEM = r"(?:poem|haiku|sonnet|verses?|ode|lament|hymn|elegy|ballad|limerick)\b"
_SOMEBODY = r"(?:human|person|someone|somebody)\b"
_RULES = (
    _Rule(
        "poetic",
        _words(rf"\b(?:write|compose|make|give|sing|recite)\b[^.?!\n]{{0,60}}\b{_POEM}"),
        _words(rf"\b{_POEM}", r"\bpoet(?:ry|ic)\b"),
        "The person wants the soul to compose a poem now.",
        "they asked for a poem in so many words",
    ),
    _Rule(
        "ready",
        _words(
            rf"\b(?:talk|speak|hand (?:me|this|it) (?:over|on))\s+(?:to|with)\s+(?:a |an |the )?{_SOMEBODY}",
            r"\bwhom?\s+(?:do|should|can|could)\s+(?:i|we)\s+(?:ask|contact|talk to|speak to|turn to|write to)\b",
        ),
        _words(
            r"\bwho\s+(?:can|could|should|may|is able to|do i|decides|approves|owns|handles)\b", r"\bin charge of\b"
        ),
        "The person needs somebody who can act or decide, rather than an answer from the soul.",
        "they asked for a contact in so many words",
    ),
    _Rule(
        "academic",
        None,
        _words(
            r"\bscholar(?:s|ly|ship)?\b",
            r"\bacademic(?:ally)?\b",
            r"\betymolog\w*\b",
            r"\bphilolog\w*\b",
            r"\bepigraph\w*\b",
            r"\bcitations?\b",
            r"\bpeer.reviewed\b",
        ),
        "The person wants a scholarly treatment: evidence, schools of thought, what is certain and what is contested.",
    ),
    _Rule(
        "problem_solving",
        None,
        _words(
            r"\b(?:find out|figure out|work out|look (?:it |this |that )?(?:up|into))\b",
            r"\b(?:investigate|research|diagnose|debug|troubleshoot)\b",
            r"\broot cause\b",
            r"\bsolve\b",
            r"\bwhy (?:does|do|did|is|are|was|were)\b",
        ),
        "To answer well the soul first has to look things up or to reason in several steps.",
    ),
)


def match_cue(origin: str, situation: Situation) -> Cue | None:
    """The first cue in the newest message that may be followed; one with a question costs a model call."""
    for rule in _RULES:
        if rule.target == origin or why_refused(origin, rule.target, situation):
            continue
        if rule.certain and rule.certain.search(situation.words):
            return Cue(rule.target, rule.reason)
        mode = situation.soul.mode(rule.target)
        if (rule.hint and rule.hint.search(situation.words)) or (mode and _hinted(mode, situation.words)):
            return Cue(rule.target, rule.question, _question(rule, mode))
    return None


def _hinted(mode: Mode, words: str) -> bool:
    """Whether one of the mode's hints is in the message, as whole words in any case."""
    return any(re.search(rf"(?<!\w){re.escape(hint)}(?!\w)", words, re.IGNORECASE) for hint in mode.hints)


def _question(rule: _Rule, mode: Mode | None) -> str:
    """The statement for the model to judge: the triggers of the soul's mode, if it has any."""
    if mode is None or not mode.triggers:
        return rule.question
    listed = "\n".join(f"- {trigger}" for trigger in mode.triggers)
    return f"At least one of these is true of the person's last message:\n{listed}"
