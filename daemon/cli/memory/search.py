"""`soul memory search`: what could surface to a reply, by the code that a cycle uses."""

import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import RowListing, ago
from daemon.cli.meaning import meaning_of
from daemon.cli.output import say_json
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.clock import SystemClock
from daemon.core.config import Settings, load_settings
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.memory.admin.remembered import readers_at
from daemon.memory.database import Database, Transaction
from daemon.memory.retrieval.rows import Hit
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
