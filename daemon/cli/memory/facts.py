"""`soul memory facts`: which facts a reply could know."""

from typing import Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import RowListing, ago
from daemon.cli.output import say
from daemon.cli.words import WordsShown, WordsWanted, words_of, words_options
from daemon.core.config import load_settings
from daemon.memory.admin.remembered import FactWithEvidence, facts_for, readers_at
from daemon.memory.database import Database, Transaction

_KEYS: Final = (
    *("id", "subject", "predicate", "object", "text", "group", "trust", "confidence", "claimed_by"),
    *("valid_from_ms", "valid_until_ms", "superseded_by", "audience", "evidence [{id, quote}]"),
)

_FACTS: Final = RowListing[FactWithEvidence](
    *(_KEYS, ("ID", "fact.id"), ("ABOUT", "fact.person"), ("GROUP", "fact.topic"), ("TRUST", "fact.trust")),
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
    if not _FACTS.show(found, as_json=as_json, plain=lambda one: _as_plain(one, shown), more=[words]):
        return
    for one in found:
        for proof in one.evidence:
            if quote := shown.of(proof.target, proof.quote):
                say(f"{one.fact.id} by {proof.target}: {quote}")
    shown.say_what_is_missing()


def _as_plain(one: FactWithEvidence, shown: WordsShown) -> dict[str, object]:
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
