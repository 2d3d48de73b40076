"""The private rooms of each user, as the platform reported them within minutes, in one list for all daemons."""

import secrets
from collections.abc import Collection
from typing import Final

from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports import RoomListKey
from daemon.core.ports.services import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.forgetting import make_private, times_narrowed
from daemon.memory.knowledge.user_models import keep_zones, zone_in
from daemon.memory.queues.claims import ReadersChanged

MOST_ROOMS: Final = 32
"""The most rooms that are recalled in one DM, those in which the soul spoke last."""

_FORGOTTEN_MS: Final = 3_600_000  # after which no list is read any more, or about to be stored


class PersonRoomsStore:
    """The store that implements the `PersonRooms` port.

    News of a room or a user outdates the lists that were read before it, and one being read. The commit of a reply
    checks the rooms again (`require_rooms`).
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def known(self, key: RoomListKey, soul: str, since_ms: int) -> frozenset[str] | None:
        async def unit(transaction: Transaction) -> frozenset[str] | None:
            found = await transaction.one(
                """
                SELECT 1 FROM room_lists
                WHERE workspace = :workspace AND person = :person AND app = :app AND read_ms >= :since
                """,
                since=max(1, since_ms),
                **_columns(key),
            )
            if found is None:
                return None
            rows = await transaction.rows(
                f"""
                SELECT m.room FROM room_members m JOIN conversations c
                  ON c.soul = :soul AND c.workspace = m.workspace AND c.channel = m.room
                WHERE m.workspace = :workspace AND m.person = :person AND m.app = :app
                GROUP BY m.room ORDER BY max(c.last_ms) DESC LIMIT {MOST_ROOMS}
                """,  # noqa: S608 - a constant
                soul=soul,
                **_columns(key),
            )
            return frozenset(row["room"] for row in rows)

        return await self._database.read(unit)

    async def lists(self, key: RoomListKey, room: str, since_ms: int) -> bool:
        row = await self._database.one(
            """
            SELECT 1 FROM room_lists l JOIN room_members m
              ON m.workspace = l.workspace AND m.person = l.person AND m.app = l.app
            WHERE l.workspace = :workspace AND l.person = :person AND l.app = :app AND l.read_ms >= :since
              AND m.room = :room
            """,
            room=room,
            since=max(1, since_ms),
            **_columns(key),
        )
        return row is not None

    async def begin(self, key: RoomListKey) -> int:
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> int:
            row = await transaction.insert(
                "room_lists",
                "ON CONFLICT DO UPDATE SET touched_ms = excluded.touched_ms RETURNING changes",
                touched_ms=now,
                **_columns(key),
            )
            assert row is not None
            changes: int = row["changes"]
            return changes

        return await self._database.write(unit)

    async def keep(self, key: RoomListKey, rooms: Collection[str], begun: int, asked_ms: int) -> bool:
        """Store a list of rooms, unless news outdated it since `begun`. Lists of an hour ago are deleted."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> bool:
            row = await transaction.one(
                """
                UPDATE room_lists SET read_ms = :asked, touched_ms = :now
                WHERE workspace = :workspace AND person = :person AND app = :app AND changes = :begun RETURNING 1
                """,
                asked=asked_ms,
                now=now,
                begun=begun,
                **_columns(key),
            )
            if row is None:
                return False
            await transaction.run(
                "DELETE FROM room_members WHERE workspace = :workspace AND person = :person AND app = :app",
                **_columns(key),
            )
            for room in dict.fromkeys(rooms):
                await transaction.insert("room_members", room=room, **_columns(key))
            await _drop_old(transaction, now)
            return True

        return await self._database.write(unit)

    async def outdate(self, workspace: str, *, person: str = "", room: str = "") -> None:
        async def unit(transaction: Transaction) -> None:
            if room:
                await transaction.run(
                    """
                    DELETE FROM room_members
                    WHERE workspace = :workspace AND room = :room AND (:person = '' OR person = :person)
                    """,
                    workspace=workspace,
                    room=room,
                    person=person,
                )
            await transaction.run(
                """
                UPDATE room_lists SET changes = changes + 1, read_ms = 0
                WHERE workspace = :workspace AND (:person = '' OR person = :person)
                """,
                workspace=workspace,
                person=person,
            )

        await self._database.write(unit)

    async def open_rooms(self, workspace: str) -> frozenset[str]:
        rows = await self._database.rows(
            "SELECT DISTINCT channel FROM conversations WHERE workspace = :workspace AND opened", workspace=workspace
        )
        return frozenset(row["channel"] for row in rows)

    async def doubt(self, workspace: str, room: str = "") -> None:
        await self._database.run(
            """
            UPDATE conversations SET members_only = NULL
            WHERE workspace = :workspace AND members_only = 1 AND (:room = '' OR channel = :room)
            """,
            workspace=workspace,
            room=room,
        )

    async def moved(self, workspace: str, person: str, zone: str) -> bool:
        """Store a known user's new time zone, and return whether it changed. Nothing is stored of unknown users."""
        known = await self._database.read(lambda transaction: zone_in(transaction, workspace, person))
        if not known or known == zone:
            return False
        now = self._clock.now_ms()
        await self._database.write(lambda transaction: keep_zones(transaction, workspace, {person: zone}, now))
        return True

    async def reminded(self, workspace: str, most: int) -> tuple[str, ...]:
        rows = await self._database.rows(
            """
            SELECT behalf FROM intentions
            WHERE state = 'waiting' AND workspace = :workspace AND every <> '' AND paused = ''
            GROUP BY behalf ORDER BY min(due_ms) LIMIT :most
            """,
            workspace=workspace,
            most=most,
        )
        return tuple(row["behalf"] for row in rows)

    async def make_private(self, workspace: str, room: str) -> None:
        now, members = self._clock.now_ms(), Audience(AudienceKind.CHANNEL, room)
        await self._database.write(lambda transaction: make_private(transaction, workspace, room, members, now))


async def require_no_narrowing(transaction: Transaction, workspace: str, times: int) -> None:
    """Raise ReadersChanged if a channel was made private more often than `times`: a reply may rest on its words."""
    if await times_narrowed(transaction, workspace) != times:
        raise ReadersChanged("a channel was made private meanwhile", hint="nothing to do: the reply is begun anew")


async def require_rooms(transaction: Transaction, workspace: str, person: str, rooms: Collection[str]) -> None:
    """Raise ReadersChanged if a user is no longer known to be in private rooms that a reply may rest on."""
    if not rooms:
        return
    rows = await transaction.rows(
        "SELECT DISTINCT room FROM room_members WHERE workspace = :workspace AND person = :person",
        workspace=workspace,
        person=person,
    )
    if not set(rooms) <= {row["room"] for row in rows}:
        raise ReadersChanged(
            f"{person} has left a room whose words may be in the reply",
            hint="nothing to do: the reply is begun anew",
        )


async def _drop_old(transaction: Transaction, now: int) -> None:
    await transaction.run(
        """
        DELETE FROM room_members WHERE EXISTS
          (SELECT 1 FROM room_lists l WHERE l.workspace = room_members.workspace AND l.person = room_members.person
             AND l.app = room_members.app AND l.touched_ms < :old)
        """,
        old=now - _FORGOTTEN_MS,
    )
    await transaction.run("DELETE FROM room_lists WHERE touched_ms < :old", old=now - _FORGOTTEN_MS)


def _columns(key: RoomListKey) -> dict[str, object]:
    return {"workspace": key.workspace, "person": key.person, "app": key.app}


_KEPT_MS: Final = 3_600_000  # channels remember what they know of a room for ten minutes


class RoomNewsStore:
    """The store that implements the `RoomNews` port. It doesn't return its own news."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._me = secrets.token_hex(8)
        self._database = database
        self._clock = clock

    async def tell(self, workspace: str, subjects: Collection[str]) -> None:
        """Store news of rooms or users. News of an hour ago is deleted."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            for subject in subjects:
                await transaction.insert("room_news", teller=self._me, workspace=workspace, subject=subject, at_ms=now)
            await transaction.run("DELETE FROM room_news WHERE at_ms < :old", old=now - _KEPT_MS)

        await self._database.write(unit)

    async def changed(self, workspace: str, after: int) -> tuple[frozenset[str], int]:
        rows = await self._database.rows(
            """
            SELECT seq, subject FROM room_news
            WHERE seq > :after AND workspace = :workspace AND teller <> :me ORDER BY seq
            """,
            after=after,
            me=self._me,
            workspace=workspace,
        )
        return frozenset(str(row["subject"]) for row in rows), int(rows[-1]["seq"]) if rows else after
