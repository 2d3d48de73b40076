"""Emptying of thoughts, with all that rests on them, after words that they saw were deleted or changed."""

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from daemon.core.lineage import message_id, question_id, room_id, way_id
from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.goals_in_force import OWED, WITHOUT_WORDS
from daemon.memory.thought_parts import WITHOUT_FREE_WORDS

_KEPT: Final = 20_000  # the newest ids; who began to read before the oldest of them counts as having seen changed words
_AT_ONCE: Final = 500
_ANYTHING: Final = ""  # in place of an id: all that was read before may have changed


async def note_changed(transaction: Transaction, ids: Sequence[str]) -> None:
    """Note that the words with these ids changed or are gone."""
    if not ids or await transaction.one("SELECT 1 FROM changed_words LIMIT 1") is None:
        return
    for start in range(0, len(ids), _AT_ONCE):
        await transaction.run(
            "INSERT INTO changed_words (source) SELECT value FROM json_each(:ids)",
            ids=json.dumps(ids[start : start + _AT_ONCE]),
        )
    await transaction.run(
        "DELETE FROM changed_words WHERE seq <= (SELECT max(seq) FROM changed_words) - :kept", kept=_KEPT
    )


async def forget_noted(transaction: Transaction, pattern: str) -> None:
    """Remove ids that match a GLOB pattern from the noted changes. All that was read before counts as changed."""
    await transaction.run("UPDATE changed_words SET source = '' WHERE source GLOB :pattern", pattern=pattern)
    await note_changed(transaction, [_ANYTHING])


async def newest_change(transaction: Transaction) -> int:
    """Return the number of the newest change, or 0 if none is noted."""
    row = await transaction.one("SELECT max(seq) AS seq FROM changed_words")
    return int(row["seq"] or 0) if row else 0


async def begin_noting(transaction: Transaction) -> int:
    """Begin to note changes, and return the number of the newest."""
    if not (newest := await newest_change(transaction)):
        await transaction.insert("changed_words", source=_ANYTHING)
        newest = await newest_change(transaction)
    return newest


async def changed_since(transaction: Transaction, ids: Sequence[str], seq: int) -> bool:
    """Return whether one of these ids has changed since the change `seq`, or whether that is no longer known."""
    row = await transaction.one(
        """
        SELECT (SELECT min(seq) FROM changed_words) > :seq + 1
          OR EXISTS (SELECT 1 FROM changed_words c WHERE c.seq > :seq
                       AND (c.source = :anything OR c.source IN (SELECT value FROM json_each(:ids)))) AS changed
        """,
        seq=seq,
        anything=_ANYTHING,
        ids=json.dumps(list(ids)),
    )
    return bool(row and row["changed"])


_FOLLOWED: Final = """
    WITH RECURSIVE tainted (id) AS (
      {seeds}
      UNION SELECT s.thought FROM tainted t CROSS JOIN thought_sources s ON s.source = t.id
        CROSS JOIN thoughts h ON h.id = s.thought AND (h.emptied = 0 OR h.aged = 1)
      UNION SELECT n.record FROM tainted t CROSS JOIN thought_notes n ON n.thought = t.id)
    SELECT json_group_array(id) FROM tainted
    """  # what rests on an empty thought was emptied with it, or stored empty; on one that aged it may still have words
_SINCE: Final = """
    SELECT id FROM thoughts WHERE conversation = :id AND saw_to >= :seq AND emptied = 0
    UNION SELECT id FROM thoughts WHERE conversation = :id AND saw_to >= :seq AND aged = 1
    """
_THAT_SAW: Final = "SELECT thought AS id FROM thought_sources WHERE source IN (SELECT value FROM json_each(:ids))"
_EMPTY: Final = (
    """
    UPDATE thoughts SET input = '', output = '', emptied = 1, aged = 0
    WHERE id IN (SELECT value FROM json_each(:ids))
    """,
    f"""
    UPDATE turns SET thought = {WITHOUT_FREE_WORDS} WHERE speaker = 'soul' AND thought <> '{{}}'
      AND trace_id IN (SELECT trace_id FROM thoughts WHERE id IN (SELECT value FROM json_each(:ids)) AND trace_id <> '')
    """,  # noqa: S608 - a constant
    "DELETE FROM thought_sources WHERE thought IN (SELECT value FROM json_each(:ids)) AND source NOT GLOB 'TH_*'",
)  # what it saw may name a person; which thoughts it perceived stays
_MADE: Final = (
    """
    DELETE FROM intentions WHERE rowid IN (SELECT i.rowid FROM json_each(:ids) t
      CROSS JOIN intentions i ON i.id > t.value || '-i' AND i.id < t.value || '-j')
    """,
    f"""
    UPDATE goals SET {WITHOUT_WORDS}
    WHERE thought IN (SELECT value FROM json_each(:ids)) AND {OWED}
    """,  # noqa: S608 - a constant; its person has read that words will come
    f"DELETE FROM goals WHERE thought IN (SELECT value FROM json_each(:ids)) AND NOT ({OWED})",  # noqa: S608 - a constant
    "UPDATE goals SET why = '', changed_by = '' WHERE changed_by IN (SELECT value FROM json_each(:ids))",
    "DELETE FROM mind_documents WHERE thought IN (SELECT value FROM json_each(:ids)) AND audience <> ''",
)  # what a thought made, and the words that it left with what another one made
_MADE_FOR_GOOD: Final = (
    "DELETE FROM mind_documents WHERE thought IN (SELECT value FROM json_each(:ids))",
    "UPDATE thought_notes SET adrift = 1 WHERE thought IN (SELECT value FROM json_each(:ids))",
)
"""Statements on documents and notes, which outlive a thought that only aged. A note that is adrift is soon
forgotten."""


async def empty_thoughts_since(transaction: Transaction, conversation: str, seq: int) -> None:
    """Empty the thoughts that saw turn `seq` of their conversation or a later one, and all that rest on these."""
    await empty_along(transaction, _SINCE, id=conversation, seq=seq)


async def empty_thoughts_on(transaction: Transaction, ids: Iterable[str]) -> None:
    """Empty the thoughts that saw one of these ids, anywhere, and all that rest on them.

    A turn, even one that is gone by its age, was also seen in its own conversation.
    """
    every = list(dict.fromkeys(ids))
    await note_changed(transaction, every)
    for start in range(0, len(every), _AT_ONCE):
        await _empty_on(transaction, every[start : start + _AT_ONCE])


async def thoughts_on(transaction: Transaction, ids: Sequence[str]) -> list[str]:
    """Return the ids of the thoughts that saw one of these ids or their conversations, and all that rest on them."""
    seeds = f"""
        {_THAT_SAW} UNION SELECT h.id FROM turns t JOIN thoughts h ON h.conversation = t.conversation
          AND h.saw_to >= t.seq WHERE 'TU_' || t.seq IN (SELECT value FROM json_each(:ids))
        """  # noqa: S608 - constants
    return await transaction.gathered(_FOLLOWED.format(seeds=seeds), ids=json.dumps(list(ids)))


async def empty_these(transaction: Transaction, ids: Sequence[str]) -> None:
    """Empty these thoughts, and all that rest on them."""
    await empty_along(transaction, "SELECT value AS id FROM json_each(:ids)", ids=json.dumps(list(ids)))


async def empty_by_age(transaction: Transaction, ids: Sequence[str]) -> None:
    """Empty these thoughts by their age alone."""
    emptied = json.dumps(list(ids))
    await transaction.run(
        """
        UPDATE thoughts SET input = '', output = '', emptied = 1, aged = 1
        WHERE emptied = 0 AND id IN (SELECT value FROM json_each(:ids))
        """,
        ids=emptied,
    )
    for statement in _MADE:
        await transaction.run(statement, ids=emptied)


async def empty_along(transaction: Transaction, seeds: str, but: str = "", **values: object) -> None:
    """Empty the thoughts that `seeds` selects and all that rest on them, except in the conversations `but`.

    Both are SQL of this package, and `values` are their parameters. Numbers stay, and the chain of thoughts is whole.
    The private words stored with the thought's reply are deleted, too. Goals, intentions and notes that the thought
    made are deleted. A promise that is owed stays without words.
    """
    ids = await transaction.gathered(_FOLLOWED.format(seeds=seeds), **values)
    if ids and but:
        ids = await transaction.gathered(
            f"""
            SELECT json_group_array(id) FROM thoughts
            WHERE id IN (SELECT value FROM json_each(:followed)) AND conversation NOT IN ({but})
            """,  # noqa: S608 - a constant
            followed=json.dumps(ids),
            **values,
        )
    for start in range(0, len(ids), _AT_ONCE):
        for statement in (*_EMPTY, *_MADE, *_MADE_FOR_GOOD):
            await transaction.run(statement, ids=json.dumps(ids[start : start + _AT_ONCE]))


async def _empty_on(transaction: Transaction, ids: Sequence[str]) -> None:
    await empty_along(transaction, _THAT_SAW, ids=json.dumps(ids))
    seqs = [int(one[3:]) for one in ids if one[:3] in {"TU_", "TL_"} and one[3:].isdecimal()]
    if not seqs:
        return
    rows = await transaction.rows(
        """
        SELECT conversation, min(seq) AS first FROM (
          SELECT conversation, seq FROM turns WHERE seq IN (SELECT value FROM json_each(:seqs))
          UNION ALL SELECT conversation, seq FROM aged_turns WHERE seq IN (SELECT value FROM json_each(:seqs)))
        GROUP BY conversation
        """,
        seqs=json.dumps(seqs),
    )
    for row in rows:
        await empty_thoughts_since(transaction, row["conversation"], row["first"])


async def note_aged(transaction: Transaction, seqs: Sequence[int]) -> None:
    """Keep which turns go by their age, where souls think whole thoughts."""
    await transaction.run(
        """
        INSERT OR IGNORE INTO aged_turns (seq, workspace, channel, ts, conversation, author)
        SELECT t.seq, c.workspace, c.channel, t.ts, t.conversation, t.author
        FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.seq IN (SELECT value FROM json_each(:seqs)) AND EXISTS (SELECT 1 FROM changed_words)
        """,
        seqs=json.dumps(list(seqs)),
    )


async def rest_on_sources(transaction: Transaction, gone: str, sources: Collection[str]) -> None:
    """Have what rests on a record that goes by the age of its sources rest on these themselves."""
    await transaction.run(
        """
        INSERT OR IGNORE INTO thought_sources (thought, source)
        SELECT s.thought, v.value FROM thought_sources s CROSS JOIN json_each(:sources) v WHERE s.source = :gone
        """,
        gone=gone,
        sources=json.dumps(sorted(sources)),
    )


_THERE: Final = "SELECT id FROM conversations WHERE workspace = :workspace AND channel = :channel"
_SAW_IT: Final = f"""
    SELECT id FROM thoughts WHERE conversation IN ({_THERE}) AND (emptied = 0 OR aged = 1)
    UNION SELECT s.thought FROM turns t CROSS JOIN thought_sources s
      ON s.source = CASE t.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || t.seq WHERE t.conversation IN ({_THERE})
    UNION SELECT s.thought FROM records r CROSS JOIN thought_sources s ON s.source = r.id
      WHERE r.workspace = :workspace AND r.channel = :channel
    UNION SELECT s.thought FROM goals g CROSS JOIN thought_sources s ON s.source = 'GL_' || g.soul || '/' || g.id
      WHERE g.conversation IN ({_THERE}) AND g.thought = ''
    UNION SELECT thought FROM thought_sources WHERE source >= :messages AND source < :messages || '~'
    UNION SELECT thought FROM thought_sources WHERE source IN (:room, :way, :question)
    """  # noqa: S608 - constants


async def narrow_thoughts(transaction: Transaction, workspace: str, channel: str, audience: Audience) -> None:
    """Keep the thoughts of a channel for `audience`, and empty those of other rooms that saw any of it.

    The kept thoughts and goals came before the workspace, and are not thought again. Documents written there are
    deleted.
    """
    where = {"workspace": workspace, "channel": channel}
    await empty_along(
        transaction,
        _SAW_IT,
        _THERE,
        messages=message_id(workspace, channel, ""),
        room=room_id(workspace, channel),
        way=way_id(workspace, channel),
        question=question_id(workspace, channel),
        **where,
    )
    for table in ("thoughts", "goals"):
        await transaction.run(
            f"UPDATE {table} SET audience = :audience WHERE audience = :everybody AND conversation IN ({_THERE})",  # noqa: S608 - constants
            audience=str(audience),
            everybody=f"workspace:{workspace}",
            **where,
        )
    await transaction.run(
        f"DELETE FROM mind_documents WHERE conversation IN ({_THERE}) AND audience IN (:everybody, '')",  # noqa: S608 - a constant
        everybody=f"workspace:{workspace}",
        **where,
    )
