"""Moves what was said in sessions of Claude Code to the speaker `session`, and takes from facts what it proved.

Each change has its line in the ledger; what had been altered unseen before is left to be found.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import Connection, RowMapping, text

from daemon.core.ports.services import SystemClock

_WHY: Final = "said in a session"
_TURN: Final = (
    "seq",
    "conversation",
    "speaker",
    "author",
    "name",
    "ts",
    "body",
    "kind",
    "model",
    "audience",
    "said_ms",
    "emotion_signal",
    "salience_anchor",
    "intent",
    "intent_confidence",
    "epistemic_mode",
    "confidence",
)
_FACT: Final = (
    "id",
    "soul",
    "workspace",
    "audience",
    "channel",
    "conversation",
    "text",
    "at_ms",
    "trust",
    "significance",
    "person",
    "extra",
    "subject",
    "predicate",
    "object",
    "topic",
    "confidence",
    "claimed_by",
    "valid_from_ms",
    "valid_until_ms",
    "why_ended",
)
_AT_ONCE: Final = 1_000
_SAID: Final = """
    SELECT t.*, l.salt, l.digest FROM turns t LEFT JOIN ledger l ON l.seq =
      (SELECT max(seq) FROM ledger WHERE object = 'TU_' || t.seq)
    WHERE t.seq > :last AND t.speaker = 'person' AND t.author GLOB 'session.*' ORDER BY t.seq LIMIT :most
    """
_OF_SESSIONS: Final = """
    relation = 'evidence' AND EXISTS (SELECT 1 FROM turns t WHERE t.speaker = 'session'
      AND t.seq = CAST(substr(links.target, 4) AS INTEGER) AND links.target = 'TU_' || t.seq)
    """
_UNPROVED: Final = """
    SELECT r.*, f.subject, f.predicate, f.object, f.topic, f.confidence, f.claimed_by, f.valid_from_ms,
      f.valid_until_ms, f.why_ended, l.salt, l.digest FROM records r JOIN facts f ON f.id = r.id
    LEFT JOIN ledger l ON l.seq = (SELECT max(seq) FROM ledger WHERE object = r.id)
    WHERE r.trust IN ('own', 'claim') AND r.id IN (SELECT value FROM json_each(:ids))
      AND NOT EXISTS (SELECT 1 FROM links p WHERE p.origin = r.id AND p.relation = 'evidence' AND p.quote <> '')
    """


def move_words_of_sessions(connection: Connection) -> None:
    """Do it, in the transaction of the migration."""
    ledger, last = _Ledger(connection), 0
    while rows := connection.execute(text(_SAID), {"last": last, "most": _AT_ONCE}).mappings().all():
        for row in rows:
            connection.execute(text("UPDATE turns SET speaker = 'session' WHERE seq = :seq"), {"seq": row["seq"]})
            ledger.follow("change turn", f"TU_{row['seq']}", row, _TURN, {"speaker": "session"})
        last = rows[-1]["seq"]
    _prove_nothing(connection, ledger)


def _prove_nothing(connection: Connection, ledger: "_Ledger") -> None:
    """What such words were evidence for is made from them and no more; a fact of a person is the soul's own thought."""
    query = text(f"SELECT json_group_array(DISTINCT origin) FROM links WHERE {_OF_SESSIONS}")  # noqa: S608 - a constant
    made = connection.execute(query).scalar_one()
    connection.execute(
        text(f"""
            INSERT OR IGNORE INTO links (origin, relation, target, linked_ms)
            SELECT origin, 'sources', target, linked_ms FROM links WHERE {_OF_SESSIONS}
        """)  # noqa: S608 - a constant
    )
    connection.execute(text(f"DELETE FROM links WHERE {_OF_SESSIONS}"))  # noqa: S608 - a constant
    for row in connection.execute(text(_UNPROVED), {"ids": made}).mappings().all():
        known = {"id": row["id"], "soul": row["soul"]}
        connection.execute(text("UPDATE records SET trust = 'inferred', person = '' WHERE id = :id"), known)
        connection.execute(
            text("""
                UPDATE facts SET subject = :soul, predicate = 'noted', confidence = 0.5, claimed_by = '' WHERE id = :id
            """),
            known,
        )
        changed = {"trust": "inferred", "person": "", "subject": row["soul"], "predicate": "noted"}
        changed |= {"confidence": 0.5, "claimed_by": ""}
        ledger.follow("change fact", row["id"], row, _FACT, changed)


class _Ledger:
    """The end of the ledger's chain, and lines that are added to it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        found = connection.execute(text("SELECT chain FROM ledger ORDER BY seq DESC LIMIT 1")).scalar()
        self._chain = "" if found is None else str(found)
        self._now = SystemClock().now_ms()

    def follow(
        self, act: str, name: str, row: RowMapping, columns: Sequence[str], changed: Mapping[str, object]
    ) -> None:
        """Note a change of a row, unless it was not as its newest line says before."""
        was = {column: row[column] for column in columns}
        if not row["salt"] or _digest(str(row["salt"]), was) != row["digest"]:
            return
        salt = secrets.token_hex(16)
        digest = _digest(salt, {**was, **changed})
        line = {"act": act, "object": name, "reason": _WHY, "digest": digest, "at_ms": self._now}
        self._chain = _digest(self._chain, line)
        self._connection.execute(
            text("""
                INSERT INTO ledger (act, object, reason, salt, digest, chain, at_ms)
                VALUES (:act, :object, :reason, :salt, :digest, :chain, :at_ms)
            """),
            {**line, "salt": salt, "chain": self._chain},
        )


def _digest(before: str, content: object) -> str:
    """As the ledger makes it of a salt and what is said, and of the chain before a line and the line."""
    said = json.dumps(content, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(f"{before}\x1f{said}".encode()).hexdigest()
