"""Notes what a person asks to be remembered, before the reply is made, so that it can truthfully confirm it."""

import re
from typing import Final

from daemon.core.errors import ModelError
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.text import one_line
from daemon.memory.queues.remembering import Remembered
from daemon.mind.destinations import newest_words
from daemon.mind.mental_process import ProcessContext
from daemon.mind.quotation import Evidence, SaidAs, proof
from daemon.mind.steps.note_down import note_down

LONGEST: Final = 500
"""Characters of one thing to remember."""

_OF_ONESELF: Final = re.compile(
    r"\b(?:i|i'm|i’m|me|my|mine|we|our|us|ich|mir|mich|mein\w*|wir|uns\w*)\b",  # noqa: RUF001 - as phones write it
    re.IGNORECASE,
)
_NOTHING: Final = "You have noted nothing: {why}. Say so, and promise nothing."


def own_words(words: str) -> Remembered | None:
    """A person's own words as something to remember; None where they are no plain statement."""
    content = one_line(words)[:LONGEST].rstrip(" .")
    if any(not line.strip() for line in words.strip().splitlines()):
        return None  # it asks for something else, too
    if remove_keys(content) != content:
        return None
    found = proof(content, content, SaidAs.STATEMENT, [content], ())
    if not isinstance(found, Evidence):
        return None
    return Remembered(content, significance=7, quote=found.quote, claim=not _OF_ONESELF.search(content))


async def heed_remembering(context: ProcessContext) -> str:
    """Note what the newest messages ask to be remembered; gives the result for the prompt."""
    if context.cycle.paused:
        return _NOTHING.format(why="remembering is paused until they say *resume remembering*")
    try:
        _, asked = await context.mind.run(context.memory, note_down())
    except ModelError:
        return _NOTHING.format(why="you could not make out what is meant")
    found = proof(asked.line, asked.quote, asked.said_as, newest_words(context), (context.perception.name,))
    if not asked.line or remove_keys(asked.line) != asked.line:
        return _NOTHING.format(why="you could not make out what is meant")
    if not isinstance(found, Evidence):
        return _NOTHING.format(why=found)
    claim = not _OF_ONESELF.search(found.quote)
    context.motor.remember(
        asked.line, significance=asked.significance, tags=asked.tags, tone=asked.tone, quote=found.quote, claim=claim
    )
    return "You have noted what they asked you to remember; confirm it."
