"""What programs tell a soul's senses: each reading stored once before it is acknowledged; nothing is answered."""

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from daemon.channels.http.errors import Refusal
from daemon.channels.http.events import LARGEST_EVENT, EventsTaken, as_kept, not_theirs, signed_by
from daemon.channels.http.request_body import body_of, read_raw
from daemon.channels.http.schemas import ReadingPerceived, SenseReading
from daemon.core.event_sources import EventSource, SourceEnded
from daemon.core.house_senses import HouseSense, ProgramSense
from daemon.core.ports.clock import Clock
from daemon.core.pushed_readings import (
    NowhereToPerceive,
    OtherReading,
    PushedReading,
    TooManyReadings,
)

TOKEN: Final = "token"  # noqa: S105 - a name
"""Stands for the bearer token as the source of a reading; no source has it as its id."""


PushReading = Callable[[PushedReading], Awaitable[tuple[str, ...]]]
"""Stores a reading once; gives the conversations in which it is perceived.

Raises NowhereToPerceive, TooManyReadings, OtherReading, SourceEnded and StoreError.
"""


class SensePages:
    """The handler of readings; with the bearer token they are for `soul` in `workspace`. `sources` may sign some."""

    def __init__(self, soul: str, workspace: str, *, push: PushReading, sources: EventsTaken, clock: Clock) -> None:
        self._soul, self._workspace = soul, workspace
        self._push, self._sources = push, sources
        self._clock = clock

    async def take(self, request: web.Request) -> web.Response:
        """Take one reading, once. Raises Refusal and StoreError."""
        body = await read_raw(request, most=LARGEST_EVENT)
        signed = await signed_by(request, body, self._sources, self._clock) if "source" in request.query else None
        given = body_of(body, SenseReading)
        try:
            found = await self._push(self._reading(given, signed[0] if signed else None))
        except TooManyReadings as much:
            raise _refused(429, "too_many_readings", much, {"Retry-After": "60"}) from much
        except OtherReading as other:
            raise _refused(409, "other_words", other) from other
        except NowhereToPerceive as nowhere:
            raise _refused(404, "unknown_room", nowhere) from nowhere
        except SourceEnded as ended:
            raise not_theirs() from ended
        answer = ReadingPerceived(perceived_by=found)
        return web.json_response(body=answer.model_dump_json().encode(), status=202)

    def _reading(self, given: SenseReading, source: EventSource | None) -> PushedReading:
        """What is to be stored; a source tells of its own room alone. Raises Refusal."""
        if source is not None and given.room != source.room:
            hint = f"a source tells of its own room alone, which is {source.room}"
            raise Refusal(404, "unknown_room", "The source has another room.", hint)
        if not (words := as_kept(given.content)):
            raise Refusal(422, "invalid", "content: it says nothing.", "send what is to be perceived, as text")
        return PushedReading(
            source.soul if source else self._soul,
            source.workspace if source else self._workspace,
            source.id if source else TOKEN,
            given.id,
            _of_a_program(given.sense),
            words,
            given.room,
            given.thread,
            ends=source is not None,
        )


def _of_a_program(sense: str) -> ProgramSense:
    if sense in list(HouseSense):
        hint = "give your program's readings a name of their own, such as ci"
        raise Refusal(422, "invalid", f"sense: {sense} is a sense of the soul's own.", hint)
    return ProgramSense(sense)


def _refused(
    status: int,
    code: str,
    why: TooManyReadings | OtherReading | NowhereToPerceive,
    headers: dict[str, str] | None = None,
) -> Refusal:
    return Refusal(status, code, f"{why.message[:1].upper()}{why.message[1:]}.", why.hint, headers)
