"""`soul mind thoughts`, `schema`, `check` and `trace`: the stream of thought."""

import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Final

import click

from daemon.cli.listing import (
    RowListing,
    WordsShown,
    WordsWanted,
    at,
    facts,
    json_of,
    say,
    say_json,
    with_agenda,
    with_database,
    words_of,
    words_options,
)
from daemon.cli.options import limit_option
from daemon.core.config import Settings, load_settings
from daemon.core.errors import StoreError
from daemon.core.ports.services import Clock, SystemClock
from daemon.memory.admin.schedule_admin import find_conversation
from daemon.memory.database import Database
from daemon.memory.knowledge.soul_states import TracedStep, state_path
from daemon.memory.records import object_or_nothing
from daemon.memory.stream.reading import ListedThought, list_thoughts, thought_named
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
_THOUGHTS: Final = RowListing[ListedThought](
    *(ListedThought, at("at_ms", "WHEN"), "id", "occasion", "process", "conversation"),
    *(("SPOKE", lambda one, _: "yes" if one.spoke else "no"), ("DID", lambda one, _: _did(one))),
    ("REFUSED", lambda one, _: len(one.refused)),
    without=("seq",),
    nothing='There are no thoughts yet. A soul has them whose soul.toml says `mind = "cycle"`.',
)


@click.group("thoughts", invoke_without_command=True)
@click.option("--conversation", default="", metavar="C", help="Only of this one: its id, or any unique part of it.")
@click.option(
    "--soul", "soul", default="", help="Of which soul; default: the conversation's, else the one of SOUL_NAME."
)
@limit_option("of the newest thoughts, oldest first")
@words_options
@click.option("-f", "--follow", is_flag=True, help="Go on with new thoughts until Ctrl-C.")
@_THOUGHTS.option
@click.pass_context
def thoughts_command(
    context: click.Context,
    *,
    conversation: str,
    soul: str,
    limit: int,
    wanted: WordsWanted,
    follow: bool,
    as_json: bool,
) -> None:
    """Show the stream of thought of a soul whose mind is `cycle`: what it thought when, why, and what came of it.

    Times are UTC. With --follow, JSON is one object a line.

    `input` and `output` are empty without --words, those that not the whole workspace may know without --private, and
    those that were erased.
    """
    if context.invoked_subcommand is not None:
        return
    settings = load_settings()

    async def look(database: Database) -> None:
        which = await soul_and_conversation(settings, database, soul, conversation)
        if follow:
            async for one in followed(database, SystemClock(), *which, limit):
                _say_each((one,), await words_of(database, wanted, "mind thoughts", [one.id]), as_json=as_json)
            return
        found = await list_thoughts(database, *which, limit)
        shown = await words_of(database, wanted, "mind thoughts", [one.id for one in found])
        if _THOUGHTS.show(found, as_json=as_json, plain=lambda one: plain(one, shown)):
            for one in found:
                if one.id in shown.ids:
                    say(f"\n{one.id}")
                    _say_words(one, shown)
            shown.say_what_is_missing()

    with suppress(KeyboardInterrupt):
        with_database(settings, look)


@thoughts_command.command("show")
@click.argument("name", metavar="ID")
@words_options
@json_of(ListedThought, ("seq",))
def show(name: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show one thought: what it was given and what it held."""

    async def read(database: Database) -> tuple[ListedThought, WordsShown]:
        return await thought_named(database, name), await words_of(database, wanted, "mind thoughts show", [name])

    found, shown = with_database(load_settings(), read)
    values = plain(found, shown)
    if as_json:
        say_json(values)
        return
    did = ", ".join(f"{field}: {number}" for field, number in found.did.items())
    refused = ", ".join(f"{one['field']}: {one['reason']}" for one in found.refused)
    words = ("input", "output")
    facts({key: value for key, value in values.items() if key not in words} | {"did": did, "refused": refused})
    for key in words:
        if values[key]:
            say(f"\n{key}\n{json.dumps(values[key], ensure_ascii=False, indent=2)}")
    shown.say_what_is_missing()


async def followed(
    database: Database, clock: Clock, soul: str, conversation: str, limit: int
) -> AsyncIterator[ListedThought]:
    """Yield the newest thoughts, oldest first, and then each new one, until cancelled. Raises StoreError."""
    last = 0
    found = await list_thoughts(database, soul, conversation, limit)
    while True:
        for one in found:
            yield one
            last = one.seq
        await clock.sleep(_LOOKED_FOR_S)
        found = await list_thoughts(database, soul, conversation, _MOST_AT_ONCE, after=last)


def plain(thought: ListedThought, shown: WordsShown) -> dict[str, object]:
    """Return a thought as JSON values, with words only if they may be shown."""
    values = asdict(thought)
    values.pop("seq")
    for key in ("input", "output"):
        text = shown.of(thought.id, str(values.pop(key)))
        values[key] = object_or_nothing(text) if text else ""
    return values


def _say_each(found: Sequence[ListedThought], shown: WordsShown, *, as_json: bool) -> None:
    for one in found:
        if as_json:
            click.echo(json.dumps(plain(one, shown)))
        else:
            say("  ".join(_THOUGHTS.cells(one, SystemClock().now_ms())))
            _say_words(one, shown)


def _did(one: ListedThought) -> int:
    return sum(number for number in one.did.values() if isinstance(number, int))


def _say_words(one: ListedThought, shown: WordsShown) -> None:
    text = shown.of(one.id, one.output)
    output = object_or_nothing(text)
    for name, key in (("thought", "inner_speech"), ("said", "external_speech")):
        if output.get(key):
            say(f"    {name}: {output[key]}")


async def soul_and_conversation(
    settings: Settings, database: Database, soul: str, conversation: str
) -> tuple[str, str]:
    """Return the soul and the conversation id of two options; the id is empty without a conversation.

    Without a soul it is the conversation's, else that of SOUL_NAME. Raises StoreError.
    """
    await require_soul(settings, database, soul)
    if not conversation:
        return soul or settings.name, ""
    where = await database.read(lambda transaction: find_conversation(transaction, conversation))
    return soul or where.soul, str(where)


async def require_soul(settings: Settings, database: Database, name: str) -> None:
    """Raise StoreError for a soul that is neither hosted here nor ever thought."""
    known = {settings.name, *settings.souls}
    if not name or name in known or await list_thoughts(database, name, "", 1):
        return
    raise StoreError(f"no soul {name[:40]!r} is known here", hint=f"hosted are: {', '.join(sorted(known))}")


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


_STEPS: Final = RowListing[TracedStep](
    TracedStep,
    at("at_ms", "WHEN"),
    "act",
    ("STATES", lambda one, _: f"{one.origin} → {one.target}"),
    ("BY", "decided_by"),
    "model",
    "reason",
)


@click.command("trace")
@click.argument("name", metavar="CONVERSATION")
@limit_option("of the newest steps", 50)
@_STEPS.option
def trace_command(name: str, limit: int, as_json: bool) -> None:
    """Show the path of a conversation through the mental processes: when, why, and who decided.

    CONVERSATION is an id, soul/workspace/channel/thread, or any part of it that is unique. Times are UTC.
    Steps of one perception have the same trace_id; act is enter, stay, move, visit, return or refuse; decided_by is
    rule, model or schedule; model is the one that gave the reply.
    """

    conversation = with_agenda(lambda agenda: agenda.conversation(name))
    steps = with_database(load_settings(), lambda database: state_path(database, conversation, limit))
    if not steps and not as_json:
        say(f"{conversation} has no steps yet.")
    else:
        _STEPS.show(steps, as_json=as_json)
