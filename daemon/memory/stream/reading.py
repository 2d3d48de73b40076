"""Reads of the stream of thought: a soul's last thoughts in and around a conversation, and lists of thoughts."""

import json
from typing import Final

from msgspec.structs import replace

from daemon.core.authority import AS_AT_FIRST, Authority
from daemon.core.errors import StoreError
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.records import Row, object_or_nothing, pairs_or_none
from daemon.memory.stream.authority import Settled, authority_of, settled_in, unfit_until
from daemon.memory.stream.emptying import begin_noting, newest_change
from daemon.memory.thought_parts import came_before

MOST_RECENT: Final = 3
_LOOKED_AT: Final = 20  # newest thoughts of an audience
_SHORT: Final = "seq, conversation, audience, readers, passing, emptied"


class KeptThought(Value):
    """A committed thought.

    `input` and `output` are JSON. `input` is empty if another step than `think` made the thought. `refused` are the
    parts without effect, each with its field and the reason.
    """

    id: str
    at_ms: int
    conversation: str
    audience: str
    occasion: str
    process: str
    input: str
    output: str
    spoke: bool
    refused: tuple[tuple[str, str], ...] = ()


class LastThoughts(Value):
    """The conversation's last thought (`previous`), and other `recent` ones, oldest first.

    `authority` is what the functions of the mind may do. `settled` are the decisions on proposals made here. `unfit`:
    the soul answers in words for a while, since too many answers could not be read as thoughts. `read_at` is the number
    of the newest change of words then, None if nothing was read. `holds_earlier`: the conversation has words said to
    fewer people than read it now, as in a channel that was private.
    """

    previous: KeptThought | None = None
    recent: tuple[KeptThought, ...] = ()
    unfit: bool = False
    read_at: int | None = None
    authority: Authority = AS_AT_FIRST
    settled: tuple[Settled, ...] = ()
    holds_earlier: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        settled = (name for one in self.settled for name in (one.id, one.thought))
        return tuple(dict.fromkeys((*(one.id for one in (*self.recent, self.previous) if one), *settled)))


NO_THOUGHTS: Final = LastThoughts()

_SAID_TO_FEWER: Final = """
    SELECT 1 FROM conversations c CROSS JOIN turns t ON t.conversation = c.id
    WHERE c.id = :id AND c.audience NOT GLOB 'dm:*' AND t.audience NOT IN (:audience, :everybody) LIMIT 1
    """  # that of a direct message never changes, and it may be long


async def last_thoughts(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, limit: int = MOST_RECENT
) -> LastThoughts:
    """Return the last committed thought of a conversation and up to `limit` recent ones, all with their words.

    The recent ones came before the same audience or the workspace. Before readers who aren't all members they are of
    this conversation alone. A thought that the readers may not have before them again is left out. No older thought
    then replaces the previous one.
    """
    own = await transaction.rows(
        f"SELECT {_SHORT} FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT :most",  # noqa: S608 - a constant
        id=str(conversation),
        most=_LOOKED_AT,
    )
    rows = {row["seq"]: row for row in own}
    if readers.members_only:
        everybody = Audience(AudienceKind.WORKSPACE, conversation.workspace)
        for audience in dict.fromkeys((everybody, readers.audience)):
            found = await transaction.rows(
                f"""
                SELECT {_SHORT} FROM thoughts WHERE soul = :soul AND workspace = :workspace AND audience = :audience
                ORDER BY seq DESC LIMIT :most
                """,  # noqa: S608 - a constant
                soul=conversation.soul,
                workspace=conversation.workspace,
                audience=str(audience),
                most=_LOOKED_AT,
            )
            rows |= {row["seq"]: row for row in found}
    newest = own[0]["seq"] if own else 0
    allowed = [seq for seq, row in sorted(rows.items()) if _is_allowed(row, conversation, readers)]
    others = [seq for seq in allowed if seq != newest]
    recent = others[-limit:] if limit > 0 else []
    wanted = [*recent, *(seq for seq in allowed if seq == newest)]
    found = await transaction.rows(
        "SELECT * FROM thoughts WHERE seq IN (SELECT value FROM json_each(:seqs))", seqs=json.dumps(wanted)
    )
    whole = {row["seq"]: _read(row) for row in found}
    return LastThoughts(whole.get(newest), tuple(whole[seq] for seq in recent))


class Stream:
    """A reader of the stream of thought."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def last(self, conversation: ConversationKey, readers: Readers, limit: int = MOST_RECENT) -> LastThoughts:
        """Return `last_thoughts` with the authority, the settled proposals and the number of the newest change."""

        async def unit(transaction: Transaction) -> LastThoughts:
            found = await last_thoughts(transaction, conversation, readers, limit)
            now = self._clock.now_ms()
            until = await unfit_until(transaction, conversation.soul, conversation.workspace, now)
            return replace(
                found,
                unfit=until > 0,
                read_at=await newest_change(transaction),
                authority=await authority_of(transaction, conversation.soul),
                settled=await settled_in(transaction, conversation, readers),
                holds_earlier=await _holds_earlier(transaction, conversation, readers),
            )

        found = await self._database.read(unit)
        if found.read_at:
            return found
        return replace(found, read_at=await self._database.write(begin_noting))  # once for each memory.db


async def _holds_earlier(transaction: Transaction, conversation: ConversationKey, readers: Readers) -> bool:
    everybody = Audience(AudienceKind.WORKSPACE, conversation.workspace)
    values = {"audience": str(readers.audience), "everybody": str(everybody)}
    return await transaction.one(_SAID_TO_FEWER, id=str(conversation), **values) is not None


def _is_allowed(row: sqlite3.Row, conversation: ConversationKey, readers: Readers) -> bool:
    if row["emptied"] or (row["passing"] and row["conversation"] != str(conversation)):
        return False
    return came_before(row, conversation, readers)


def _read(row: sqlite3.Row) -> KeptThought:
    return KeptThought(
        row["id"],
        row["at_ms"],
        row["conversation"],
        row["audience"],
        row["occasion"],
        row["process"],
        row["input"],
        row["output"],
        spoke=bool(row["spoke"]),
        refused=pairs_or_none(row["refused"]),
    )


async def list_thoughts(
    database: Database, soul: str, conversation: str, limit: int, *, after: int | None = None
) -> list[Row]:
    """Return the newest thoughts, or the first ones after `after`, oldest first. Raises StoreError.

    `input` and `output` are JSON, empty if their words are gone. `seq` orders all thoughts.
    """
    which, values = ("conversation = :of", conversation) if conversation else ("soul = :of", soul)
    order = "DESC" if after is None else "ASC"
    rows = await database.rows(
        f"SELECT * FROM thoughts WHERE {which} AND seq > :after ORDER BY seq {order} LIMIT :most",  # noqa: S608 - literals
        of=values,
        after=after or 0,
        most=limit,
    )
    return [_thought(row) for row in (reversed(rows) if after is None else rows)]


def _thought(row: sqlite3.Row) -> Row:
    return {
        **dict(row),
        **{name: bool(row[name]) for name in ("degraded", "spoke")},
        "did": object_or_nothing(row["did"]),
        "refused": [{"field": field, "reason": reason} for field, reason in pairs_or_none(row["refused"])],
    }


async def thought_named(database: Database, name: str) -> Row:
    """Return one thought. Raises StoreError if there is none with that id."""
    row = await database.one("SELECT * FROM thoughts WHERE id = :id", id=name)
    if row is None:
        raise StoreError(f"there is no thought {name[:80]}", hint="list them with `soul mind thoughts`")
    return _thought(row)
