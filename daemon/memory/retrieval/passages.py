"""Hits as passages: what the prompt shows of a memory, and where a user finds it."""

import datetime as dt
import re
from collections.abc import Mapping
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.ports.library import Passage
from daemon.core.text import shortened, visible_line
from daemon.core.windows import window
from daemon.core.words import terms_of
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.retrieval.rows import TURN, Hit

_LONGEST_PASSAGE: Final = 1_500
_LONGEST_NAME: Final = 80
_ID: Final = re.compile(r"[UW][A-Z0-9]{2,}")  # a person by their platform id, which says nothing to people
_CALLED: Final[Mapping[str, str]] = {
    RecordKind.EPISODE: "visit of",
    RecordKind.CORE: "several visits until",
    RecordKind.SPHERE: "many visits until",
}


def passage_of(hit: Hit, here: ConversationKey, query: str) -> Passage:
    """A hit as a passage: the part of its text that fits, and its source without the id of a room."""
    return Passage(
        _source(hit, here),
        window(hit.text, terms_of(query), _LONGEST_PASSAGE),
        members_only=hit.channel != here.channel,
        room=hit.room,
        own=hit.own,
        fit=hit.score,
        id=hit.id,
        significance=hit.significance,
        tone=hit.tone,
        outdated=hit.ended,
        when_ms=hit.when_ms,
    )


def _source(hit: Hit, here: ConversationKey) -> str:
    day = dt.datetime.fromtimestamp(hit.when_ms / 1000, dt.UTC).date().isoformat()
    name = "" if _ID.fullmatch(hit.speaker) else shortened(visible_line(hit.speaker), _LONGEST_NAME)
    if hit.kind != TURN:
        kind = _CALLED.get(hit.kind, hit.kind)
        return f"{kind} {day}, {name}" if name else f"{kind} {day}"
    where = "private channel" if hit.room else "session of Claude Code" if hit.in_session else "conversation"
    where = "this conversation" if hit.conversation == str(here) else where
    return f"{where} {day}, {name or 'somebody'}"
