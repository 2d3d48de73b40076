"""`soul memory search`, `facts`, `show`, `stats` and `verify`: memory as replies could use it, and its state."""

import time
from contextlib import AsyncExitStack
from functools import partial
from typing import Final

import click

from daemon.cli.listing import Here, Hidden, Row, Table, ago, facts, lists, names_of, plain, say, shows, silent
from daemon.core.config import Settings
from daemon.core.perception import ConversationKey
from daemon.core.ports.services import SystemClock
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.nights import check_memory
from daemon.memory.admin.remembered import RememberedThing, facts_for, readers_at, remembered_thing
from daemon.memory.knowledge.ranking import Meaning
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


_HITS: Final = Table(
    (
        *("id", "kind", "audience", ago("when_ms", "SINCE"), ("SCORE", lambda row: f"{row['score']:.2f}")),
        ("WORDS", "text"),
    ),
    "Nothing surfaces: a reply there would know nothing that bears on it.",
)


@click.command("search")
@click.argument("query")
@_reader
@_place
@click.option("--thread", metavar="TS", default="", help="The thread that it would be written in.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="The most memories.")
@shows(
    (
        *("audiences", "arms {text, vectors: exact|chroma|none}", "took_ms"),
        "hits [{id, kind, audience, speaker, when_ms, text, score, evidence [{id, quote}]}]",
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
        *("id", "subject", "predicate", "object", "text", "group", "trust", "confidence", "claimed_by"),
        *("valid_from_ms", "valid_until_ms", "superseded_by", "audience", "evidence [{id, quote}]"),
    ),
    *("id", ("ABOUT", "person"), "group", "trust", ("SURE", "confidence"), "audience", ago("valid_from_ms", "SINCE")),
    *(("PROOFS", lambda row: len(row["evidence"])), ("ENDED", "why_ended"), ("WORDS", "text")),
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
    (*names_of(RememberedThing, ("links",)), "letters", "links [{origin, relation, target, quote}]"),
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
        "letters": len(found.text),
        "text": Hidden(name, found.text),
        "links": [{**plain(one), "quote": Hidden(one.target, one.quote)} for one in found.links],
    }


INDEX: Final = (
    *("counts {kind: n}", "embedder", "vectors {wanted, have, queued}", "index {kind, owner, generation, trouble}"),
)
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
    ("facts", *_MEANINGS, "chain", "broken_at", "findings {key: [id]}"),
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
