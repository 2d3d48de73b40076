"""Stores what programs say, each message once, under the id that they gave it."""

import secrets
from dataclasses import dataclass
from typing import Final

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.errors import Refusal
from daemon.channels.http.stream import Question
from daemon.core.perception import Audience, Perception, Place
from daemon.core.ports.arrivals import Acceptance, NewMessage
from daemon.core.ports.clock import Clock
from daemon.core.ports.intake import Intake
from daemon.core.ports.posts import StoredReply

_TRIES: Final = 8


@dataclass(frozen=True, slots=True)
class SentWords:
    """What is said: the words, who says them, by which name, and who may ever learn of it."""

    words: str
    author: str
    name: str
    audience: Audience


class HttpIntake:
    """Stores messages, and finds those that came before."""

    def __init__(self, intake: Intake, side: DaemonSide, clock: Clock) -> None:
        self._intake = intake
        self._side = side
        self._clock = clock
        self._last_ts = 0

    async def known(self, question: Question, words: str) -> StoredReply | None:
        """The message if it came before. Raises Refusal when its text was different then, and StoreError."""
        known = await self._side.find_reply(question.conversation, question.message_id)
        if known is not None and known.message != words:
            hint = "give every message an id of its own"
            raise Refusal(409, "other_words", "A message with a different text has this message_id.", hint)
        return known

    async def store(self, question: Question, message: SentWords) -> str:
        """Store a message once and give its ts. Raises Refusal when no free ts was found, StoreError."""
        where = question.conversation
        event = f"{where.channel}/{where.thread}/{question.message_id}"
        for attempt in range(_TRIES):
            ts = self.next_ts()
            perception = Perception.of_message(
                conversation=where,
                ts=ts,
                author=message.author,
                content=message.words,
                place=Place.TERMINAL,
                audience=message.audience,
                name=message.name,
            )
            arrival = NewMessage(
                f"{event}/{attempt}" if attempt else event, perception, addressed=True, message_id=question.message_id
            )
            if await self._intake.accept(arrival) is not Acceptance.DUPLICATE:
                return ts
            # Either the same message came a moment ago, or another message has this very ts.
            if (known := await self.known(question, message.words)) is not None:
                return known.ts
        raise Refusal(503, "busy", "The message could not be stored.", "try again", {"Retry-After": "1"})

    def next_ts(self) -> str:
        """Seconds with six decimals, as Slack writes them; always larger than the one before."""
        self._last_ts = max(self._last_ts + 1, self._clock.now_ms() * 1000 + secrets.randbelow(1000))
        return f"{self._last_ts // 1_000_000}.{self._last_ts % 1_000_000:06d}"
