"""Reports of programs: signed events, and readings for the soul's senses, each stored once before the response."""

import asyncio
import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Annotated, Final

from aiohttp import web
from pydantic import Field, StringConstraints

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.request import (
    CONTROLS,
    JSON,
    Refusal,
    RequestModel,
    ResponseModel,
    Scope,
    body_of,
    no_json,
    unsigned,
)
from daemon.channels.http.routes import Parameter, route
from daemon.core.sensing import (
    CHANNEL,
    LONGEST,
    NAME,
    PERSON,
    READING_ID,
    THREAD,
    EventSource,
    HouseSense,
    ProgramSense,
    PushedReading,
    Signing,
    signing_key,
)
from daemon.core.text import plain_lines, shortened, storable

TOKEN: Final = "token"  # noqa: S105 - a name
"""The source of readings that come with the bearer token. No source has this id."""

SKEW_S: Final = 300
"""Seconds by which a source's clock may differ from ours."""

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
_MOST_SIGNATURES: Final = 8
_DIGITS: Final = re.compile(r"[0-9]{1,12}")


def signed_id(signing: Signing, key: bytes, headers: Mapping[str, str], body: bytes, now_s: float) -> str | None:
    """Return the id of an event whose signature is right, or None for any other.

    GitHub signs neither id nor time: there the signed body is the id, and is never taken twice.
    """
    if signing is Signing.GITHUB:
        made = hmac.digest(key, body, hashlib.sha256).hex()
        given = headers.get("X-Hub-Signature-256", "")
        return f"github:{made}" if _same(f"sha256={made}", given) else None
    id_, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    made = base64.b64encode(hmac.digest(key, b".".join((id_.encode(), at.encode(), body)), hashlib.sha256)).decode()
    signatures = headers.get("webhook-signature", "").split(" ")[:_MOST_SIGNATURES]
    right = any(_same(f"v1,{made}", one) for one in signatures)
    in_time = bool(_DIGITS.fullmatch(at)) and abs(now_s - int(at)) <= SKEW_S
    return id_ if right and in_time and _ID.fullmatch(id_) else None


def _same(made: str, given: str) -> bool:
    return hmac.compare_digest(made.encode(), given.encode("utf-8", "surrogateescape"))


LARGEST_EVENT: Final = 64 * 1024  # bytes
_TEXT: Final = "text/plain"
_NOBODY: Final = signing_key("whsec_" + "A" * 43 + "=", Signing.STANDARD)
_NOISE: Final = re.compile(r"(?!html_url$|target_url$).*_(url|id|sha)|avatar.*")
_DEEPEST: Final = 8
_LINES: Final = 80
_NO_TEXT: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_LEFT_OUT: Final = "[more of it was left out here]"


class EventTaken(ResponseModel):
    """The outcome of an event."""

    state: str = Field(description="taken, or known: it came before, and is not perceived again.")


class SenseReading(RequestModel):
    """A reading for the soul's senses."""

    sense: Annotated[str, StringConstraints(pattern=rf"^{NAME.pattern}$")] = Field(
        description="Who or what reports, such as `ci`: up to 32 of a-z, 0-9, hyphen and underscore."
    )
    content: Annotated[str, StringConstraints(pattern=rf"[^\s{CONTROLS}]")] = Field(
        description="What it reports, as text; 4,000 characters of it are kept."
    )
    room: Annotated[str, StringConstraints(pattern=rf"^({CHANNEL}|{PERSON})$")] = Field(
        description="The id of a channel, or of a person for their direct messages; a source names its own channel."
    )
    thread: Annotated[str, StringConstraints(pattern=rf"^(|{THREAD})$")] = Field(
        "", description="The ts of a thread's first message. Left out: see above."
    )
    id: Annotated[str, StringConstraints(pattern=rf"^{READING_ID}$")] = Field(
        description="Your own id for this reading, one for each."
    )


class ReadingPerceived(ResponseModel):
    """A reading was stored, or it was before."""

    perceived_by: tuple[str, ...] = Field(description="The conversations in which it is perceived, by their ids.")


class EventPages:
    """The handlers of programs that report. Both may raise Refusal, ConfigError and StoreError."""

    def __init__(self, side: DaemonSide) -> None:
        self._side = side

    @route(
        "POST",
        "/api/soul/sense",
        {202: "It is stored, or it was before."},
        {
            401: "The token is missing or wrong, or the signature is, or it is more than five minutes off.",
            404: "The soul has no such conversation, or nothing in the channel's threads that this is about.",
            409: "A reading with other words has this id.",
            413: "The body is larger than 64 KiB.",
            429: "60 readings came with this token or from this source in a minute.",
        },
        scope=Scope.ADMIN_OR_SIGNED,
        body=SenseReading,
        largest=LARGEST_EVENT,
    )
    async def sense(
        self,
        request: web.Request,
        body: bytes,
        source: Annotated[tuple[str, ...], Parameter("query", "The name of the source that signs it.", NAME.pattern)],
    ) -> ReadingPerceived:
        """Let the soul sense something.

        For a build, a monitor, a sensor: something is so, and no answer is due. The reading waits in the conversations
        that the answer names, and the next thought there perceives it, as data. It wakes a thought of a soul that
        thinks by itself where it shares words with what the soul means to do there or looks out for (docs/MIND.md).
        `room` and `thread` name a conversation that people have had with the soul. Without `thread` a reading for a
        channel goes into those of its threads, three at most, in which the soul means to do something with which it
        shares words. It is stored before the response; the same id with the same words gives the same answer again. In
        place of the token it may be signed, as events are (POST /api/events), by a source that the query names; a
        source tells of its room alone.
        """
        signed = (await self._signed_by(request, body, source))[0] if source else None
        given = body_of(body, SenseReading)
        return ReadingPerceived(perceived_by=await self._side.push_reading(self._reading(given, signed)))

    def _reading(self, given: SenseReading, source: EventSource | None) -> PushedReading:
        """Return the reading to store. A source may report in its own room only. Raises Refusal."""
        if source is not None and given.room != source.room:
            hint = f"a source tells of its own room alone, which is {source.room}"
            raise Refusal(404, "unknown_room", "The source has another room.", hint)
        if not (words := _as_kept(given.content)):
            raise Refusal(422, "invalid", "content: it says nothing.", "send what is to be perceived, as text")
        return PushedReading(
            source.soul if source else self._side.soul,
            source.workspace if source else self._side.workspace,
            source.id if source else TOKEN,
            given.id,
            _of_a_program(given.sense),
            words,
            given.room,
            given.thread,
            ends=source is not None,
        )

    @route(
        "POST",
        "/api/events",
        {202: "It is stored, or it was before."},
        {
            401: "The source or the signature is missing, wrong, or more than five minutes off.",
            409: "An event with another body has this id.",
            413: "The body is larger than 64 KiB.",
            429: "The source sent too many events in a minute.",
        },
        scope=Scope.SIGNED,
        takes=(JSON, _TEXT),
        largest=LARGEST_EVENT,
    )
    async def report(
        self,
        request: web.Request,
        body: bytes,
        source: Annotated[tuple[str, ...], Parameter("query", "The name of the source.", NAME.pattern, required=True)],
    ) -> EventTaken:
        """Report an event to a soul.

        For programs that `soul events add` lets report in one room: a build, a monitor, a forge. The event is stored
        before the response and perceived once; whether the soul says anything of it is up to the soul. A text is kept
        as it is, JSON as lines of `name: value` without ids, 4,000 characters at most. It is signed as
        standardwebhooks.com says, with the headers `webhook-id`, `webhook-timestamp` (at most five minutes off) and
        `webhook-signature`: `v1,` and the Base64 of the HMAC-SHA256 over `id.timestamp.body`; or as GitHub signs, with
        `X-Hub-Signature-256`. The same id again is not perceived again. How to set it up: docs/EXTENDING.md.
        """
        signer, id_ = await self._signed_by(request, body, source)
        words = await asyncio.to_thread(_readable, body, request.content_type)
        fresh = await self._side.events.take(signer, id_, words)
        return EventTaken(state="taken" if fresh else "known")

    async def _signed_by(self, request: web.Request, body: bytes, names: tuple[str, ...]) -> tuple[EventSource, str]:
        """Return the source that signed a request, and its id for it. Raises Refusal, ConfigError and StoreError."""
        source = await self._side.events.source(names[0]) if len(names) == 1 else None
        signing = source.signing if source else Signing.STANDARD
        key = signing_key(await self._side.events.secret(source), signing) if source else _NOBODY
        id_ = signed_id(signing, key, request.headers, body, self._side.clock.now_ms() / 1000)
        if source is None or id_ is None:
            raise unsigned()
        return source, id_


def _of_a_program(sense: str) -> ProgramSense:
    if sense in list(HouseSense):
        hint = "give your program's readings a name of their own, such as ci"
        raise Refusal(422, "invalid", f"sense: {sense} is a sense of the soul's own.", hint)
    return ProgramSense(sense)


def _readable(body: bytes, content_type: str) -> str:
    """Return the words of an event: its text, or the lines of its JSON, cut to the stored length. Raises Refusal."""
    try:
        text = body.decode()
        data = text if content_type == _TEXT else json.loads(text)
    except (ValueError, RecursionError):  # no UTF-8, no JSON, or numbers without end
        raise no_json() from None
    if isinstance(data, dict):
        lines = list(plain_lines(_without_noise(data)))
    else:
        lines = str(data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)).splitlines()
    kept = [*lines[:_LINES], *([_LEFT_OUT] if len(lines) > _LINES else [])]
    if not (words := _as_kept("\n".join(kept))):
        raise Refusal(422, "invalid", "The event says nothing.", "send a text, or a JSON object with fields")
    return words


def _as_kept(text: str) -> str:
    return shortened(_NO_TEXT.sub("", storable(text)).strip(), LONGEST)


def _without_noise(data: dict[str, object], depth: int = 0) -> dict[str, object]:
    return {
        name: _without_noise(value, depth + 1) if isinstance(value, dict) and depth < _DEEPEST else value
        for name, value in data.items()
        if not _NOISE.fullmatch(name)
    }
