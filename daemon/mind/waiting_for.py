"""Reads from a request for a reminder what is to be waited for: words about a topic, words of a person, a silence.

The model only says what was asked. What is waited for has to stand in the person's own words, the person meant has to
be one whom the readers here know, and the bounds are the store's. Refusals quote nothing: it might be an order.
"""

import re
from typing import Final

from daemon.core.perception import AudienceKind
from daemon.core.telemetry.redaction import remove_keys
from daemon.core.timeframes import due_time
from daemon.core.timetable import span_ms
from daemon.core.topics import LONGEST_TOPIC, stands_in
from daemon.core.words import words_of
from daemon.core.working_memory import Role
from daemon.memory.queues.cues import (
    LASTS_MS,
    LONGEST_MS,
    LONGEST_SILENCE_MS,
    MOST_FIRES,
    SHORTEST_SILENCE_MS,
    Cue,
)
from daemon.mind.answer_filter import words_aloud
from daemon.mind.mental_process import ProcessContext
from daemon.mind.steps.intend import ReminderRequest

_MENTION: Final = re.compile(r"<@([A-Za-z0-9]{2,24})(?:\|[^<>]*)?>")
_DAY_MS: Final = 86_400_000

_PAUSED: Final = "remembering is paused, and what they wait for would have to be kept; at a time it could be done"
_VAGUE: Final = "what is to be talked about could not be made out in their own words; ask for two or three words for it"
_UNKNOWN: Final = "you know no one here by that name; ask them to mention the person with @"
_SEVERAL: Final = "you know several people by that name; ask them to mention the one they mean with @"
_THEMSELVES: Final = "it would have to wait for their own words, or for yours, which are no news to them"
_SILENCE: Final = (
    f"a silence has to last from {SHORTEST_SILENCE_MS // 60_000} minutes to {LONGEST_SILENCE_MS // _DAY_MS} days"
)
_UNTIL: Final = (
    f"until when to wait could not be made out, comes too early, or is more than {LONGEST_MS // _DAY_MS} days ahead"
)


class NotWaitable(ValueError):
    """Why nothing is waited for, as a clause about the person who asked."""


async def cue_of(context: ProcessContext, request: ReminderRequest, now_ms: int) -> Cue:
    """What a request is to wait for. Raises NotWaitable."""
    if context.cycle.paused:
        raise NotWaitable(_PAUSED)
    silence = _silence(request)
    until = _until(context, request, now_ms, silence)
    fires = min(MOST_FIRES, max(1, request.times))
    if silence:
        if until <= now_ms + silence:
            raise NotWaitable(_UNTIL)
        return Cue(until, silence_ms=silence, fires=fires)
    topic = _topic(context, request.about) if request.about else ""
    person = await _person(context, request.who) if request.who else ""
    if not topic and not person:
        raise NotWaitable(_VAGUE)
    return Cue(until, topic=topic, person=person, fires=fires)


def _silence(request: ReminderRequest) -> int:
    if not request.silence:
        return 0
    try:
        silence = span_ms(request.silence)
    except ValueError as error:
        raise NotWaitable(_SILENCE) from error
    if not SHORTEST_SILENCE_MS <= silence <= LONGEST_SILENCE_MS:
        raise NotWaitable(_SILENCE)
    return silence


def _until(context: ProcessContext, request: ReminderRequest, now_ms: int, silence: int) -> int:
    if not request.until:
        return now_ms + min(LONGEST_MS, max(LASTS_MS, 2 * silence))
    try:
        until = due_time(request.until, now_ms, context.perception.zone)
    except ValueError as error:
        raise NotWaitable(_UNTIL) from error
    if until > now_ms + LONGEST_MS:
        raise NotWaitable(_UNTIL)
    return until


def _topic(context: ProcessContext, about: str) -> str:
    topic = words_aloud(about)[:LONGEST_TOPIC].strip()
    if remove_keys(topic) != topic or not stands_in(topic, own_words(context)):
        raise NotWaitable(_VAGUE)
    return topic


async def _person(context: ProcessContext, who: str) -> str:
    """The platform id of the person: mentioned in their words, or known to the readers by that name."""
    mentioned = [id_ for text in own_words(context) for id_ in _MENTION.findall(text)]
    found: tuple[str, ...] = tuple(dict.fromkeys(id_ for id_ in mentioned if id_ in who))
    said = {word for text in own_words(context) for word in words_of(text)}
    if not found and said.issuperset(words_of(who)):
        found = await context.capabilities.people_named(who, context.perception.conversation, context.cycle.readers)
    if not found:
        found = tuple(dict.fromkeys(mentioned))
    if len(found) != 1:
        raise NotWaitable(_SEVERAL if found else _UNKNOWN)
    if found[0] == context.perception.author:
        raise NotWaitable(_THEMSELVES)
    return found[0]


def own_words(context: ProcessContext) -> list[str]:
    """What the person said of late: their newest messages, and in a DM all of theirs that are shown."""
    alone = context.cycle.readers.audience.kind is AudienceKind.DM
    person = context.perception.author
    return [
        one.content
        for one in context.memory
        if one.metadata.get("source") == person or (alone and one.role is Role.USER and not one.region)
    ]
