"""Reads the JSON body of a request into its model, or refuses it with the reason."""

import asyncio
import json
from typing import Final, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from daemon.channels.http.errors import Refusal
from daemon.channels.http.field_faults import no_json, reasons
from daemon.core.text import storable

LARGEST: Final = 256 * 1024  # bytes; 20,000 characters fit, however they are escaped
_JSON: Final = "application/json"
_SLOWEST: Final = 30.0  # seconds that a body may take to arrive

Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: web.Request, model: type[Body]) -> Body:
    """The body as `model`. Raises Refusal: 400 broken JSON, 408 too slow, 413 too large, 415 not JSON, 422 invalid."""
    return body_of(await read_raw(request), model)


def body_of(raw: bytes, model: type[Body]) -> Body:
    """The body as `model`. Raises Refusal: 400 broken JSON, 422 invalid."""
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise _refused(error) from error


def mended(raw: bytes) -> bytes:
    """Return JSON that strict readers take: with control characters escaped, and U+FFFD for halves of characters.

    It is for what a program repeats from elsewhere: one odd text loses no event. What is no JSON stays as it is.
    """
    try:
        value = json.loads(raw.decode("utf-8", "replace"), strict=False)
    except (ValueError, RecursionError):
        return raw
    return storable(json.dumps(value, ensure_ascii=False)).encode()


async def read_raw(request: web.Request, kinds: tuple[str, ...] = (_JSON,), most: int = LARGEST) -> bytes:
    """The body as it came. Raises Refusal: 408 too slow, 413 too large, 415 another kind; HTTPException: 413."""
    if request.content_type not in kinds or "Content-Encoding" in request.headers:
        if kinds == (_JSON,):
            raise Refusal(415, "not_json", "The body must be plain JSON.", "send Content-Type: application/json")
        raise Refusal(415, "wrong_kind", f"The body must be {' or '.join(kinds)}.", "name its kind in Content-Type")
    try:
        async with asyncio.timeout(_SLOWEST):
            body = await request.read()
    except TimeoutError:
        raise Refusal(408, "too_slow", "The body did not arrive in time.", "try again") from None
    if len(body) > most:
        raise Refusal(413, "too_large", "The body is too large.", f"a body holds at most {most // 1024} KiB here")
    return body


def _refused(error: ValidationError) -> Refusal:
    if any(one["type"] == "json_invalid" for one in error.errors(include_url=False, include_input=False)):
        return no_json()
    return Refusal(422, "invalid", f"{reasons(error, 'body')}.", "GET /openapi.json says what each field may hold")
