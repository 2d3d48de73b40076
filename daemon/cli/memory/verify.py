"""`soul memory verify`: whether what is remembered is proved, linked, found and unaltered."""

from typing import Final

import click

from daemon.cli.database_access import with_database
from daemon.cli.listing import json_of
from daemon.cli.output import say, say_json
from daemon.core.config import load_settings
from daemon.llm.embedder import build_embedder
from daemon.memory.admin.memory_check import MemoryFindings, check_memory

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
        say_json(_as_plain(found))
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


def _as_plain(found: MemoryFindings) -> dict[str, object]:
    return {
        "facts": found.facts,
        **{key: len(getattr(found, key)) for key in _MEANINGS},
        "chain": found.chain,
        "broken_at": found.broken_at,
        "findings": {key: getattr(found, key) for key in _MEANINGS},
    }
