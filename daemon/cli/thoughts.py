"""`soul mind thoughts`, `schema`, `check` and `trace`: the stream of thought."""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from daemon.cli.listing import Here, TextTable, at, facts, json_of, lists, names_of, say, say_json, shows
from daemon.cli.options import conversation_option, limit_option, of_soul, until_interrupted
from daemon.cli.words import Hidden
from daemon.core.ports.services import Clock, SystemClock
from daemon.memory.database import Database
from daemon.memory.knowledge.soul_states import state_path
from daemon.memory.records import Row, object_or_nothing
from daemon.memory.stream.reading import list_thoughts, thought_named
from daemon.mind.thought import (
    WIRE_SCHEMA,
    CognitiveInput,
    CognitiveOutput,
    NoThought,
    Refused,
    read_input,
    read_thought,
)

_LOOKED_FOR_S: Final = 1.0
_MOST_AT_ONCE: Final = 1_000
_KEYS: Final = (
    "id, at_ms, soul, conversation, audience, occasion, process, previous, degraded, spoke, surprise, did, "
    "refused, calls, tokens_in, tokens_out, cost_usd, input, output"
)


def _row(one: Row) -> Row:
    """Return a thought with its input and output as objects, which may be shown only with --words."""
    held = {name: object_or_nothing(one[name]) if one[name] else "" for name in ("input", "output")}
    return {**one, **{name: Hidden(one["id"], value) for name, value in held.items()}}


def _speech(row: Row) -> list[str]:
    output = row["output"] or {}
    said = (("thought", output.get("inner_speech")), ("said", output.get("external_speech")))
    return [f"    {name}: {text}" for name, text in said if text]


_TABLE: Final = TextTable(
    *(at("at_ms", "WHEN"), "id occasion process conversation", ("SPOKE", lambda row: "yes" if row["spoke"] else "no")),
    ("DID", lambda row: sum(number for number in row["did"].values() if isinstance(number, int))),
    ("REFUSED", lambda row: len(row["refused"])),
    nothing='There are no thoughts yet. A soul has them whose soul.toml says `mind = "cycle"`.',
    below=lambda row: [f"\n{row['id']}", *_speech(row)] if row["input"] or row["output"] else [],
)


@click.group("thoughts", invoke_without_command=True)
@conversation_option
@of_soul
@limit_option("of the newest thoughts, oldest first")
@click.option("-f", "--follow", is_flag=True, help="Go on with new thoughts until Ctrl-C.")
@until_interrupted
@shows(_KEYS, _TABLE, words=True)
async def thoughts_command(
    here: Here, *, conversation: str, soul: str, limit: int, follow: bool
) -> Sequence[Row] | None:
    """Show the stream of thought of a soul whose mind is `cycle`: what it thought when, why, and what came of it.

    Times are UTC. With --follow, JSON is one object a line.

    `input` and `output` are empty without --words, those that not the whole workspace may know without --private, and
    those that were erased.
    """
    which = await here.soul_and_conversation(soul, conversation)
    if not follow:
        return [_row(one) for one in await list_thoughts(here.database, *which, limit)]
    async for one in followed(here.database, SystemClock(), *which, limit):
        row, _ = await here.open_words(_row(one))
        if here.as_json:
            click.echo(json.dumps({name: row[name] for name in names_of(_KEYS)}))
            continue
        for line in ("  ".join(_TABLE.cells(row, here.now_ms)), *_speech(row)):
            say(line)
    return None


def _print_thought(row: Row) -> None:
    did = ", ".join(f"{field}: {number}" for field, number in row["did"].items())
    refused = ", ".join(f"{one['field']}: {one['reason']}" for one in row["refused"])
    facts({**{key: row[key] for key in names_of(_KEYS)}, "did": did, "refused": refused}, without=("input", "output"))
    for key in ("input", "output"):
        if row[key]:
            say(f"\n{key}\n{json.dumps(row[key], ensure_ascii=False, indent=2)}")


@thoughts_command.command("show")
@click.argument("name", metavar="ID")
@shows(_KEYS, _print_thought, words=True)
async def show(here: Here, name: str) -> Row:
    """Show one thought: what it was given and what it held."""
    return _row(await thought_named(here.database, name))


async def followed(database: Database, clock: Clock, soul: str, conversation: str, limit: int) -> AsyncIterator[Row]:
    """Yield the newest thoughts, oldest first, and then each new one, until cancelled. Raises StoreError."""
    last = 0
    found = await list_thoughts(database, soul, conversation, limit)
    while True:
        for one in found:
            yield one
            last = one["seq"]
        await clock.sleep(_LOOKED_FOR_S)
        found = await list_thoughts(database, soul, conversation, _MOST_AT_ONCE, after=last)


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
    say_json(_SCHEMAS[form])


@click.command("check")
@click.argument("form", type=click.Choice(("input", "output")))
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_of("valid, refused [field, reason]")
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
    """Return the text of a file. Raises NoThought, and click.ClickException for a file that can't be read."""
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


_STEP: Final = "seq, trace_id, at_ms, hop, act, origin, target, decided_by, reason, params, model"


@click.command("trace")
@click.argument("name", metavar="CONVERSATION")
@limit_option("of the newest steps", 50)
@lists(
    *(_STEP, at("at_ms", "WHEN"), "act", ("STATES", lambda row: f"{row['origin']} → {row['target']}")),
    "BY=decided_by model reason",
)
async def trace_command(here: Here, name: str, limit: int) -> Sequence[Row] | None:
    """Show the path of a conversation through the mental processes: when, why, and who decided.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. Times are UTC.
    Steps of one perception have the same trace_id; act is enter, stay, move, visit, return or refuse; decided_by is
    rule, model or schedule; model is the one that gave the reply.
    """
    where = await here.conversation(name)
    steps = await state_path(here.database, where, limit)
    if steps or here.as_json:
        return steps
    say(f"{where} has no steps yet.")
    return None
