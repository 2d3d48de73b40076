"""`soul mind schema` and `check`: the forms of a thought, and whether one keeps them."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from daemon.cli.listing import json_of
from daemon.cli.output import say, say_json
from daemon.mind.thought import (
    WIRE_SCHEMA,
    CognitiveInput,
    CognitiveOutput,
    NoThought,
    Refused,
    read_input,
    read_thought,
)

_SCHEMAS: Final[Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "input": CognitiveInput.model_json_schema(),
        "output": CognitiveOutput.model_json_schema(),
        "wire": WIRE_SCHEMA,
    }
)
_LARGEST: Final = 1 << 20  # characters


@click.command("schema")
@click.argument("form", type=click.Choice(tuple(_SCHEMAS)))
def schema(form: str) -> None:
    """Print a JSON Schema: of what a thought is given, of what it holds, or of the form in which a model answers."""
    say_json(dict(_SCHEMAS[form]))


@click.command("check")
@click.argument("form", type=click.Choice(("input", "output")))
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_of(("valid", "refused [field, reason]"))
def check(form: str, file: Path, as_json: bool) -> None:
    """Check what a thought is given, or one thought, in FILE (- is the standard input), by its form alone.

    Exit code 1 unless all of it can be read. Of what is no thought at all the field is empty, or the missing one.
    """
    try:
        text = _words_of(file)
        refused = read_input(text) if form == "input" else read_thought(text).refused
    except NoThought as error:
        _say_verdict((error.refused,), "the whole", as_json=as_json)
        raise click.ClickException(f"{file}: {error}") from error
    _say_verdict(refused, "a part with no known name", as_json=as_json)
    sys.exit(1 if refused else 0)


def _say_verdict(refused: Sequence[Refused], without_name: str, *, as_json: bool) -> None:
    if as_json:
        say_json({"valid": not refused, "refused": refused})
        return
    say(f"valid: {'no' if refused else 'yes'}")
    for one in refused:
        say(f"{one.field or without_name}: {one.reason}")


def _words_of(file: Path) -> str:
    """The text of a file. Raises NoThought, and click.ClickException for a file that can't be read."""
    hint = "name a file with JSON in UTF-8"
    try:
        with click.open_file(str(file), encoding="utf-8") as opened:
            text = str(opened.read(_LARGEST + 1))
    except UnicodeDecodeError as error:
        raise NoThought("it is no text in UTF-8", reply="", hint=hint, refused=Refused("", "unknown")) from error
    except OSError as error:
        raise click.ClickException(
            f"{file} can't be read: {error.strerror}. Name a file with JSON in UTF-8."
        ) from error
    if len(text) > _LARGEST:
        larger = f"it is larger than a thought can be, {_LARGEST:,} characters"
        raise NoThought(larger, reply="", hint=hint, refused=Refused("", "too_long"))
    return text
