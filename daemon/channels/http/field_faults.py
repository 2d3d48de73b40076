"""Says what is wrong with a request, field by field, in sentences; without the values, which may be private or huge."""

from typing import Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from daemon.channels.http.errors import Refusal
from daemon.channels.http.schemas import ID, SOME_TEXT

_MOST: Final = 5
_OF_PATTERNS: Final = {
    SOME_TEXT: "has to hold more than space, and no control characters",
    f"^{ID}$": "has to be 1 to 64 of A-Z, a-z, 0-9, hyphen and underscore",
}


def no_json() -> Refusal:
    """The refusal of a body that is no JSON, or that is JSON which no reader takes."""
    hint = (
        "send one JSON object in UTF-8, of whole characters, not deeply nested, with numbers of less than 4,300 digits"
    )
    return Refusal(400, "malformed", "The body is not valid JSON.", hint)


def reasons(error: ValidationError, whole: str) -> str:
    """The first faults, by field; `whole` names what has the fields."""
    errors = error.errors(include_url=False, include_input=False)[:_MOST]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or whole}: {_said(one)}" for one in errors)


def _said(fault: ErrorDetails) -> str:
    return _OF_PATTERNS.get(fault.get("ctx", {}).get("pattern", ""), fault["msg"])
