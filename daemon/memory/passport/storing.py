"""One row of memory.db from a file of a passport. The schema refuses wrong values, and a plan waits as if asked for."""

from collections.abc import Mapping
from typing import Any, Final

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.core.step import EpistemicMode
from daemon.core.timetable import FARTHEST_MS, next_slot, recurrence_of, require_seldom
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.links import reserve_id, turn_id
from daemon.memory.knowledge.records.store import record_of, take_in
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.passport.entries import PassportEntry
from daemon.memory.passport.kinds import PassportKind
from daemon.memory.passport.pictures import PictureRoom
from daemon.memory.passport.reading import reason_of
from daemon.memory.queues.claims import open_conversation
from daemon.memory.queues.intention_rows import IN_MIND, next_number
from daemon.memory.queues.intentions import IDLE, has_room_for_one
from daemon.memory.records import JSONObject, Speaks, Turn, TurnKind, as_json

INTENTION: Final = "intention"
_TURN: Final = frozenset(Turn.__struct_fields__)
_MODES: Final = {"speaker": Speaks, "kind": TurnKind, "epistemic_mode": EpistemicMode}
_SCOPE: Final = "soul = :soul AND workspace = :workspace AND person = :person AND audience = :audience"


class Bounds(Value):
    """The limits for an import: waiting intentions in all, and room for pictures.

    Without `room` pictures are only checked. `as_is`: everything is stored as in its file, in a memory.db that no soul
    uses.
    """

    most_intentions: int = 100
    room: PictureRoom | None = None
    as_is: bool = False


async def _conversation(transaction: Transaction, where: ConversationKey, entry: PassportEntry) -> str | None:
    """Open the conversation of an entry, and return its id. None if it is not here, and the file names no place."""
    if entry.row.get("place"):
        await open_conversation(
            transaction, where, Place(entry.row["place"]), entry.origin.audience, entry.row[entry.kind.at]
        )
    return str(where) if await transaction.one("SELECT 1 FROM conversations WHERE id = :id", id=str(where)) else None


async def put_row(
    transaction: Transaction, entry: PassportEntry, bounds: Bounds, now: int, *, missing: JSONObject, seq: int | None
) -> str:
    """Store the row of an entry. Return its id here. Raises ValueError with the reason for a refusal.

    `missing` are the fields with ids that lead nowhere. `seq` is the number that a turn should have.
    """
    kind, row = entry.kind, dict(entry.row)
    if entry.conversation is not None:
        row["conversation"] = await _conversation(transaction, entry.conversation, entry)
    if kind.is_turn:
        return await _put_turn(transaction, entry, seq)
    if kind.name == INTENTION:
        row = await _plan(transaction, entry, bounds, now)
    if kind.up_to and not bounds.as_is:  # turns that are not here yet would never be looked at
        newest = await transaction.one("SELECT coalesce(max(seq), 0) AS seq FROM turns")
        row[kind.up_to] = min(row[kind.up_to], newest["seq"] if newest else 0)
    if kind.name == "session_memory":
        room = await transaction.one("SELECT audience FROM conversations WHERE id = :id", id=row["conversation"])
        row["audience"] = room["audience"] if room else row["audience"]
    if kind.name == "user_model_version" and not await transaction.one(
        f"SELECT 1 FROM user_models WHERE {_SCOPE} AND version >= :version",  # noqa: S608 - a literal
        **{one: row[one] for one in kind.key},
    ):
        raise ValueError("what is known of its user here has no such version")
    await _insert(transaction, entry, row, missing, now)
    if kind.name == "user_model":
        await _note_looked_through(transaction, entry.row)
    return entry.id


async def _insert(
    transaction: Transaction, entry: PassportEntry, row: Mapping[str, Any], missing: JSONObject, now: int
) -> None:
    kind, made_here = entry.kind, dict[str, object]()
    if kind.record:
        await reserve_id(transaction, entry.id)
        made_here = {"kind": kind.record, "created_ms": now, "updated_ms": now}
        made_here["extra"] = as_json({**entry.unknown, **missing})
    for table in filter(None, (kind.table, kind.detail)):
        values = {name: _stored(row[name]) for name, one in kind.columns.items() if one.table == table and name in row}
        own = {"id": row["id"]} if kind.key == ("id",) else {}
        await transaction.insert(table, **own, **values, **(made_here if table == kind.table else {}))
    if kind.record:
        stored = await transaction.one(f"{kind.select} AND b.id = :id", id=entry.id)
        assert stored is not None
        await take_in(transaction, record_of(stored), now)


def _stored(value: object) -> object:
    return as_json(value) if isinstance(value, dict | list) else value


async def _put_turn(transaction: Transaction, entry: PassportEntry, seq: int | None) -> str:
    """Store a turn, under another number if its own is taken."""
    row = entry.row
    assert entry.conversation is not None
    if seq and await transaction.one("SELECT 1 FROM turns WHERE seq = :seq", seq=seq):
        seq = None
    given = {name: value for name, value in row.items() if name in _TURN} | {"seq": seq or 0}
    try:
        given |= {name: of(row[name]) for name, of in _MODES.items() if name in row}
    except ValueError as error:
        raise ValueError(f"it is no {entry.kind.name}: {error}") from None
    [stored] = await store_turns(
        transaction,
        [Turn(**given)],
        conversation=entry.conversation,
        audience=entry.origin.audience,
        trace_id=row["trace_id"],
        now=row["said_ms"],
    )
    return turn_id(given["speaker"], stored)


async def _note_looked_through(transaction: Transaction, model: Mapping[str, Any]) -> None:
    """Note up to which turn a user's model has learned, so that it learns from none twice."""
    await transaction.run(
        """
        INSERT INTO looked_through (conversation, person, up_to)
        SELECT t.conversation, t.author, max(t.seq) FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.author = :person AND t.speaker = 'person' AND t.seq <= :modelled_to AND t.audience = :audience
          AND c.soul = :soul AND c.workspace = :workspace GROUP BY t.conversation, t.author ON CONFLICT DO NOTHING
        """,
        **{one: model[one] for one in ("person", "modelled_to", "audience", "soul", "workspace")},
    )


async def _plan(transaction: Transaction, plan: PassportEntry, bounds: Bounds, now: int) -> dict[str, Any]:
    """Return the row of a plan that may come up here. Raises ValueError for one that may not."""
    audience, row = plan.origin.audience, dict(plan.row)
    in_room = audience.kind is AudienceKind.CHANNEL or (audience.kind is AudienceKind.DM and row["place"] == Place.DM)
    if audience.kind is AudienceKind.OPERATOR or (in_room and audience.id != row["conversation"].split("/")[2]):
        raise ValueError("it is for others than those who read there")
    there = await transaction.one("SELECT place, audience FROM conversations WHERE id = :id", id=row["conversation"])
    if there and not (there["place"] == row["place"] and Audience.parse(there["audience"]).within(audience)):
        raise ValueError("other people read in that conversation here")
    if row["slot"] in {"", IDLE} or row["slot"].startswith(IN_MIND):
        raise ValueError("its slot is none of a plan")
    row = row if bounds.as_is else await _armed(transaction, row, bounds, now)
    if row["state"] == "waiting" and await transaction.one(
        "SELECT 1 FROM intentions WHERE conversation = :conversation AND slot = :slot AND state = 'waiting'",
        conversation=row["conversation"],
        slot=row["slot"],
    ):
        raise ValueError("another plan waits in its slot")
    return row


async def _armed(transaction: Transaction, plan: dict[str, Any], bounds: Bounds, now: int) -> dict[str, Any]:
    """Return a plan with its next due time and a free number, or cancelled if its time has passed."""
    if plan["state"] == "waiting":
        plan = _due(plan, now)
    scope = {"soul": plan["soul"], "workspace": plan["workspace"]}
    if plan["state"] == "waiting" and not await has_room_for_one(transaction, scope, bounds.most_intentions):
        raise ValueError(f"{bounds.most_intentions} plans wait already: raise SOUL_SCHEDULE_MAX")
    of = {"behalf": plan["behalf"], "workspace": plan["workspace"]}
    taken = await transaction.one(
        """
        SELECT 1 FROM intentions
        WHERE behalf = :behalf AND workspace = :workspace AND slot <> 'idle' AND number = :number AND number > 0
        """,
        **of,
        number=plan["number"],
    )
    return plan | ({"number": await next_number(transaction, **of)} if taken or not plan["number"] else {})


def _due(plan: dict[str, Any], now: int) -> dict[str, Any]:
    every, due_ms = plan["every"], plan["due_ms"]
    if (rule := recurrence_of(every)) is not None:
        zone, day = plan["zone"], plan["fired_day"]
        due = rule.after(due_ms, now, zone, day) if rule.hours else None
        return plan | {"due_ms": (due or rule.first(now, zone, day)).due_ms}
    if every:
        require_seldom(every, now)
        return plan | {"due_ms": next_slot(every, max(due_ms, now))}
    if due_ms > now + FARTHEST_MS:
        raise ValueError("it is due more than a year ahead")
    over = {"state": "cancelled", "reason": "its time had passed when a passport brought it", "settled_ms": now}
    return plan if due_ms > now else plan | over


def why_refused(kind: PassportKind, error: Exception) -> str:
    """Return the reason for the refusal of a file whose row could not be stored."""
    if isinstance(error, StoreError):
        return error.message
    return reason_of(error) if isinstance(error, ValueError) else f"it is no {kind.name}: {reason_of(error)}"
