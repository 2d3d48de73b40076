"""`soul settings --soul`: tables of all fields of a soul, made from its schema."""

from collections.abc import Iterator, Mapping
from typing import cast

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from daemon.core.sentences import LABELS, LONGEST, LONGEST_LABEL, SENTENCES
from daemon.mind.stances import HOUSE
from daemon.soul import NEEDED, PLACEHOLDERS, AgentRole, Contact, Mode, Soul, SuggestedPrompt, VerbsInMood

_ELSEWHERE = (
    "personality",
    "modes",
    "playbook",
    "awakening",
    "states",
    "words",
)  # texts in files of their own, or tables below
_KINDS = {"boolean": "yes or no", "integer": "whole number", "number": "number", "string": "text", "null": "unset"}
_BOUNDS = {"minimum": "at least", "exclusiveMinimum": "more than", "maximum": "at most"}

Schema = Mapping[str, object]


def soul_reference() -> str:
    """Return a table for every section of `soul.toml` and for `mode.toml`: field, meaning, kind, bounds and default."""
    tables: list[tuple[str, type[BaseModel]]] = [("The top of `soul.toml`", Soul), *_sections(), ("`mode.toml`", Mode)]
    return "\n".join([*(_table(heading, shape) for heading, shape in tables), _states(), _words()])


def _states() -> str:
    rows = []
    for state, stance in HOUSE.items():
        held = [f"`{{{one}}}`{' (needed)' * (one in NEEDED.get(state, ()))}" for one in PLACEHOLDERS.get(state, ())]
        shown = " ".join(stance.split()).replace("|", "\\|") or "(nothing)"
        rows.append(f"| `{state}.md` | {', '.join(held)} | {shown} |\n")
    head = "| file | may hold | what it replaces |\n|---|---|---|\n"
    return f"### `states/<state>.md`\n\n{head}{''.join(rows)}"


def _words() -> str:
    rows = [f"| `{key}` | {text} |\n" for key, text in SENTENCES.items()]
    head = "| sentence | in English |\n|---|---|\n"
    short = ", ".join(f"`{key}`" for key in SENTENCES if key in LABELS)
    sizes = f"A sentence has at most {LONGEST} characters; a label has {LONGEST_LABEL}: {short}."
    return f"### `[words]` and `[words.<language>]`\n\n{sizes}\n\n{head}{''.join(rows)}"


def _sections() -> Iterator[tuple[str, type[BaseModel]]]:
    for name, field in Soul.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield f"`[{name}]`", field.annotation
        if name == "verbs":
            yield "`[verbs.when.<emotional state>]`", VerbsInMood
        if name == "roles":
            yield "`[roles.<name>]`", AgentRole
        if name == "contacts":
            yield "`[[contacts]]`", Contact
        if name == "suggestions":
            yield "`[[suggestions]]`", SuggestedPrompt


def _table(heading: str, shape: type[BaseModel]) -> str:
    properties = cast("Mapping[str, Schema]", shape.model_json_schema()["properties"])
    rows = [
        f"| `{name}` | {field.description} | {_kind(properties[name])} | {_default(field)} |\n"
        for name, field in shape.model_fields.items()
        if field.description and not (shape is Soul and name in _ELSEWHERE)
    ]
    return f"### {heading}\n\n| field | what it means | what it takes | default |\n|---|---|---|---|\n{''.join(rows)}"


def _kind(schema: Schema) -> str:
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
