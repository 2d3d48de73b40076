"""Reads the JSON body of a request into its model, or refuses it with words that a person can act on."""

import asyncio
from typing import Final, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from daemon.channels.http.errors import Refusal

LARGEST: Final = 256 * 1024  # bytes; a message of 20,000 characters takes less, however it is escaped
_SLOWEST: Final = 30.0  # seconds that a body may take to arrive
_MOST_FAULTS: Final = 5

Body = TypeVar("Body", bound=BaseModel)


async def read_body(request: web.Request, shape: type[Body]) -> Body:
    """The body as `shape`. Raises Refusal: 400 not JSON, 408 too slow, 413 too large, 415 no JSON, 422 not as told."""
    if request.content_type != "application/json" or "Content-Encoding" in request.headers:
        raise Refusal(415, "not_json", "The body must be plain JSON.", "send Content-Type: application/json")
    try:
        async with asyncio.timeout(_SLOWEST):
            raw = await request.read()
    except TimeoutError:
        raise Refusal(408, "too_slow", "The body did not arrive in time.", "try again") from None
    try:
        return shape.model_validate_json(raw)
    except ValidationError as error:
        raise _refused(error) from error


def _refused(error: ValidationError) -> Refusal:
    """The faults by field; never the value, which may be private."""
    faults = error.errors(include_url=False, include_input=False, include_context=False)
    if any(fault["type"] == "json_invalid" for fault in faults):
        return Refusal(400, "malformed", "The body is not valid JSON.", "send one JSON object in UTF-8")
    told = [f"{'.'.join(map(str, fault['loc'])) or 'body'}: {fault['msg']}" for fault in faults[:_MOST_FAULTS]]
    return Refusal(422, "invalid", "; ".join(told), "GET /openapi.json tells what each field may hold")
