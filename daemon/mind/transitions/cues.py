"""What in somebody's words leads to another mental process: plain rules, some of which the mind has to confirm."""

import re
from dataclasses import dataclass

from daemon.mind.transitions import Situation, why_refused
from daemon.soul import Mode


@dataclass(frozen=True, slots=True)
class Cue:
    """What in somebody's words leads to a process: for certain, or if a `question` about them is answered with yes."""

    target: str
    reason: str
    question: str = ""


@dataclass(frozen=True, slots=True)
class _Rule:
    target: str
    certain: re.Pattern[str] | None
    hint: re.Pattern[str] | None
    question: str
    plainly: str = ""  # the reason on record, without anybody's words: these may be taken back


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
        "they asked for somebody in so many words",
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
    """What the newest words lead to, by plain rules: the first cue that may be followed; a question costs one call."""
    for cue in _RULES:
        if cue.target == origin or why_refused(origin, cue.target, situation):
            continue
        if cue.certain and cue.certain.search(situation.words):
            return Cue(cue.target, cue.plainly)
        mode = situation.soul.mode(cue.target)
        if (cue.hint and cue.hint.search(situation.words)) or (mode and _hinted(mode, situation.words)):
            return Cue(cue.target, cue.question, _question(cue, mode))
    return None


def _hinted(mode: Mode, words: str) -> bool:
    """Whether one of the mode's own hints stands in the words, as whole words in any case."""
    return any(re.search(rf"(?<!\w){re.escape(hint)}(?!\w)", words, re.IGNORECASE) for hint in mode.hints)


def _question(cue: _Rule, mode: Mode | None) -> str:
    """What the mind is asked: the soul's own triggers for its mode, where it has any."""
    if mode is None or not mode.triggers:
        return cue.question
    listed = "\n".join(f"- {trigger}" for trigger in mode.triggers)
    return f"At least one of these is true of the person's last message:\n{listed}"
