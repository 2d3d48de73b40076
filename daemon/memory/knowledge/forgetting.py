"""Forgets what the soul derived from an edited or deleted message: notes, guesses, thoughts, topic, task and more."""

import json
from collections.abc import Mapping, Sequence

from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.knowledge.turns import THOUGHT_TURNS
from daemon.memory.knowledge.user_models import MODEL_KEY, store_version
from daemon.memory.records import as_json


async def forget_derived(transaction: Transaction, conversation: str, person: str, seq: int, now: int) -> None:
    """Delete everything that may derive from turn `seq`, which `person` edited or deleted just now.

    These are lines of notes, in the history too, and the guesses stored with them; the soul's topic and task in the
    conversation, its question in that room and its thoughts since; and the memory of its mental process, which may
    quote the message. A revision under way is refused. The soul may learn the same again from the turns that are left.
    """
    rows = await transaction.rows(
        """
        UPDATE user_models SET version = version + 1, updated_ms = :now
        WHERE person = :person AND (soul, workspace) IN (SELECT soul, workspace FROM conversations WHERE id = :id)
        RETURNING *
        """,
        id=conversation,
        person=person,
        now=now,
    )
    for row in rows:
        await _forget_lines(transaction, row, conversation, seq, now)
    await transaction.run(
        "UPDATE conversations SET process_memory = '{}' WHERE id = :id AND process_memory <> '{}'", id=conversation
    )
    await transaction.run(
        """
        INSERT INTO soul_state (soul, workspace, audience, version, emotional_state, felt_ms, updated_ms)
        SELECT soul, workspace, audience, 1, '', 0, :now FROM conversations c WHERE id = :id
          AND (EXISTS (SELECT 1 FROM soul_state s WHERE s.soul = c.soul AND s.workspace = c.workspace
                         AND s.audience = c.audience)
            OR EXISTS (SELECT 1 FROM jobs j WHERE j.conversation = c.id
                         AND j.state IN ('ready', 'running') AND j.state = 'running'))
        ON CONFLICT (soul, workspace, audience) DO UPDATE SET version = soul_state.version + 1,
          updated_ms = excluded.updated_ms
        """,
        id=conversation,
        now=now,
    )
    await _forget_inner_life(transaction, conversation, seq, now)


async def _forget_inner_life(transaction: Transaction, conversation: str, seq: int, now: int) -> None:
    """Delete topic and task, the question of the room, and what the soul thought since that turn."""
    await transaction.run(
        """
        UPDATE conversation_topics SET version = version + 1, topic = '', task = '', updated_ms = :now
        WHERE conversation = :id
        """,
        id=conversation,
        now=now,
    )
    await transaction.run(
        """
        DELETE FROM standing_questions WHERE (soul, workspace, channel) IN (
          SELECT soul, workspace, channel FROM conversations WHERE id = :id)
        """,
        id=conversation,
    )
    await transaction.run(
        """
        UPDATE turns SET thought = json_remove(thought, '$.monologue')
        WHERE seq IN (SELECT seq FROM turns WHERE conversation = :id AND seq > :seq ORDER BY seq DESC LIMIT :newest)
          AND speaker = 'soul' AND thought <> '{}'
        """,
        id=conversation,
        seq=seq,
        newest=THOUGHT_TURNS,
    )


async def _forget_lines(transaction: Transaction, row: sqlite3.Row, conversation: str, seq: int, now: int) -> None:
    key = {name: row[name] for name in ("soul", "workspace", "person", "audience")}
    former = await transaction.rows(
        f"SELECT version, notes, change FROM user_model_history WHERE {MODEL_KEY} ORDER BY version",  # noqa: S608 - constant
        **key,
    )
    changes = [json.loads(version["change"]) for version in former]
    tainted = [_derives_from(change, conversation, seq) for change in changes]
    if not any(tainted):
        return
    gone = _derived_lines([json.loads(version["notes"]) for version in former], changes, tainted)
    since = tainted.index(True)
    for version, change in zip(former[since:], changes[since:], strict=True):
        await _scrub_version(transaction, key, version, change, gone)
    notes = [line for line in json.loads(row["notes"]) if line not in gone]
    first = min(int(change["first"]) for change, bad in zip(changes, tainted, strict=True) if bad)
    await transaction.run(
        f"""
        UPDATE user_models SET notes = :notes, whispers = '', modelled_to = min(modelled_to, :before) WHERE {MODEL_KEY}
        """,  # noqa: S608 - the key is a constant
        notes=as_json(notes),
        before=first - 1,
        **key,
    )
    change = {"unlearned": len(gone)}
    await store_version(
        transaction, key, version=row["version"], notes=notes, whispers="", change=change, trace_id="", now=now
    )


def _derives_from(change: Mapping[str, object], conversation: str, seq: int) -> bool:
    if change.get("conversation") != conversation:
        return False
    first, last = change["first"], change["last"]
    assert isinstance(first, int)
    assert isinstance(last, int)
    return first <= seq <= last


def _derived_lines(
    notes: Sequence[Sequence[str]], changes: Sequence[Mapping[str, object]], tainted: Sequence[bool]
) -> set[str]:
    """The lines that tainted versions added, and the lines that later corrections replaced them with."""
    gone, before = set[str](), set[str]()
    for lines, change, bad in zip(notes, changes, tainted, strict=True):
        if bad:
            gone |= set(lines) - before
        else:
            corrected = change.get("corrected", ())
            assert isinstance(corrected, Sequence)
            gone |= {new for old, new in corrected if old in gone}
        before = set(lines)
    return gone


async def _scrub_version(
    transaction: Transaction, key: Mapping[str, str], version: sqlite3.Row, change: Mapping[str, object], gone: set[str]
) -> None:
    """Delete lines from a version in the history; its change keeps only the range of turns that it was made from."""
    place = {name: change[name] for name in ("conversation", "first", "last") if name in change}
    await transaction.run(
        f"""
        UPDATE user_model_history SET notes = :notes, whispers = '', change = :change
        WHERE {MODEL_KEY} AND version = :version
        """,  # noqa: S608 - the key is a constant
        notes=as_json([line for line in json.loads(version["notes"]) if line not in gone]),
        change=as_json({**place, "scrubbed": True}),
        version=version["version"],
        **key,
    )
