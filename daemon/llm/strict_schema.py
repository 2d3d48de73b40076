"""JSON Schemas as structured-output APIs accept them: closed objects, all properties required."""

from collections.abc import Iterator, Mapping
from itertools import chain

_KEPT = ("type", "enum", "const", "$ref", "description")
_BRANCHES = ("anyOf", "oneOf", "allOf")

# Constraints that the APIs refuse go into the description; the caller still validates the answer.
_DESCRIBED = (
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "format",
    "minItems",
    "maxItems",
    "uniqueItems",
)


def strict(schema: Mapping[str, object]) -> dict[str, object]:
    """A strict copy: `oneOf` becomes `anyOf`, constraints that the APIs refuse move into the description.

    Source: Anthropic and OpenAI, structured outputs, supported schemas.
    """
    out: dict[str, object] = {key: schema[key] for key in _KEPT if key in schema}
    if constraints := ", ".join(f"{key}: {schema[key]}" for key in _DESCRIBED if key in schema):
        out["description"] = f"{out.get('description', '')} ({constraints})".strip()
    for key in _BRANCHES:
        if isinstance(branches := schema.get(key), list):
            out["anyOf" if key == "oneOf" else key] = [_sub(each) for each in branches]
    if isinstance(definitions := schema.get("$defs"), Mapping):
        out["$defs"] = {name: _sub(each) for name, each in definitions.items()}
    if "items" in schema:
        out["items"] = _sub(schema["items"])
    if schema.get("type") == "object" or "properties" in schema:
        properties = schema.get("properties")
        named = dict(properties) if isinstance(properties, Mapping) else {}
        out["properties"] = {name: _sub(each) for name, each in named.items()}
        out["required"] = list(named)
        out["additionalProperties"] = False
    return out


def can_be_strict(schema: Mapping[str, object]) -> bool:
    """Whether the strict copy means the same; maps with free keys and tuples have no strict form."""
    return not any(_is_open(each) for each in _walk(schema))


def _is_open(schema: Mapping[str, object]) -> bool:
    free = schema.get("additionalProperties", False) is not False or "patternProperties" in schema
    shapeless = schema.get("type") == "object" and "properties" not in schema
    return free or shapeless or "prefixItems" in schema or not schema


def _walk(schema: object) -> Iterator[Mapping[str, object]]:
    """The schema and every schema inside it."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("$defs", "properties"):
        if isinstance(named := schema.get(key), Mapping):
            yield from chain.from_iterable(_walk(each) for each in named.values())
    for key in _BRANCHES:
        if isinstance(branches := schema.get(key), list):
            yield from chain.from_iterable(_walk(each) for each in branches)
    yield from _walk(schema.get("items"))


def _sub(schema: object) -> object:
    return strict(schema) if isinstance(schema, Mapping) else schema
