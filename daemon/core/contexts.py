"""The values of shared contexts, and the checks before one is written (seed 003)."""

import json
import math
import re
from collections.abc import Mapping
from typing import Final

from daemon.core.errors import DaemonError
from daemon.core.perception import Audience, AudienceKind
from daemon.core.value import Value

KEY: Final = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

LARGEST: Final = 16 * 1024
"""Bytes of a context's data as JSON, at most."""

SOULS: Final = "souls"
"""The key at which daemons show what their souls do. Nothing else is written there."""

OPERATOR: Final = "operator"
"""The author of what the admin wrote."""

JSONObject = Mapping[str, object]


class ContextRefused(DaemonError):
    """Raised when a value does not fit, is too large, or its writer may not write it. Nothing was written."""


class ContextConflict(DaemonError):
    """Raised when the context was changed by another writer. Nothing was written. `found` is its state now."""

    def __init__(self, found: "ContextState") -> None:
        super().__init__(
            f"{found.key} was changed meanwhile; its version is {found.version}", hint="look at it and try again"
        )
        self.found = found


class ContextState(Value):
    """The current state of a shared context. One that was never written is version 0, with no data and no author.

    `audience` may read it. `writers` are names of souls, empty for all of this memory.db; the admin always may write.
    `updated_ms` is 0 before the first change.
    """

    key: str
    version: int
    data: JSONObject
    audience: Audience
    writers: tuple[str, ...] = ()
    author: str = ""
    updated_ms: int = 0


class ContextVersion(Value):
    """One version of a context's data: its author and time.

    `redacted`: words of a person who was forgotten since were taken out.
    """

    version: int
    data: JSONObject
    author: str
    at_ms: int
    redacted: bool = False


class Writer(Value):
    """The writer of a change: a soul's name or OPERATOR. `audience` may know all that the writer does.

    `most` limits the contexts that the writer owns; None for no limit.
    """

    name: str
    audience: Audience
    most: int | None = None


ADMIN: Final = Writer(OPERATOR, Audience(AudienceKind.OPERATOR, ""))


def checked_key(text: str) -> str:
    """Return the text if it is a valid key. Raises ContextRefused."""
    if not KEY.fullmatch(text):
        raise ContextRefused(
            f"{text[:80]!r} is no key of a shared context",
            hint="a key has up to 64 of a-z, 0-9, dot, hyphen and underscore, and begins with a letter or a digit",
        )
    return text


def as_stored(data: object, most: int = LARGEST) -> str:
    """Return data as stored JSON of at most `most` bytes, keys sorted. Raises ContextRefused otherwise."""
    if not isinstance(data, Mapping):
        raise ContextRefused(f"the data is {_kind(data)}, and has to be an object", hint="write {…}")
    _require_json(data, "")
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, sort_keys=True)
    if (size := len(text.encode("utf-8", "surrogatepass"))) > most:
        raise ContextRefused(f"the data takes {size} bytes; {most} are the most", hint="store less, or in several keys")
    return text


def merged(data: JSONObject, changes: JSONObject) -> JSONObject:
    """Return the data with a JSON merge patch applied (RFC 7396)."""
    kept = {name: value for name, value in data.items() if changes.get(name, ...) is not None}
    for name, value in changes.items():
        if isinstance(value, dict):
            before = data.get(name)
            kept[name] = merged(before if isinstance(before, dict) else {}, value)
        elif value is not None:
            kept[name] = value
    return kept


_DEEPEST: Final = 32

_WIDEST: Final = 13_000  # bits; readers of JSON refuse numbers of more than 4,300 digits


def _require_json(value: object, path: str, depth: int = 0) -> None:
    where = path.lstrip("/")[:80] or "the data"
    if depth > _DEEPEST:
        raise ContextRefused(f"{where} is nested more than {_DEEPEST} deep", hint="make it flatter")
    if isinstance(value, Mapping):
        for name, one in value.items():
            if not isinstance(name, str):
                raise ContextRefused(f"a name in {where} is {_kind(name)}", hint="names are texts")
            _require_leaf(name, f"a name in {where}")
            _require_json(one, f"{path}/{name}", depth + 1)
    elif isinstance(value, list | tuple):
        for number, one in enumerate(value):
            _require_json(one, f"{path}/{number}", depth + 1)
    else:
        _require_leaf(value, where)


def _require_leaf(value: object, where: str) -> None:
    if isinstance(value, str):
        if _LONE.search(value):
            raise ContextRefused(f"{where} holds half of a character", hint="write whole Unicode characters")
    elif isinstance(value, int) and value.bit_length() > _WIDEST:
        raise ContextRefused(f"{where} is a number of thousands of digits", hint="write it as a text")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ContextRefused(f"{where} is {value}, which JSON can't hold", hint="use a finite number or null")
    elif value is not None and not isinstance(value, int | float):
        raise ContextRefused(
            f"{where} is {_kind(value)}, which JSON can't hold", hint="use texts, numbers, lists, objects"
        )


_LONE: Final = re.compile(r"[\ud800-\udfff]")


def _kind(value: object) -> str:
    names = {
        str: "a text",
        bool: "true or false",
        int: "a number",
        float: "a number",
        list: "a list",
        type(None): "null",
    }
    return names.get(type(value), f"a {type(value).__name__}")
