"""Indexes turns that a test stored by plain SQL, as the daemon does when it stores them."""

from functools import lru_cache

from daemon.core.perception import ConversationKey
from daemon.core.words import words_of
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.reader_codes import codes_of_turn, entries


def index_turns(connection: sqlite3.Connection) -> None:
    """Index the turns that aren't yet; the caller commits."""
    found = connection.execute(
        "SELECT seq, conversation, audience, body FROM turns WHERE seq NOT IN (SELECT seq FROM turn_words)"
    ).fetchall()
    kept = [
        (seq, " ".join(codes_of_turn(ConversationKey.parse(where), audience)), _words(body[:4_000]))
        for seq, where, audience, body in found
    ]
    connection.executemany("INSERT INTO turn_words (seq, readers, words) VALUES (?, ?, ?)", kept)
    connection.executemany(
        "INSERT INTO turn_index (rowid, entries) VALUES (?, ?)",
        ((seq, entries(readers, words)) for seq, readers, words in kept),
    )


@lru_cache(maxsize=1_000)
def _words(body: str) -> str:
    return " ".join(dict.fromkeys(words_of(body)))
