"""Forgetting a whole person, step by step, also after a killed daemon.

`asked`: the tombstone is in memory.db and in its file, and the words leave the index piece by piece. `erased`: one
transaction deleted everything. `done`: no page of a file holds the words any more.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from daemon.core.concurrency import in_background
from daemon.core.last_line import LastLine
from daemon.core.ports.services import Clock, Emit
from daemon.memory.database import Database, Transaction
from daemon.memory.database.sqlite import run_unit, sqlite3
from daemon.memory.knowledge.turn_index import unindex, wipe
from daemon.memory.people.erasure import Spared, erase, turns_of
from daemon.memory.people.repeated import Repeats, find_repeats
from daemon.memory.people.residues import clear_leftovers
from daemon.memory.people.tombstones import (
    Tombstone,
    all_tombstones,
    platform_ms,
    platform_now,
    read_file,
    tombstone_of,
    write_file,
)
from daemon.memory.records import as_json

T = TypeVar("T")

_AT_ONCE: Final = 100  # turns taken out of the index in one transaction, which has to be short
_REST: Final = 2.0  # times as long as a transaction took
_EVERY_S: Final = 20.0
_LATE_MS: Final = 30_000  # until then the process that took the request works on it
_PEOPLE: Final = """
    SELECT author AS person, workspace FROM inbox WHERE author <> ''
    UNION SELECT t.author, c.workspace FROM turns t JOIN conversations c ON c.id = t.conversation
      WHERE t.speaker = 'person'
    UNION SELECT person, workspace FROM user_models UNION SELECT person, workspace FROM person_zones
    UNION SELECT person, workspace FROM records WHERE person <> '' UNION SELECT behalf, workspace FROM intentions
    UNION SELECT person, workspace FROM sessions WHERE person <> ''
    UNION SELECT k.person, w.workspace FROM keys k CROSS JOIN (SELECT DISTINCT workspace FROM conversations
      UNION SELECT workspace FROM presence UNION SELECT workspace FROM sessions) w WHERE k.person <> ''
"""


class ForgettingPeople:
    """The forgetting of people for all souls of memory.db.

    `folder` is SOUL_HOME, `index` that of the vectors. `ring` is called after an erasure, because shared contexts may
    have changed.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        emit: Emit,
        folder: Path,
        index: Path,
        *,
        ring: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._clock = clock
        self._emit = emit
        self._folder = folder
        self._index = index
        self._ring = ring

    async def ask(self, workspace: str, person: str, spared: Spared = Spared(), ts: str = "") -> str:  # noqa: B008 - it is frozen
        """Order that a person be forgotten, durably. Return the order's id.

        `ts` is that of the request: messages up to it (Slack's clock) don't come back, later ones are handled. Without
        `ts`, Slack's time now counts, as far as known. An inbox row orders at most once. Raises StoreError.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> str:
            known = await transaction.one(
                "SELECT id FROM tombstones WHERE spared = :spared AND spared <> :nowhere",
                spared=_spared(spared),
                nowhere=_spared(Spared()),
            )
            if known is not None:
                found: str = known["id"]
                return found
            said = platform_ms(ts) or await platform_now(transaction, workspace, now)
            stone = tombstone_of(workspace, person, now, said)
            await _put(transaction, stone, person, _spared(spared), now)
            return stone.id

        return await self._database.write(unit)

    async def knows(self, spared: Spared) -> bool:
        """Return True if that inbox row ordered before, as after a kill. Raises StoreError."""
        found = await self._database.one("SELECT 1 FROM tombstones WHERE spared = :spared", spared=_spared(spared))
        return found is not None

    async def finish(self, order_id: str) -> Mapping[str, int]:
        """Carry an order out from its current state.

        Return the counts of deleted rows by store. If old pages can't be wiped now, as during a backup, `run` finishes
        later. Raises StoreError.
        """
        while (order := await self._order(order_id)) is not None:
            if order["state"] == "asked":
                stones = await self._database.read(all_tombstones)
                await in_background(partial(write_file, self._folder, stones))
                repeats = await self._take_out(order)
                await self._database.write(partial(_erase, order=order, now=self._clock.now_ms(), repeats=repeats))
                self._ring()
                stones = await self._database.read(all_tombstones)
                await in_background(partial(write_file, self._folder, stones))
                self._emit("memory.person_erased", order=order_id)
            elif not await self._clear(order):
                self._emit("memory.wiping_waits", order=order_id)
                break
        row = await self._database.one("SELECT stores FROM tombstones WHERE id = :id", id=order_id)
        return dict(json.loads(row["stores"])) if row else {}

    async def adopt(self) -> int:
        """Order the forgetting of people whom only the tombstones' file names, and return their number."""
        stones = await in_background(partial(read_file, self._folder))
        return await self._database.write(partial(_adopt, stones=stones, now=self._clock.now_ms()))

    async def run(self) -> None:
        """Finish open orders at intervals, until cancelled."""
        while True:
            await self._attempt(self.adopt())
            for order_id in await self._attempt(self._left()) or ():
                await self._attempt(self.finish(order_id))
            await self._clock.sleep(_EVERY_S)

    async def _attempt(self, work: Awaitable[T]) -> T | None:
        try:
            return await work
        except Exception as error:  # noqa: BLE001 - one person must not hold up the others
            LastLine(self._clock, self._emit).tell("forgetting", error)
            return None

    async def _left(self) -> list[str]:
        rows = await self._database.rows(
            """
            SELECT id FROM tombstones WHERE state <> 'done' AND (spared = :nowhere OR asked_ms < :late)
            ORDER BY asked_ms
            """,
            nowhere=_spared(Spared()),
            late=self._clock.now_ms() - _LATE_MS,
        )
        return [row["id"] for row in rows]

    async def _order(self, order_id: str) -> sqlite3.Row | None:
        return await self._database.one("SELECT * FROM tombstones WHERE id = :id AND state <> 'done'", id=order_id)

    async def _take_out(self, order: sqlite3.Row) -> Repeats:
        """Remove the turns from the index in short transactions. Return the soul's repeats, which are deleted too."""
        theirs = await self._database.read(partial(turns_of, workspace=order["workspace"], person=order["person"]))
        repeats = await find_repeats(self._database.rows, order["workspace"], order["person"], theirs)
        seqs = [*theirs, *repeats.turns]
        for start in range(0, len(seqs), _AT_ONCE):
            began = self._clock.monotonic()
            await self._database.write(partial(unindex, seqs=seqs[start : start + _AT_ONCE]))
            await self._clock.sleep(_REST * (self._clock.monotonic() - began))
        return repeats

    async def _clear(self, order: sqlite3.Row) -> bool:
        """Wipe deleted words from the pages of files, and files without a row. Return False if some are left."""
        await wipe(self._database, self._clock)
        await clear_leftovers(self._database, self._clock, self._folder, self._index, json.loads(order["gone"]))
        await self._database.run("UPDATE tombstones SET person = '', gone = '[]' WHERE id = :id", id=order["id"])
        if await self._database.checkpoint(whole=True):
            return False
        await self._database.run("UPDATE tombstones SET state = 'done' WHERE id = :id", id=order["id"])
        return True


def forget_again(connection: sqlite3.Connection, folder: Path, now: int) -> int:
    """Forget again in a restored file, before its use, the people of the tombstones.

    Return their number. The daemon that opens the file wipes its pages. Raises StoreError or sqlite3.Error.
    """
    stones = read_file(folder)

    async def unit(transaction: Transaction) -> int:
        number = await _adopt(transaction, stones, now)
        for order in await transaction.rows("SELECT * FROM tombstones WHERE state = 'asked'"):
            theirs = await turns_of(transaction, order["workspace"], order["person"])
            repeats = await find_repeats(transaction.rows, order["workspace"], order["person"], theirs)
            await _erase(transaction, order, now, repeats)
        return number

    number = run_unit(unit, connection)
    for row in connection.execute("SELECT name FROM erased_words").fetchall() if number else ():
        connection.execute(f"INSERT INTO {row[0]}_index ({row[0]}_index) VALUES ('optimize')")  # noqa: S608 - our names
    return number


async def workspaces_of(database: Database, person: str) -> list[str]:
    """Return the workspaces with rows about a person. Raises StoreError."""
    rows = await database.rows(f"SELECT DISTINCT workspace FROM ({_PEOPLE}) WHERE person = :person", person=person)  # noqa: S608 - a constant
    return [row["workspace"] for row in rows]


async def _erase(transaction: Transaction, order: sqlite3.Row, now: int, repeats: Repeats) -> None:
    """Delete all rows of one person, once. The tombstone covers everything stored up to now."""
    claimed = await transaction.one(
        "UPDATE tombstones SET state = 'erased', forgotten_ms = :now WHERE id = :id AND state = 'asked' RETURNING id",
        now=now,
        id=order["id"],
    )
    if claimed is None:
        return  # another daemon was first
    spared, said_ms = Spared(*json.loads(order["spared"])), order["said_ms"]
    erased = await erase(transaction, order["workspace"], order["person"], spared, now, said_ms, repeats)
    await transaction.run(
        "UPDATE tombstones SET stores = :stores, gone = :gone WHERE id = :id",
        stores=as_json(dict(erased.stores)),
        gone=as_json(list(erased.gone)),
        id=order["id"],
    )


async def _adopt(transaction: Transaction, stones: tuple[Tombstone, ...], now: int) -> int:
    known = {one.id for one in await all_tombstones(transaction)}
    unknown = [one for one in stones if one.id not in known]
    if not unknown:
        return 0
    number = 0
    people = await transaction.rows(_PEOPLE)
    for stone in unknown:
        found = [row["person"] for row in people if row["workspace"] == stone.workspace and stone.is_of(row["person"])]
        await _put(transaction, stone, found[0] if found else "", _spared(Spared()), now)
        number += bool(found)
    return number


async def _put(transaction: Transaction, stone: Tombstone, person: str, spared: str, now: int) -> None:
    await transaction.insert(
        "tombstones",
        id=stone.id,
        workspace=stone.workspace,
        salt=stone.salt,
        digest=stone.digest,
        forgotten_ms=stone.forgotten_ms,
        said_ms=stone.said_ms,
        state="asked" if person else "done",
        person=person,
        spared=spared,
        asked_ms=now,
    )


def _spared(spared: Spared) -> str:
    return as_json([spared.conversation, spared.message])
