"""Writes the tables of fields in `docs/SOULS.md`, generated from the schema of a soul."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from daemon.soul import Contact, Mode, Soul, VerbsInMood

BEGIN = (
    "<!-- The fields: made by `python -m daemon.cli.reference.soul_fields docs/SOULS.md`; a test keeps them true. -->"
)
END = "<!-- The end of the fields. -->"

_ELSEWHERE = ("personality", "modes")  # texts in files of their own
_KINDS = {"boolean": "yes or no", "integer": "whole number", "number": "number", "string": "text", "null": "unset"}
_BOUNDS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}

Schema = Mapping[str, object]


def with_fields(document: str) -> str:
    """The document with new tables of fields between its two marks; all other text stays.

    Raises ValueError when a mark is missing.
    """
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the marks {BEGIN!r} and {END!r} are missing")
    return f"{before}{BEGIN}\n\n{soul_reference()}\n{END}{after}"


def soul_reference() -> str:
    """A table for every section of `soul.toml` and one for `mode.toml`: field, meaning, kind, bounds and default."""
    tables: list[tuple[str, type[BaseModel]]] = [("The top of `soul.toml`", Soul), *_sections(), ("`mode.toml`", Mode)]
    return "\n".join(_table(heading, shape) for heading, shape in tables)


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in Soul.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield f"`[{name}]`", field.annotation
        if name == "verbs":
            yield "`[verbs.when.<emotional state>]`", VerbsInMood
        if name == "contacts":
            yield "`[[contacts]]`", Contact


def _table(heading: str, shape: type[BaseModel]) -> str:
    properties = cast("Mapping[str, Schema]", shape.model_json_schema()["properties"])
    rows = [
        f"| `{name}` | {field.description} | {_kind(properties[name])} | {_default(field)} |\n"
        for name, field in shape.model_fields.items()
        if field.description and not (shape is Soul and name in _ELSEWHERE)
    ]
    return f"### {heading}\n\n| field | what it means | what it takes | default |\n|---|---|---|---|\n{''.join(rows)}"


def _kind(schema: Schema) -> str:
    """What a field accepts, with its bounds."""
    if choices := cast("list[Schema]", schema.get("anyOf", [])):
        schema = next(choice for choice in choices if choice.get("type") != "null")
    if options := cast("list[str]", schema.get("enum", [])):
        return " or ".join(f"`{option}`" for option in options)
    if schema.get("type") == "array":
        items = cast("Schema", schema.get("items", {}))
        return "table" if "prefixItems" in items else "tables" if "$ref" in items else "list of texts"
    bounds = [f"{words} {schema[bound]}" for bound, words in _BOUNDS.items() if bound in schema]
    return ", ".join([_KINDS[str(schema["type"])], *bounds])


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "needed"
    value = field.get_default()
    if value is None or value in {(), ""}:
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        return ", ".join(f"`{one}`" for one in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(with_fields(path.read_text(encoding="utf-8")), encoding="utf-8")
