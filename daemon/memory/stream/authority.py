"""The level of each function of a soul's mind, its history, and the proposals that an admin decides."""

from collections.abc import Mapping
from typing import Final

from daemon.core.authority import FUNCTION_OF, Authority, Function, Level
from daemon.core.perception import ConversationKey, Readers
from daemon.core.timetable import MINUTE_MS
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.records import Row, as_json, conversation_columns, object_or_nothing
from daemon.memory.senses.readings import tell_of_fall
from daemon.memory.thought_parts import StoredThought, came_before

JUDGED: Final = 40
"""The number of a function's newest parts by which it is judged."""

MOST_REFUSED: Final = JUDGED // 4
"""The number of refused parts among these at which a function falls a level."""

_TAKEN, _REFUSED = "0", "1"
_HOUSE: Final = "house"


async def authority_of(transaction: Transaction, soul: str) -> Authority:
    """Return the levels of a soul's functions."""
    rows = await transaction.rows("SELECT function, level FROM mind_authority WHERE soul = :soul", soul=soul)
    known = set(Function)  # a later version may have stored other functions
    return Authority({Function(row["function"]): Level(row["level"]) for row in rows if row["function"] in known})


async def count_parts(
    transaction: Transaction, where: ConversationKey, fared: Mapping[Function, tuple[int, int]], now: int
) -> None:
    """Count the parts of each function that a thought took and refused.

    A function with too many refused parts falls a level, which the soul perceives in its next thought there.
    """
    soul = where.soul
    for function, (taken, refused) in fared.items():
        if not taken + refused:
            continue
        before = await _row(transaction, soul, function)
        level = (await authority_of(transaction, soul)).level(function)
        recent = ((before["recent"] if before else "") + _TAKEN * taken + _REFUSED * refused)[-JUDGED:]
        wrong = recent.count(_REFUSED)
        falls = len(recent) == JUDGED and wrong >= MOST_REFUSED and level > Level.KEPT
        if falls:
            why = f"{wrong} of its last {JUDGED} parts were refused"
            await decide_level(transaction, soul, function, Level(level - 1), why=why, by=_HOUSE, now=now)
            await tell_of_fall(transaction, str(where), function, Level(level - 1), now)
        else:
            await _keep(transaction, soul, function, level, recent)


async def decide_level(
    transaction: Transaction, soul: str, function: Function, level: Level, *, why: str, by: str, now: int
) -> None:
    """Give a function a level, add a line of history, and reset the count of its parts."""
    before = (await authority_of(transaction, soul)).level(function)
    values = {"soul": soul, "function": str(function), "level": int(level), "why": why, "decided_by": by}
    await transaction.insert(
        "mind_authority",
        """
        ON CONFLICT (soul, function) DO UPDATE SET level = excluded.level, why = excluded.why,
          decided_by = excluded.decided_by, since_ms = excluded.since_ms, recent = ''
        """,
        **values,
        since_ms=now,
        recent="",
    )
    await transaction.insert("mind_authority_history", **values, level_before=int(before), at_ms=now)


async def levels_in_words(database: Database, soul: str) -> list[Row]:
    """Return the level of each function of a soul, in the order of the functions. Raises StoreError.

    `since_ms` is 0 if it was never changed. `parts` is how many of its newest `JUDGED` parts count towards the level,
    `refused` how many of them were refused.
    """

    async def unit(transaction: Transaction) -> list[Row]:
        rows = await transaction.rows("SELECT * FROM mind_authority WHERE soul = :soul", soul=soul)
        known = {row["function"]: row for row in rows}
        levels = await authority_of(transaction, soul)
        return [_listed(one, levels.level(one), known.get(one)) for one in Function]

    return await database.read(unit)


async def level_changes(database: Database, soul: str, function: str, most: int) -> list[Row]:
    """Return the newest changes of a soul's levels, or of one function's, oldest first. Raises StoreError.

    `by` is an admin, or `house` if the function fell.
    """
    rows = await database.rows(
        """
        SELECT at_ms, function, level_before AS before, level, decided_by AS by, why FROM mind_authority_history
        WHERE soul = :soul AND :function IN ('', function) ORDER BY seq DESC LIMIT :most
        """,
        soul=soul,
        function=function,
        most=most,
    )
    return [{**dict(row), **{name: Level(row[name]) for name in ("before", "level")}} for row in reversed(rows)]


def _listed(function: Function, level: Level, row: sqlite3.Row | None) -> Row:
    found = {"function": function, "level": level, "why": "", "since_ms": 0, "by": "", "parts": 0, "refused": 0}
    if row is None:
        return found
    judged = {"parts": len(row["recent"]), "refused": row["recent"].count(_REFUSED)}
    return {**found, "why": row["why"], "since_ms": row["since_ms"], "by": row["decided_by"], **judged}


async def _row(transaction: Transaction, soul: str, function: Function) -> sqlite3.Row | None:
    return await transaction.one(
        "SELECT * FROM mind_authority WHERE soul = :soul AND function = :function", soul=soul, function=str(function)
    )


async def _keep(transaction: Transaction, soul: str, function: Function, level: Level, recent: str) -> None:
    await transaction.insert(
        "mind_authority",
        "ON CONFLICT (soul, function) DO UPDATE SET recent = excluded.recent",
        soul=soul,
        function=str(function),
        level=int(level),
        why="",
        decided_by="",
        since_ms=0,
        recent=recent,
    )


_JUDGED, _MOST_DEGRADED = 10, 3  # of so many answers that were asked for as thoughts, so many unread are too much
_IN_WORDS_MS: Final = 60 * MINUTE_MS


async def unfit_until(transaction: Transaction, soul: str, workspace: str, now: int) -> int:
    """Return until when (ms, UTC) a soul answers in words instead of thoughts, or 0.

    That is an hour from the third of ten answers that could not be read as a thought.
    """
    last = await transaction.one(
        """
        SELECT seq, at_ms FROM thoughts WHERE soul = :soul AND workspace = :workspace AND degraded = 1
        ORDER BY seq DESC LIMIT 1
        """,
        soul=soul,
        workspace=workspace,
    )
    if last is None or last["at_ms"] + _IN_WORDS_MS <= now:
        return 0
    counted = await transaction.one(
        """
        SELECT sum(degraded) AS n FROM (
          SELECT degraded FROM thoughts WHERE soul = :soul AND workspace = :workspace AND seq <= :seq AND asked = 1
          ORDER BY seq DESC LIMIT :looked)
        """,
        soul=soul,
        workspace=workspace,
        seq=last["seq"],
        looked=_JUDGED,
    )
    return int(last["at_ms"]) + _IN_WORDS_MS if counted is not None and counted["n"] >= _MOST_DEGRADED else 0


class UnfitSoul(Value):
    """A soul that answers in words until a time (ms, UTC), since too many answers could not be read as thoughts."""

    soul: str
    workspace: str
    until_ms: int

    def in_words(self, now_ms: int) -> str:
        minutes = (self.until_ms - now_ms) // MINUTE_MS + 1
        return f"too many answers could not be read as thoughts, so it answers in words for {minutes} min more"


async def unfit_souls(transaction: Transaction, now: int) -> tuple[UnfitSoul, ...]:
    """Return the souls that answer in words for now, in place of whole thoughts."""
    lately = await transaction.rows(
        "SELECT DISTINCT soul, workspace FROM thoughts WHERE degraded = 1 AND at_ms > :since ORDER BY soul, workspace",
        since=now - _IN_WORDS_MS,
    )
    ends = [(row["soul"], row["workspace"]) for row in lately]
    found = [UnfitSoul(*one, await unfit_until(transaction, *one, now)) for one in ends]
    return tuple(one for one in found if one.until_ms)


OF_THE_MIND: Final = "mind."
"""The prefix of the tool name of each proposal."""

OPEN_FOR_MS: Final = 14 * 24 * 60 * MINUTE_MS
MOST_WAITING: Final = 100
"""The most proposals of a soul that wait at once."""

MOST_PERCEIVED: Final = 8
"""The most settled proposals that one thought perceives."""

_ITS_PROPOSAL: Final = "tool GLOB 'mind.*'"


class Settled(Value):
    """A decision on a proposal that its soul has not perceived yet. `value` is JSON, empty if its words are gone."""

    id: str
    thought: str
    field: str
    allowed: bool
    value: str


async def propose(transaction: Transaction, thought: StoredThought, field: str) -> None:
    """Ask the admin about a field of a thought, unless too many proposals wait already."""
    conversation = thought.conversation
    waiting = await transaction.one(
        f"SELECT count(*) AS n FROM approvals WHERE soul = :soul AND state = 'waiting' AND {_ITS_PROPOSAL}",  # noqa: S608 - a constant
        soul=conversation.soul,
    )
    if waiting is not None and waiting["n"] >= MOST_WAITING:
        return
    await transaction.insert(
        "approvals",
        id=f"{thought.id}-{field}",
        **conversation_columns(conversation),
        turn=0,
        tool=f"{OF_THE_MIND}{FUNCTION_OF[field]}",
        arguments=as_json({"thought": thought.id, "field": field}),
        asked="[]",
        audience=str(thought.audience),
        state="waiting",
        expires_ms=thought.now + OPEN_FOR_MS,
        created_ms=thought.now,
    )


async def settle_proposal(transaction: Transaction, id_: str, state: str, by: str, now: int) -> None:
    """Close a waiting proposal. The soul perceives `used` and `refused`, but not `expired`."""
    await transaction.run(
        """
        UPDATE approvals SET state = :state, decided_by = :by, decided_ms = :now WHERE id = :id AND state = 'waiting'
        """,
        state=state,
        by=by,
        now=now,
        id=id_,
    )


async def settled_in(transaction: Transaction, conversation: ConversationKey, readers: Readers) -> tuple[Settled, ...]:
    """Return the decided proposals of a conversation that no thought there has perceived, the oldest first."""
    rows = await transaction.rows(
        f"""
        SELECT a.id, a.state, a.arguments, t.id AS thought, t.output, t.emptied, t.conversation,
               t.audience, t.readers FROM approvals a
        JOIN thoughts t ON t.id = CASE WHEN json_valid(a.arguments) THEN json_extract(a.arguments, '$.thought') END
        WHERE a.conversation = :id AND a.{_ITS_PROPOSAL} AND a.state IN ('used', 'refused')
          AND NOT EXISTS (SELECT 1 FROM thought_sources s WHERE s.source = a.id)
        ORDER BY a.decided_ms, a.id LIMIT :most
        """,  # noqa: S608 - a constant
        id=str(conversation),
        most=MOST_PERCEIVED,
    )
    return tuple(_settled(row, conversation, readers) for row in rows)


def _settled(row: sqlite3.Row, conversation: ConversationKey, readers: Readers) -> Settled:
    field = str(object_or_nothing(row["arguments"]).get("field", ""))
    shown = not row["emptied"] and came_before(row, conversation, readers)
    value = object_or_nothing(row["output"]).get(field) if shown else None
    return Settled(row["id"], row["thought"], field, row["state"] == "used", "" if value is None else as_json(value))
