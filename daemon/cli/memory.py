"""`soul memory search`, `facts`, `show`, `stats`, `verify` and `people`: memory as replies could use it."""

import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final

import click

from daemon.cli.listing import Here, TextTable, age, ago, facts, lists, say, shows, silent
from daemon.cli.options import limit_option
from daemon.cli.words import Hidden, plain
from daemon.core.config import Settings
from daemon.core.errors import StoreError
from daemon.core.lineage import model_id
from daemon.core.perception import ConversationKey
from daemon.core.ports.services import SystemClock
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.nights import check_memory
from daemon.memory.admin.remembered import facts_about, facts_for, readers_at, remembered_people, remembered_thing
from daemon.memory.database import Transaction
from daemon.memory.knowledge.ranking import Meaning
from daemon.memory.knowledge.user_models import ModelVersion, UserModel, list_models, model_history
from daemon.memory.records import Row
from daemon.memory.retrieval.statistics import Statistics, statistics
from daemon.memory.retrieval.surfacing import Surfacing
from daemon.memory.retrieval.vectors import Vectors

_SLOW_S: Final = 10.0  # a command waits for the embedder to be loaded
_reader = click.option("--as", "person", metavar="U…", required=True, help="The user whom the reply would be to.")
_place = click.option("--place", metavar="C…|D…|G…", required=True, help="The room that it would be written in.")


def meaning_of(settings: Settings, stack: AsyncExitStack) -> Meaning:
    """Return the search by meaning, closed with the stack. Vectors are scanned: only a daemon opens Chroma."""
    embedder = build_embedder(settings)
    if embedder is None:
        return Meaning(None, None)
    vectors = Vectors(settings.index_folder, embedder.id, silent)
    stack.push_async_callback(embedder.aclose)
    stack.push_async_callback(vectors.aclose)
    return Meaning(embedder, vectors, _SLOW_S)


_HITS: Final = TextTable(
    *("id kind audience", ago("when_ms", "SINCE"), ("SCORE", lambda row: f"{row['score']:.2f}"), "WORDS=text"),
    nothing="Nothing surfaces: a reply there would know nothing that bears on it.",
)


@click.command("search")
@click.argument("query")
@_reader
@_place
@click.option("--thread", metavar="TS", default="", help="The thread that it would be written in.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="The most memories.")
@shows(
    (
        "audiences, arms {text, vectors: exact|chroma|none}, took_ms, hits [{id, kind, audience, speaker, when_ms, "
        "text, score, evidence [{id, quote}]}]"
    ),
    lambda found: _HITS.print(found["hits"], SystemClock().now_ms()),
    words=True,
)
async def search_command(here: Here, *, query: str, person: str, place: str, thread: str, limit: int) -> Row:
    """Show what could surface to a reply to a user in a room.

    Texts and quotes are empty without --words, and those of direct messages and private rooms without --private.
    """
    if not query.strip():
        raise click.BadParameter("the query is empty", param_hint="QUERY")
    at = partial(readers_at, soul=here.settings.name, person=person, place=place)
    where, readers = await here.database.read(at)
    there = ConversationKey(where.soul, where.workspace, place, thread or where.thread)
    async with AsyncExitStack() as stack:
        began = time.perf_counter()
        surfacing = Surfacing(here.database, SystemClock(), meaning_of(here.settings, stack))
        found = await surfacing.find(there, readers, [query], limit, again=True)
        took_ms = (time.perf_counter() - began) * 1000
    return {
        "audiences": [str(one) for one in readers.may_know(where.workspace) or (readers.audience,)],
        "arms": {"text": True, "vectors": found.vectors},
        "took_ms": round(took_ms, 1),
        "hits": [
            {
                **{name: getattr(hit, name) for name in ("id", "kind", "audience", "when_ms")},
                "speaker": hit.person,
                "text": Hidden(hit.id, hit.text),
                "score": round(hit.score, 4),
                "evidence": [{"id": one.id, "quote": Hidden(one.id, one.quote)} for one in hit.evidence],
            }
            for hit in found.hits
        ],
    }


@click.command("facts")
@_reader
@_place
@lists(
    (
        "id, subject, predicate, object, text, group, trust, confidence, claimed_by, valid_from_ms, "
        "valid_until_ms, superseded_by, audience, evidence [{id, quote}]"
    ),
    *("id ABOUT=person group trust SURE=confidence audience", ago("valid_from_ms", "SINCE")),
    *(("PROOFS", lambda row: len(row["evidence"])), "ENDED=why_ended WORDS=text"),
    below=lambda row: [f"{row['id']} by {one['id']}: {one['quote']}" for one in row["evidence"] if one["quote"]],
    words=True,
)
async def facts_command(here: Here, person: str, place: str) -> list[Row]:
    """Show which facts a reply to a user in a room could know.

    Those that hold words (predicate, object, text, quote, and a subject that is no user) are empty without --words, and
    without --private for facts of direct messages and private rooms.
    """
    at = partial(readers_at, soul=here.settings.name, person=person, place=place)
    where, readers = await here.database.read(at)
    found = await here.database.read(partial(facts_for, where=where, readers=readers))
    return [
        {
            **plain(one.fact),
            **{name: Hidden(one.fact.id, getattr(one.fact, name)) for name in ("predicate", "object", "text")},
            "subject": one.fact.subject
            if one.fact.subject == one.fact.person
            else Hidden(one.fact.id, one.fact.subject),
            "group": one.fact.topic,
            "superseded_by": one.superseded_by,
            "evidence": [{"id": proof.target, "quote": Hidden(proof.target, proof.quote)} for proof in one.evidence],
        }
        for one in found
    ]


def _print_memory(row: Row) -> None:
    facts(row, without=("links",))
    for one in row["links"]:
        said = f": {one['quote']}" if one["quote"] else ""
        say(f"{one['origin']} {one['relation']} {one['target']}{said}")


@click.command("show")
@click.argument("name", metavar="ID")
@shows(
    (
        "id, kind, soul, workspace, audience, channel, person, trust, significance, at_ms, text, letters, "
        "links [{origin, relation, target, quote}]"
    ),
    _print_memory,
    words=True,
)
async def show_command(here: Here, name: str) -> Row:
    """Show one memory: who may hear it, how far it is trusted, what it is made from.

    Text and quotes are empty without --words, and those of direct messages and private rooms without --private; what
    the soul wrote into its journal is never shown.
    """
    found = await here.database.read(partial(remembered_thing, name=name))
    return {
        **plain(found),
        "letters": len(found["text"]),
        "text": Hidden(name, found["text"]),
        "links": [{**plain(one), "quote": Hidden(one.target, one.quote)} for one in found["links"]],
    }


INDEX: Final = "counts {kind: n}, embedder, vectors {wanted, have, queued}, index {kind, owner, generation, trouble}"
"""The keys of the state of the search by meaning."""


async def index_state(here: Here) -> Statistics:
    """Return the counts of memories and of their vectors."""
    embedder = build_embedder(here.settings)
    return await statistics(here.database, here.settings.index_folder, embedder.id if embedder is not None else "")


def index_row(found: Statistics) -> Row:
    return {
        "counts": dict(found.counts),
        "embedder": found.embedder,
        "vectors": {name: getattr(found, name) for name in ("wanted", "have", "queued")},
        "index": {name: getattr(found, name) for name in ("kind", "owner", "generation", "trouble")},
    }


def _print_index(row: Row) -> None:
    vectors, index = row["vectors"], row["index"]
    by_meaning = {
        "embedder": row["embedder"],
        "vectors": f"{vectors['have']} of {vectors['wanted']} memories; {vectors['queued']} changes wait",
        "index": f"{index['kind']}, generation {index['generation']}",
        "owner": f"process {index['owner']}" if index["owner"] is not None else "none is running",
        "waits": index["trouble"],
    }
    none = {"embedder": "none: memories are found by full text alone"}
    facts({**row["counts"], **(by_meaning if row["embedder"] else none)})


@click.command("stats")
@shows(INDEX, _print_index)
async def stats_command(here: Here) -> Row:
    """Show what is remembered and how far the search by meaning is."""
    return index_row(await index_state(here))


_SHOWN: Final = 20
_MEANINGS: Final = {
    "unquoted": "facts without the words that prove them",
    "links_broken": "ends of links that lead nowhere",
    "index_missing": "memories that a search can't find",
    "index_orphaned": "entries of a search without a memory",
    "altered": "memories or acts that are not as the ledger says",
}


def _print_check(row: Row) -> None:
    say(f"{row['facts']} facts.")
    for key, ids in row["findings"].items():
        if ids:
            more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
            say(f"{len(ids)} {_MEANINGS[key]}: {', '.join(ids[:_SHOWN])}{more}")
    if row["broken_at"] is not None:
        say(f"The ledger was altered: row {row['broken_at']} does not follow from the one before it.")
    if row["sound"]:
        say("Everything is proved, linked, found and as the ledger says.")


@click.command("verify")
@shows(
    f"facts, {', '.join(_MEANINGS)}, chain, broken_at, findings {{key: [id]}}",
    _print_check,
    fails=lambda row: not row["sound"],
)
async def verify_command(here: Here) -> Row:
    """Check what is remembered: its evidence, links, indexes, and the ledger. Exit code 1 on a finding.

    While a daemon is working, something that changes in between can show as a finding: check again.

    `chain`: the ledger is whole and everything is as it says; `broken_at` is its first row that does not fit.
    """
    embedder = build_embedder(here.settings)
    found = await check_memory(here.database, here.settings.index_folder, embedder.id if embedder is not None else "")
    return {
        **{name: getattr(found, name) for name in ("facts", "chain", "broken_at", "sound")},
        **{key: len(getattr(found, key)) for key in _MEANINGS},
        "findings": {key: getattr(found, key) for key in _MEANINGS},
    }


_MOST_MODELS: Final = 1_000  # user models of one user: one per audience


@click.group("people")
def people_command() -> None:
    """List, show or count what the soul knows about users, and how it changed.

    `list` leaves notes and whispers empty, and so do `show` and `history`, with `change`, without --words, and without
    --private for direct messages and private rooms.
    """


@people_command.command("list")
@limit_option("entries, last seen first")
@lists(
    *(UserModel, "person name audience", ago("seen_ms", "SEEN"), "visits MESSAGES=interactions NOTES=known soul"),
)
async def list_(here: Here, limit: int) -> list[Row]:
    """List the users whom the soul knows, once per audience."""
    found = await list_models(here.database, limit)
    return [{**plain(one), "known": len(one.notes), "notes": [], "whispers": ""} for one in found]


def _worded(one: UserModel | ModelVersion, person: str) -> Row:
    name = model_id(one.soul, "*", person, one.audience)
    return {**plain(one), "notes": Hidden(name, one.notes, []), "whispers": Hidden(name, one.whispers)}


def _print_models(found: Sequence[Row]) -> None:
    for number, one in enumerate(found):
        if number:
            say()
        facts(one, without=("notes", "whispers"))
        for line in [*(f"- {line}" for line in one["notes"]), *(f"~ {line}" for line in one["whispers"].splitlines())]:
            say(line)


@people_command.command("show")
@click.argument("person", metavar="PERSON")
@shows(UserModel, _print_models, words=True)
async def show(here: Here, person: str) -> list[Row]:
    """Show what the soul knows about one user, per audience. PERSON is a Slack id, U…"""
    found = await list_models(here.database, _MOST_MODELS, person=person)
    if not found:
        raise StoreError(f"the soul knows no user {person}", hint="see `soul memory people list`; give the id")
    return [_worded(one, person) for one in found]


def _print_versions(found: Sequence[Row]) -> None:
    now = SystemClock().now_ms()
    for one in found:
        say(f"{one['soul']}: {one['audience']} version {one['version']}, {age(now, one['made_ms'])} ago")
        for line in _change_lines(one["change"]) if one["shown"] else ():
            say(f"  {line}")


@people_command.command("history")
@click.argument("person", metavar="PERSON")
@limit_option("versions, newest first")
@shows(ModelVersion, _print_versions, words=True)
async def history(here: Here, person: str, limit: int) -> list[Row]:
    """Show how the notes about one user changed, version by version."""
    return [
        {**_worded(one, person), "change": Hidden(name, one.change, {}), "shown": Hidden(name, "yes")}
        for one in await model_history(here.database, person, limit)
        for name in [model_id(one.soul, "*", person, one.audience)]
    ]


def _change_lines(change: Mapping[str, Any]) -> list[str]:
    lines = [f"+ {line}" for line in _items(change.get("added"))]
    lines += [f"- {line}" for line in _items(change.get("retired"))]
    lines += [f"* {' -> '.join(map(str, _items(pair)))}" for pair in _items(change.get("corrected"))]
    if "scrubbed" in change:
        lines.append("(the messages behind it were deleted)")
    if "unlearned" in change:
        lines.append(f"({change['unlearned']} lines forgotten: the messages behind them were deleted)")
    return lines or ["(only the whispers)"]


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


@people_command.command("count")
@limit_option("users, the one who spoke last first")
@lists(
    "person, messages, facts, records, last_ms, lines [{id, text}]",
    *("person messages facts records", ago("last_ms", "LAST")),
    below=lambda row: [f"{row['person']} {one['id']}: {one['text']}" for one in row["lines"] if one["text"]],
    words=True,
)
async def count(here: Here, limit: int) -> list[Row]:
    """Show how much is remembered of each user; with --words also what is believed about them.

    `records` are those about them, of all kinds; `lines` the facts that hold. Texts are empty without --words, and
    those of direct messages and private rooms without --private.
    """

    async def unit(transaction: Transaction) -> list[Row]:
        people = await remembered_people(transaction, limit)
        known = await facts_about(transaction, [one["person"] for one in people])
        lines = [(one.person, {"id": one.id, "text": Hidden(one.id, one.text)}) for one in known]
        return [{**plain(one), "lines": [line for who, line in lines if who == one["person"]]} for one in people]

    return await here.database.read(unit)
