"""`soul memory search`, `facts`, `show`, `stats` and `verify`: memory as replies could use it, and its state."""

import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Final

import click

from daemon.cli.listing import (
    RowListing,
    WordsShown,
    WordsWanted,
    ago,
    facts,
    json_of,
    meaning_of,
    names_of,
    say,
    say_json,
    with_database,
    words_of,
    words_options,
)
from daemon.core.config import Settings, load_settings
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.ports.services import SystemClock
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.nights import MemoryFindings, check_memory
from daemon.memory.admin.remembered import FactWithEvidence, RememberedThing, facts_for, readers_at, remembered_thing
from daemon.memory.database import Database, Transaction
from daemon.memory.retrieval.rows import Hit
from daemon.memory.retrieval.statistics import Statistics, statistics
from daemon.memory.retrieval.surfacing import Surfaced, Surfacing

_KEYS: Final = (
    *("audiences", "arms {text, vectors: exact|chroma|none}", "took_ms"),
    "hits [{id, kind, audience, speaker, when_ms, text, score, evidence [{id, quote}]}]",
)

_HITS: Final = RowListing[Hit](
    *(_KEYS, "id", "kind", "audience", ago("when_ms", "SINCE"), ("SCORE", lambda one, _: f"{one.score:.2f}")),
    nothing="Nothing surfaces: a reply there would know nothing that bears on it.",
)


@dataclass(frozen=True, slots=True)
class _Asked:
    query: str
    person: str
    place: str
    thread: str
    limit: int
    wanted: WordsWanted


@dataclass(frozen=True, slots=True)
class _Answer:
    audiences: tuple[Audience, ...]
    found: Surfaced
    shown: WordsShown
    took_ms: float


@click.command("search")
@click.argument("query")
@click.option("--as", "person", metavar="U…", required=True, help="The user whom the reply would be to.")
@click.option("--place", metavar="C…|D…|G…", required=True, help="The room that it would be written in.")
@click.option("--thread", metavar="TS", default="", help="The thread that it would be written in.")
@click.option("--limit", type=click.IntRange(1, 100), default=10, show_default=True, help="The most memories.")
@words_options
@_HITS.option
def search_command(*, as_json: bool, **given: Any) -> None:  # noqa: ANN401  # click gives the options by name
    """Show what could surface to a reply to a user in a room.

    Texts and quotes are empty without --words, and those of direct messages and private rooms without --private.
    """
    settings = load_settings()
    asked = _Asked(**given)
    if not asked.query.strip():
        raise click.BadParameter("the query is empty", param_hint="QUERY")
    answer = with_database(settings, partial(_search, settings, asked))
    hits = [_as_plain(one, answer.shown) for one in answer.found.hits]
    if as_json:
        say_json(
            {
                "audiences": [str(one) for one in answer.audiences],
                "arms": {"text": True, "vectors": answer.found.vectors},
                "took_ms": round(answer.took_ms, 1),
                "hits": hits,
            }
        )
        return
    _HITS.show(answer.found.hits, as_json=False, more=[("WORDS", lambda one, _: answer.shown.of(one.id, one.text))])
    answer.shown.say_what_is_missing()


async def _search(settings: Settings, asked: _Asked, database: Database) -> _Answer:
    clock = SystemClock()

    async def unit(transaction: Transaction) -> tuple[ConversationKey, Readers]:
        return await readers_at(transaction, settings.name, asked.person, asked.place)

    async with AsyncExitStack() as stack:
        where, readers = await database.read(unit)
        here = ConversationKey(where.soul, where.workspace, asked.place, asked.thread or where.thread)
        began = time.perf_counter()
        surfacing = Surfacing(database, clock, meaning_of(settings, stack))
        found = await surfacing.find(here, readers, [asked.query], asked.limit, again=True)
        took_ms = (time.perf_counter() - began) * 1000
        ids = [name for hit in found.hits for name in (hit.id, *(one.id for one in hit.evidence if one.quote))]
        shown = await words_of(database, asked.wanted, "memory search", ids)
        return _Answer(readers.may_know(where.workspace) or (readers.audience,), found, shown, took_ms)


def _as_plain(hit: Hit, shown: WordsShown) -> dict[str, object]:
    return {
        "id": hit.id,
        "kind": hit.kind,
        "audience": hit.audience,
        "speaker": hit.person,
        "when_ms": hit.when_ms,
        "text": shown.of(hit.id, hit.text),
        "score": round(hit.score, 4),
        "evidence": [{"id": one.id, "quote": shown.of(one.id, one.quote)} for one in hit.evidence],
    }


_FACTS_KEYS: Final = (
    *("id", "subject", "predicate", "object", "text", "group", "trust", "confidence", "claimed_by"),
    *("valid_from_ms", "valid_until_ms", "superseded_by", "audience", "evidence [{id, quote}]"),
)

_FACTS: Final = RowListing[FactWithEvidence](
    *(_FACTS_KEYS, ("ID", "fact.id"), ("ABOUT", "fact.person"), ("GROUP", "fact.topic"), ("TRUST", "fact.trust")),
    *(("SURE", "fact.confidence"), ("AUDIENCE", "fact.audience"), ago("fact.valid_from_ms", "SINCE")),
    *(("PROOFS", lambda one, _: len(one.evidence)), ("ENDED", "fact.why_ended")),
)


@click.command("facts")
@click.option("--as", "person", metavar="U…", required=True, help="The user whom the reply would be to.")
@click.option("--place", metavar="C…|D…|G…", required=True, help="The room that it would be written in.")
@words_options
@_FACTS.option
def facts_command(person: str, place: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show which facts a reply to a user in a room could know.

    Those that hold words (predicate, object, text, quote, and a subject that is no user) are empty without --words, and
    without --private for facts of direct messages and private rooms.
    """
    settings = load_settings()

    async def unit(transaction: Transaction) -> tuple[FactWithEvidence, ...]:
        return await facts_for(transaction, *await readers_at(transaction, settings.name, person, place))

    async def read(database: Database) -> tuple[tuple[FactWithEvidence, ...], WordsShown]:
        found = await database.read(unit)
        ids = [
            name for one in found for name in (one.fact.id, *(proof.target for proof in one.evidence if proof.quote))
        ]
        return found, await words_of(database, wanted, "memory facts", ids)

    found, shown = with_database(settings, read)
    words = ("WORDS", lambda one, _: shown.of(one.fact.id, one.fact.text))
    if not _FACTS.show(found, as_json=as_json, plain=lambda one: _facts_as_plain(one, shown), more=[words]):
        return
    for one in found:
        for proof in one.evidence:
            if quote := shown.of(proof.target, proof.quote):
                say(f"{one.fact.id} by {proof.target}: {quote}")
    shown.say_what_is_missing()


def _facts_as_plain(one: FactWithEvidence, shown: WordsShown) -> dict[str, object]:
    fact = one.fact
    return {
        "id": fact.id,
        "subject": fact.subject if fact.subject == fact.person else shown.of(fact.id, fact.subject),
        "predicate": shown.of(fact.id, fact.predicate),
        "object": shown.of(fact.id, fact.object),
        "text": shown.of(fact.id, fact.text),
        "group": fact.topic,
        "trust": fact.trust,
        "confidence": fact.confidence,
        "claimed_by": fact.claimed_by,
        "valid_from_ms": fact.valid_from_ms,
        "valid_until_ms": fact.valid_until_ms,
        "superseded_by": one.superseded_by,
        "audience": str(fact.audience),
        "evidence": [{"id": proof.target, "quote": shown.of(proof.target, proof.quote)} for proof in one.evidence],
    }


@click.command("show")
@click.argument("name", metavar="ID")
@words_options
@json_of((*names_of(RememberedThing, ("links",)), "letters", "links [{origin, relation, target, quote}]"))
def show_command(name: str, wanted: WordsWanted, as_json: bool) -> None:
    """Show one memory: who may hear it, how far it is trusted, what it is made from.

    Text and quotes are empty without --words, and those of direct messages and private rooms without --private; what
    the soul wrote into its journal is never shown.
    """

    async def read(database: Database) -> tuple[RememberedThing, WordsShown]:
        found = await database.read(lambda transaction: remembered_thing(transaction, name))
        quoted = [one.target for one in found.links if one.quote]
        return found, await words_of(database, wanted, "memory show", [*([name] if found.text else ()), *quoted])

    found, shown = with_database(load_settings(), read)
    text = shown.of(name, found.text)
    links = [{**asdict(one), "quote": shown.of(one.target, one.quote)} for one in found.links]
    plain = {**asdict(found), "letters": len(found.text), "text": text, "links": links}
    if as_json:
        say_json(plain)
        return
    facts({key: value for key, value in plain.items() if key != "links"})
    for one in links:
        said = f": {one['quote']}" if one["quote"] else ""
        say(f"{one['origin']} {one['relation']} {one['target']}{said}")
    shown.say_what_is_missing()


KEYS: Final = (
    *("counts {kind: n}", "embedder", "vectors {wanted, have, queued}", "index {kind, owner, generation, trouble}"),
)


@click.command("stats")
@json_of(KEYS)
def stats_command(as_json: bool) -> None:
    """Show what is remembered and how far the search by meaning is."""
    settings = load_settings()
    embedder = build_embedder(settings)
    name = embedder.id if embedder is not None else ""
    found = with_database(settings, lambda database: statistics(database, settings.index_folder, name))
    if as_json:
        say_json(as_plain(found))
        return
    facts(
        {
            **found.counts,
            **(_vectors(found) if found.embedder else {"embedder": "none: memories are found by full text alone"}),
        }
    )


def _vectors(found: Statistics) -> dict[str, object]:
    return {
        "embedder": found.embedder,
        "vectors": f"{found.have} of {found.wanted} memories; {found.queued} changes wait",
        "index": f"{found.kind}, generation {found.generation}",
        "owner": f"process {found.owner}" if found.owner is not None else "none is running",
        "waits": found.trouble,
    }


def as_plain(found: Statistics) -> dict[str, object]:
    return {
        "counts": dict(found.counts),
        "embedder": found.embedder,
        "vectors": {"wanted": found.wanted, "have": found.have, "queued": found.queued},
        "index": {
            "kind": found.kind,
            "owner": found.owner,
            "generation": found.generation,
            "trouble": found.trouble,
        },
    }


_SHOWN: Final = 20
_MEANINGS: Final = {
    "unquoted": "facts without the words that prove them",
    "links_broken": "ends of links that lead nowhere",
    "index_missing": "memories that a search can't find",
    "index_orphaned": "entries of a search without a memory",
    "altered": "memories or acts that are not as the ledger says",
}


@click.command("verify")
@json_of(("facts", *_MEANINGS, "chain", "broken_at", "findings {key: [id]}"))
def verify_command(as_json: bool) -> None:
    """Check what is remembered: its evidence, links, indexes, and the ledger. Exit code 1 on a finding.

    While a daemon is working, something that changes meanwhile can show as a finding: check again.

    `chain`: the ledger is whole and everything is as it says; `broken_at` is its first row that does not fit.
    """
    settings = load_settings()
    embedder = build_embedder(settings)
    name = embedder.id if embedder is not None else ""
    found = with_database(settings, lambda database: check_memory(database, settings.index_folder, name))
    if as_json:
        say_json(_verify_as_plain(found))
    else:
        say(f"{found.facts} facts.")
        for key, meaning in _MEANINGS.items():
            if ids := getattr(found, key):
                more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
                say(f"{len(ids)} {meaning}: {', '.join(ids[:_SHOWN])}{more}")
        if found.broken_at is not None:
            say(f"The ledger was altered: row {found.broken_at} does not follow from the one before it.")
        if found.sound:
            say("Everything is proved, linked, found and as the ledger says.")
    if not found.sound:
        raise click.exceptions.Exit(1)


def _verify_as_plain(found: MemoryFindings) -> dict[str, object]:
    return {
        "facts": found.facts,
        **{key: len(getattr(found, key)) for key in _MEANINGS},
        "chain": found.chain,
        "broken_at": found.broken_at,
        "findings": {key: getattr(found, key) for key in _MEANINGS},
    }
