"""Makes up the plainest value that fits a JSON Schema, the same every time."""

import re
from collections.abc import Mapping
from math import ceil, floor
from typing import TypeAlias

from daemon.core.errors import ModelRefused

Schema: TypeAlias = Mapping[str, object]

_DEEPEST = 24
_SAMPLES = {
    "date": "2000-01-01",
    "time": "00:00:00Z",
    "date-time": "2000-01-01T00:00:00Z",
    "duration": "PT0S",
    "email": "placeholder@example.com",
    "hostname": "example.com",
    "uri": "https://example.com/",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
_WORDS = ("placeholder", "a", "A", "0", "1", "00", "0.0", "2000-01-01", "a-b", "a_b", "a.b", "a/b", "A1", "#000000")


class _TooDeepError(Exception):
    """A branch that refers to itself without end; another branch may not."""


def instance_of(schema: Schema, word: str = "placeholder") -> object:
    """A value with every property the schema names, `word` wherever any text will do.

    Raises ModelRefused for a schema that nothing fits, or whose patterns are beyond simple words.
    """
    try:
        return _Maker(schema, word).make(schema, 0)
    except _TooDeepError:
        raise ModelRefused("the placeholder model can't make up an endless value", hint="mend the schema") from None


class _Maker:
    def __init__(self, root: Schema, word: str) -> None:
        self._root = root
        self._word = word

    def make(self, given: object, depth: int) -> object:
        if depth > _DEEPEST:
            raise _TooDeepError
        schema = self._resolved(given)
        if "const" in schema:
            return schema["const"]
        if isinstance(choices := schema.get("enum"), list) and choices:
            return choices[0]
        for key in ("anyOf", "oneOf"):
            if isinstance(branches := schema.get(key), list):
                rest = {name: value for name, value in schema.items() if name != key}
                return self._first_that_ends([_merged(rest, self._resolved(each)) for each in branches], depth)
        return self._typed(schema, depth)

    def _resolved(self, given: object) -> Schema:
        """Follow `$ref` and fold `allOf` in, so that one flat schema is left."""
        schema: Schema = given if isinstance(given, Mapping) else {}
        hops = 0
        while isinstance(pointer := schema.get("$ref"), str):
            hops += 1
            if hops > _DEEPEST:
                raise _TooDeepError
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            schema = _merged(rest, _at(self._root, pointer))
        if isinstance(parts := schema.get("allOf"), list):
            merged: Schema = {key: value for key, value in schema.items() if key != "allOf"}
            for part in parts:
                merged = _merged(merged, self._resolved(part))
            return merged
        return schema

    def _first_that_ends(self, branches: list[Schema], depth: int) -> object:
        for branch in branches:
            try:
                return self.make(branch, depth + 1)
            except _TooDeepError:
                continue
        raise _TooDeepError

    def _typed(self, schema: Schema, depth: int) -> object:
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._first_that_ends([{**schema, "type": each} for each in kind], depth)
        if kind == "object" or (kind is None and "properties" in schema):
            return self._object(schema, depth)
        if kind == "array" or (kind is None and "items" in schema):
            return self._array(schema, depth)
        if kind in ("number", "integer"):
            return _number(schema, whole=kind == "integer")
        if kind in ("boolean", "null"):
            return False if kind == "boolean" else None
        return self._string(schema)

    def _object(self, schema: Schema, depth: int) -> dict[str, object]:
        properties = schema.get("properties")
        named: Schema = properties if isinstance(properties, Mapping) else {}
        listed = schema.get("required")
        required = [str(name) for name in listed] if isinstance(listed, list) else []
        made: dict[str, object] = {}
        for name in [*named, *(name for name in required if name not in named)]:
            try:
                made[name] = self.make(named.get(name, schema.get("additionalProperties")), depth + 1)
            except _TooDeepError:
                if name in required:
                    raise
        extra = schema.get("additionalProperties")
        for number in range(_whole(schema.get("minProperties")) - len(made)):
            made[f"{self._word}_{number}"] = self.make(extra, depth + 1)
        return made

    def _array(self, schema: Schema, depth: int) -> list[object]:
        leading = schema.get("prefixItems")
        made = [self.make(each, depth + 1) for each in leading] if isinstance(leading, list) else []
        fewest = _whole(schema.get("minItems"))
        return made + [self.make(schema.get("items"), depth + 1) for _ in range(fewest - len(made))]

    def _string(self, schema: Schema) -> str:
        shortest, longest = _whole(schema.get("minLength")), schema.get("maxLength")
        sample = _SAMPLES.get(str(schema.get("format")))
        pattern = schema.get("pattern")
        if isinstance(pattern, str):
            candidates = [self._word, sample or "", *_WORDS, *(letter * max(shortest, 1) for letter in "aA0")]
            fitting = (each for each in candidates if _fits(each, pattern, shortest, longest))
            if (found := next(fitting, None)) is None:
                raise ModelRefused(f"the placeholder model knows no word like {pattern}", hint="use a real model")
            return found
        text = sample or self._word
        padded = text + "." * (shortest - len(text))
        return padded[:longest] if isinstance(longest, int) else padded


def _fits(text: str, pattern: str, shortest: int, longest: object) -> bool:
    top = longest if isinstance(longest, int) else len(text)
    return shortest <= len(text) <= top and re.search(pattern, text) is not None


def _number(schema: Schema, *, whole: bool) -> float | int:
    """The number nearest to zero that fits the bounds and the step."""
    low, high = _bound(schema, "inimum", strictly=1), _bound(schema, "aximum", strictly=-1)
    step = schema.get("multipleOf", 1 if whole else 0)
    value: float = max(low, 0.0) if low is not None else 0.0
    if high is not None:
        value = min(value, high)
    if isinstance(step, int | float) and step:
        value = (ceil if value >= 0 else floor)(round(value / step, 9)) * step
    return int(value) if whole else value


def _bound(schema: Schema, name: str, *, strictly: int) -> float | None:
    """A bound as a closed one: an exclusive bound moves inwards by one for whole numbers, by a little otherwise."""
    closed, strict = schema.get("m" + name), schema.get("exclusiveM" + name)
    nudge = strictly if schema.get("type") == "integer" else strictly * 1e-6
    found = [float(closed)] if isinstance(closed, int | float) else []
    found += [float(strict) + nudge] if isinstance(strict, int | float) else []
    if not found:
        return None
    return max(found) if strictly > 0 else min(found)


def _merged(left: Schema, right: Schema) -> Schema:
    """Both schemas at once, as far as plain schemas go: properties and requirements are united, the right one wins."""
    merged = {**left, **right}
    for key in ("properties", "$defs"):
        one, other = left.get(key), right.get(key)
        if isinstance(one, Mapping) and isinstance(other, Mapping):
            merged[key] = {**one, **other}
    one, other = left.get("required"), right.get("required")
    if isinstance(one, list) and isinstance(other, list):
        merged["required"] = [*one, *other]
    return merged


def _at(root: Schema, pointer: str) -> Schema:
    """What a local `$ref` such as `#/$defs/Name` points at."""
    found: object = root
    for part in pointer.removeprefix("#").strip("/").split("/") if pointer != "#" else ():
        found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping):
        raise ModelRefused(f"the schema points at {pointer}, where nothing is", hint="mend the schema")
    return found


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
