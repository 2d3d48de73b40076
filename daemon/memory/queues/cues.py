"""Cues: what an intention waits for in place of a time. Words about a topic, words of a person, or a silence.

A cue is written with its intention and goes with it. Words that arrive move the silences of their conversation at once,
in the unit that stores them, by a trigger; they are held against the other cues afterwards (`cue_matching`), so that no
message waits for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from daemon.core.timetable import MINUTE_MS
from daemon.core.topics import keys_of_topic
from daemon.memory.database import Transaction

_DAY_MS: Final = 24 * 60 * MINUTE_MS
LASTS_MS: Final = 30 * _DAY_MS
"""How long a cue waits where nothing else is said."""

LONGEST_MS: Final = 180 * _DAY_MS
"""How long a cue may wait."""

SHORTEST_SILENCE_MS: Final = 10 * MINUTE_MS
LONGEST_SILENCE_MS: Final = 90 * _DAY_MS
MOST_FIRES: Final = 10

REPORTS: Final = "cue"
"""In the params of a scheduled event: what kind of cue it reports on, or OVER."""

OVER: Final = "over"
"""The time of a cue has ended, and there was nothing to report."""

HIT: Final = "hit"
"""In the params: the id of the message that speaks of what was waited for."""

REVISION: Final = "revision"
"""In the params: how often that message had been edited."""


class CueKind(StrEnum):
    """What is waited for."""

    TOPIC = "topic"
    PERSON = "person"
    SILENCE = "silence"


@dataclass(frozen=True, slots=True)
class Cue:
    """What to wait for, until `until_ms`, and how often to report it.

    Words about `topic`, by `person` (platform id) if one is named; words of `person` about anything; or, with
    `silence_ms`, that there are no words in the conversation for so long.
    """

    until_ms: int
    topic: str = ""
    person: str = ""
    silence_ms: int = 0
    fires: int = 1

    @property
    def kind(self) -> CueKind:
        """What it waits for."""
        if self.silence_ms:
            return CueKind.SILENCE
        return CueKind.TOPIC if self.topic else CueKind.PERSON

    @property
    def keys(self) -> frozenset[str]:
        """The words by which it is looked up; none for a silence."""
        if self.silence_ms:
            return frozenset()
        if self.topic:
            return keys_of_topic(self.topic)
        return frozenset({key_of_person(self.person)}) if self.person else frozenset()

    def first_due(self, now: int) -> int:
        """When its intention falls due unless words come first: the silence, or the end of its time (ms).

        Raises ValueError for bounds that are none.
        """
        if not now < self.until_ms <= now + LONGEST_MS or not 1 <= self.fires <= MOST_FIRES:
            raise ValueError("it waits for longer, or would be reported more often, than may be")
        if self.silence_ms:
            if not SHORTEST_SILENCE_MS <= self.silence_ms <= LONGEST_SILENCE_MS:
                raise ValueError("that silence is too short or too long")
            return min(now + self.silence_ms, self.until_ms)
        if not self.keys:
            raise ValueError("it says nothing to wait for")
        return self.until_ms


def key_of_person(person: str) -> str:
    """The key of what a person writes; no word looks like it."""
    return f"@{person}"


async def store_cue(
    transaction: Transaction, cue: Cue, *, intention: str, scope: Mapping[str, str], since_ms: int
) -> None:
    """Store the cue of an intention; `scope` is its soul and workspace. What was said before `since_ms` is no news."""
    row = await transaction.insert(
        "cues",
        "RETURNING seq",
        intention=intention,
        **scope,
        topic=cue.topic,
        person=cue.person,
        silence_ms=cue.silence_ms,
        since_ms=since_ms,
        until_ms=cue.until_ms,
        fires_left=cue.fires,
    )
    assert row is not None
    for key in sorted(cue.keys):
        await transaction.insert("cue_words", **scope, word=key, cue=row["seq"])


async def queue_words(transaction: Transaction, message: str, scope: Mapping[str, str]) -> None:
    """Have an edited message (id of its inbox row) held against the cues, if any waits; a new one is queued already."""
    await transaction.run("DELETE FROM heard_words WHERE message = :message", message=message)
    await transaction.run(
        """
        INSERT INTO heard_words (soul, workspace, message)
        SELECT :soul, :workspace, :message WHERE EXISTS
          (SELECT 1 FROM cues WHERE soul = :soul AND workspace = :workspace AND silence_ms = 0)
        """,
        message=message,
        **scope,
    )
