"""Writes turns together with their full-text entry and ledger line, and maintains the full-text indexes."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey
from daemon.core.ports.services import Clock, Emit
from daemon.core.step import NOTHING_HEARD, Heard
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.records.ledger import EDITED, Write, forget_salts, note_writes
from daemon.memory.knowledge.records.links import turn_id
from daemon.memory.knowledge.word_index import WordIndex, merge, rebuild, segments
from daemon.memory.reader_codes import codes_of_turn
from daemon.memory.records import Speaks, Turn, TurnKind, as_json

LONGEST_TURN: Final = 4_000
"""The most characters of a turn that are searched."""

_SAID: Final = (
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
)
_FIELDS: Final = ("emotion_signal", "salience_anchor", "intent", "intent_confidence", "epistemic_mode", "confidence")
_LEDGERED: Final = (*_SAID, *_FIELDS)

TURN_INDEX: Final = WordIndex("turn")
_HEARD: Final = "looked at after the reply"  # the reason in the ledger for a change without new words
_AT_ONCE: Final = 500  # turns in one statement: with one turn each, the cost is quadratic


async def store_turns(
    transaction: Transaction,
    turns: Sequence[Turn],
    *,
    conversation: ConversationKey,
    audience: Audience,
    trace_id: str,
    now: int,
) -> tuple[int, ...]:
    """Store turns at the end of a conversation, for an audience. Return their seqs. Apologies are not indexed.

    A turn with a seq, perhaps from a passport, keeps it. The caller has checked that it is free.
    """
    indexed, written, seqs = list[_Indexed](), list[Write](), list[int]()
    for turn in turns:
        row = await transaction.insert(
            "turns",
            "RETURNING *",
            conversation=str(conversation),
            speaker=turn.speaker,
            author=turn.author,
            name=turn.name,
            ts=turn.ts,
            body=turn.body,
            kind=turn.kind,
            model=turn.model,
            thought=as_json(turn.thought),
            audience=str(audience),
            trace_id=trace_id,
            said_ms=now,
            **_fields_of(turn),
            passing=turn.passing,
            **({"seq": turn.seq} if turn.seq else {}),
        )
        assert row is not None
        seqs.append(row["seq"])
        written.append(_write("put", row))
        if turn.kind is not TurnKind.APOLOGY and not turn.passing:
            indexed.append(_entry(row["seq"], conversation, str(audience), turn.body))
    await TURN_INDEX.put(transaction, indexed)
    await note_writes(transaction, written, now)
    return tuple(seqs)


async def note_fields(transaction: Transaction, turns: Sequence[Turn], now: int) -> None:
    """Store how turns were heard or stated, by their seq, if their words are unchanged."""
    for turn in turns:
        standing = await transaction.one("SELECT * FROM turns WHERE seq = :seq", seq=turn.seq)
        if standing is None or standing["body"] != turn.body:
            continue
        fields = _fields_of(turn)
        if any(standing[name] != value for name, value in fields.items()):
            await _change(transaction, turn.seq, fields, _HEARD, now)


async def reword_turns(
    transaction: Transaction, conversation: str, ts: str, text: str, now: int
) -> Sequence[sqlite3.Row]:
    """Change the words of a user's message, and delete how they were heard. Return seq and author of changed turns."""
    changed = await transaction.rows(
        """
        SELECT seq, author, audience, passing FROM turns
        WHERE conversation = :conversation AND ts = :ts AND speaker = 'person' AND body <> :text
        """,
        text=text,
        conversation=conversation,
        ts=ts,
    )
    unheard = _heard_columns(NOTHING_HEARD)
    for turn in changed:
        await forget_salts(transaction, turn_id(Speaks.PERSON, turn["seq"]))
        await _change(transaction, turn["seq"], {"body": text, **unheard}, EDITED, now)
        await TURN_INDEX.remove(transaction, turn["seq"])
    where = ConversationKey.parse(conversation)
    await TURN_INDEX.put(
        transaction, [_entry(turn["seq"], where, turn["audience"], text) for turn in changed if not turn["passing"]]
    )
    return changed


async def delete_turns(transaction: Transaction, conversation: str, ts: str, now: int) -> Sequence[sqlite3.Row]:
    """Delete a user's message. Return seq and author of the deleted turns."""
    gone = await transaction.rows(
        """
        DELETE FROM turns WHERE conversation = :conversation AND ts = :ts AND speaker = 'person'
        RETURNING seq, author
        """,
        conversation=conversation,
        ts=ts,
    )
    for turn in gone:
        await TURN_INDEX.remove(transaction, turn["seq"])
        await forget_salts(transaction, turn_id(Speaks.PERSON, turn["seq"]))
    erased = [Write("erase turn", turn_id(Speaks.PERSON, turn["seq"]), reason="deleted") for turn in gone]
    await note_writes(transaction, erased, now)
    return gone


async def _change(transaction: Transaction, seq: int, columns: Mapping[str, object], reason: str, now: int) -> None:
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    row = await transaction.one(f"UPDATE turns SET {changes} WHERE seq = :seq RETURNING *", seq=seq, **columns)  # noqa: S608 - literals
    assert row is not None
    await note_writes(transaction, [_write("change", row, reason)], now)


def content_of_turn(row: sqlite3.Row) -> Mapping[str, object]:
    """Return the content of a `turns` row as JSON, for the ledger's digest. The private thought is left out."""
    return {name: row[name] for name in _LEDGERED}


def _write(act: str, row: sqlite3.Row, reason: str = "") -> Write:
    return Write(f"{act} turn", turn_id(Speaks(row["speaker"]), row["seq"]), content_of_turn(row), reason)


def _fields_of(turn: Turn) -> dict[str, object]:
    heard = Heard(turn.emotion_signal, turn.salience_anchor, turn.intent, turn.intent_confidence)
    return {**_heard_columns(heard), "epistemic_mode": turn.epistemic_mode, "confidence": turn.confidence}


def _heard_columns(heard: Heard) -> dict[str, object]:
    return {
        "emotion_signal": heard.emotion_signal,
        "salience_anchor": as_json(heard.salience_anchor),
        "intent": heard.intent,
        "intent_confidence": heard.intent_confidence,
    }


async def delete_these(transaction: Transaction, seqs: Sequence[int], now: int, reason: str) -> None:
    """Delete turns by their numbers. Missing ones are ignored."""
    erased = []
    for start in range(0, len(seqs), _AT_ONCE):
        these = as_json(list(seqs[start : start + _AT_ONCE]))
        gone = await transaction.rows(
            "DELETE FROM turns WHERE seq IN (SELECT value FROM json_each(:these)) RETURNING seq, speaker", these=these
        )
        for row in await transaction.rows(
            "SELECT seq FROM turn_words WHERE seq IN (SELECT value FROM json_each(:these))", these=these
        ):
            await TURN_INDEX.remove(transaction, row["seq"])
        erased += [
            Write("erase turn", turn_id(Speaks(row["speaker"]), row["seq"]), reason=reason)
            for row in sorted(gone, key=lambda row: int(row["seq"]))
        ]
    for one in erased:
        await forget_salts(transaction, one.subject)
    await note_writes(transaction, erased, now)


async def leave_out(  # noqa: PLR0917 - the columns of a row
    transaction: Transaction, seq: int, body: str, thought: str, reason: str, now: int
) -> None:
    """Replace the words of a turn by those that are left of it."""
    row = await transaction.one("SELECT * FROM turns WHERE seq = :seq", seq=seq)
    assert row is not None
    await forget_salts(transaction, turn_id(Speaks(row["speaker"]), seq))
    unheard = _heard_columns(NOTHING_HEARD)
    await _change(transaction, seq, {"body": body, "thought": thought, **unheard}, reason, now)
    if await transaction.one("SELECT seq FROM turn_words WHERE seq = :seq", seq=seq) is not None:
        await TURN_INDEX.remove(transaction, seq)
        where = ConversationKey.parse(row["conversation"])
        await TURN_INDEX.put(transaction, [_entry(seq, where, row["audience"], body)])
    await transaction.run(
        "UPDATE inbox SET body = :body WHERE conversation = :id AND ts = :ts AND author = :author AND cleared = 0",
        body=body,
        id=row["conversation"],
        ts=row["ts"],
        author=row["author"],
    )


async def withdraw_turn(transaction: Transaction, seq: int, reason: str, now: int) -> None:
    """Empty a turn of the soul that counts as not said. The turn stays, and no search finds it."""
    await forget_salts(transaction, turn_id(Speaks.SOUL, seq))
    await _change(transaction, seq, {"body": "", "thought": "{}"}, reason, now)
    await TURN_INDEX.remove(transaction, seq)


async def unindex(transaction: Transaction, seqs: Sequence[int]) -> None:
    """Remove turns from the index. The turns themselves stay."""
    for seq in seqs:
        await TURN_INDEX.remove(transaction, seq)


_Indexed = tuple[int, Sequence[str], str]


def _entry(seq: int, where: ConversationKey, audience: str, body: str) -> _Indexed:
    return seq, codes_of_turn(where, audience), body[:LONGEST_TURN]


_INDEXES: Final = ("turn", "record", "library")
_MOST_SEGMENTS: Final = 4  # with seven segments a search of fifty channels takes twice as long as with one
_GROWN: Final = 0.1  # growth, as a share of the largest segment, after which all of an index is merged
_JOIN_EVERY_S: Final = 60.0
_WIPE_EVERY_S: Final = 3600.0
_REST: Final = 4.0  # the pause after a unit, as a multiple of the unit's duration


async def wipe(database: Database, clock: Clock) -> int:
    """Merge the indexes that lost rows since the last time. Return the number of rows. Raises StoreError."""
    total = 0
    for row in await database.rows("SELECT name, rows_gone FROM erased_words ORDER BY name"):
        name, gone = row["name"], row["rows_gone"]
        await _merge_all(database, clock, name)
        await database.run("DELETE FROM erased_words WHERE name = :name AND rows_gone = :gone", name=name, gone=gone)
        total += gone
    return total


async def join(database: Database, clock: Clock) -> None:
    """Join the smaller segments of indexes that have many. Raises StoreError."""
    for name in _INDEXES:
        if len(await database.read(partial(segments, name=name))) > _MOST_SEGMENTS:
            while await _merge(database, clock, name, begun=True):
                pass


async def join_all(database: Database, clock: Clock) -> None:
    """Join all segments of indexes that grew by a tenth since the last merge. Raises StoreError."""
    for name in _INDEXES:
        largest, *smaller = await database.read(partial(segments, name=name)) or [0]
        if sum(smaller) > _GROWN * largest:
            await _merge_all(database, clock, name)


async def mend(database: Database, clock: Clock) -> int:
    """Rebuild damaged indexes. Return the number of indexed rows. Raises StoreError."""
    total = 0
    for row in await database.rows("SELECT name FROM distrusted_indexes ORDER BY name"):
        unit = partial(rebuild, name=row["name"])
        began = clock.monotonic()
        while (rows := await database.write(unit)) is not None:
            total += rows
            await clock.sleep(_REST * (clock.monotonic() - began))
            began = clock.monotonic()
    return total


async def _merge_all(database: Database, clock: Clock, name: str) -> None:
    begun = False
    while await _merge(database, clock, name, begun=begun):
        begun = True


async def _merge(database: Database, clock: Clock, name: str, *, begun: bool) -> bool:
    async def unit(transaction: Transaction) -> bool:
        return await merge(transaction, name, begun=begun)

    began = clock.monotonic()
    more = await database.write(unit)
    await clock.sleep(_REST * (clock.monotonic() - began))
    return more


async def tidy_periodically(database: Database, clock: Clock, emit: Emit) -> None:
    """Join small segments every minute, and wipe, mend and join all every hour, until cancelled."""
    wipe_at = clock.monotonic()
    while True:
        try:
            if clock.monotonic() >= wipe_at:
                wipe_at = clock.monotonic() + _WIPE_EVERY_S
                if gone := await wipe(database, clock):
                    emit("memory.wiped", rows=gone)
                if rows := await mend(database, clock):
                    emit("memory.index_rebuilt", rows=rows)
                await join_all(database, clock)
            await join(database, clock)
        except StoreError as error:
            emit("store.failed", reason=error.message, hint=error.hint)
        await clock.sleep(_JOIN_EVERY_S)
