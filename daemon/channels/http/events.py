"""The entrance for signed events of programs, each stored once before it is acknowledged."""

import asyncio
import base64
import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from typing import Final, Protocol

from aiohttp import web

from daemon.channels.http.request import Refusal, no_json, read_raw
from daemon.channels.http.schemas import EventTaken
from daemon.core.ports.services import Clock
from daemon.core.sensing import LONGEST, EventSource, OtherEvent, Signing, SourceEnded, TooManyEvents, signing_key
from daemon.core.text import plain_lines, shortened, storable

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


class EventsTaken(Protocol):
    """The sources of events, and the storing of their events. Each call may raise StoreError."""

    async def source(self, name: str) -> EventSource | None:
        """Return the active source of this name, or None."""

    async def secret(self, source: EventSource) -> str:
        """Return the secret of a source. Raises ConfigError if it can't be read."""

    async def take(self, source: EventSource, id_: str, words: str) -> bool:
        """Store an event once. Returns False if it came before. Raises TooManyEvents, OtherEvent and SourceEnded."""


class EventPages:
    def __init__(self, events: EventsTaken, clock: Clock) -> None:
        self._events = events
        self._clock = clock

    async def take(self, request: web.Request) -> web.Response:
        """Take one event, once. Raises Refusal and StoreError."""
        body = await read_raw(request, ("application/json", _TEXT), most=LARGEST_EVENT)
        source, id_ = await signed_by(request, body, self._events, self._clock)
        words = await asyncio.to_thread(readable, body, request.content_type)
        try:
            fresh = await self._events.take(source, id_, words)
        except TooManyEvents as much:
            raise Refusal(429, "too_many_events", f"{much.message}.", much.hint, {"Retry-After": "60"}) from much
        except OtherEvent as other:
            raise Refusal(409, "other_words", "An event with another body has this id.", other.hint) from other
        except SourceEnded as ended:
            raise not_theirs() from ended
        answer = EventTaken(state="taken" if fresh else "known")
        return web.json_response(body=answer.model_dump_json().encode(), status=202)


async def signed_by(request: web.Request, body: bytes, sources: EventsTaken, clock: Clock) -> tuple[EventSource, str]:
    """Return the source that signed a request, and its id for it. Raises Refusal, ConfigError and StoreError."""
    names = request.query.getall("source", [])
    source = await sources.source(names[0]) if len(names) == 1 else None
    signing = source.signing if source else Signing.STANDARD
    key = signing_key(await sources.secret(source), signing) if source else _NOBODY
    id_ = signed_id(signing, key, request.headers, body, clock.now_ms() / 1000)
    if source is None or id_ is None:
        raise not_theirs()
    return source, id_


def readable(body: bytes, content_type: str) -> str:
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
    if not (words := as_kept("\n".join(kept))):
        raise Refusal(422, "invalid", "The event says nothing.", "send a text, or a JSON object with fields")
    return words


def as_kept(text: str) -> str:
    return shortened(_NO_TEXT.sub("", storable(text)).strip(), LONGEST)


def _without_noise(data: dict[str, object], depth: int = 0) -> dict[str, object]:
    return {
        name: _without_noise(value, depth + 1) if isinstance(value, dict) and depth < _DEEPEST else value
        for name, value in data.items()
        if not _NOISE.fullmatch(name)
    }


def not_theirs() -> Refusal:
    """Return the one refusal for an unknown source, a wrong signature and an old one, which must look alike."""
    hint = "sign with the secret of `soul events add`, name the source in ?source=…, and look at both clocks"
    return Refusal(
        401, "unsigned", "The source or the signature is missing, wrong, or more than five minutes off.", hint
    )
