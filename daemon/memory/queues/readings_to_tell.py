"""Notes in the outbox that inform a person, once, that an admin looked at their words."""

from datetime import UTC, datetime
from typing import Final

from daemon.core.initiative import QuietHours, QuietThere
from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.ports.channel import Room
from daemon.core.sentences import SENTENCES
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.emptied_posts import note_in_conversation
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import read_row
from daemon.memory.worker_store import WorkerStore

DAY_MS: Final = 86_400_000
"""The shortest time between two such notes to a person."""

_GIVEN_UP_MS: Final = 30 * DAY_MS
_AT_ONCE: Final = 20
_KEY: Final = "soul = :soul AND workspace = :workspace AND person = :person"


class Telling(Value):
    """An admin's look at words of `person` (with time zone `zone`), of which the person doesn't know."""

    person: str
    first_ms: int
    last_ms: int
    zone: str = ""

    @property
    def when(self) -> str:
        moments = [f"{datetime.fromtimestamp(one / 1000, UTC):%Y-%m-%d %H:%M}" for one in (self.first_ms, self.last_ms)]
        return " - ".join(dict.fromkeys(moments))


class ReadingsToTell(WorkerStore):
    """The tellings of one worker's soul."""

    async def due(self) -> tuple[Telling, ...]:
        """Return some of the people to inform now. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT w.person, w.first_ms, w.last_ms, coalesce(z.zone, '') AS zone FROM word_readings w
            LEFT JOIN person_zones z ON z.workspace = w.workspace AND z.person = w.person
            WHERE w.soul = :soul AND w.workspace = :workspace AND w.first_ms IS NOT NULL AND w.next_ms <= :now
            ORDER BY w.next_ms LIMIT :most
            """,
            now=self._clock.now_ms(),
            most=_AT_ONCE,
            **self._worker.scope,
        )
        return tuple(read_row(Telling, row) for row in rows)

    async def room_of(self, person: str) -> Room | None:
        """Return the DM in which the soul has met the person, or None. Raises StoreError."""
        row = await self._database.one(
            """
            SELECT c.channel, c.audience FROM user_models u
            JOIN conversations c ON c.soul = u.soul AND c.workspace = u.workspace AND c.audience = u.audience
            WHERE u.soul = :soul AND u.workspace = :workspace AND u.person = :person AND c.place = 'dm'
            ORDER BY c.last_ms DESC LIMIT 1
            """,
            person=person,
            **self._worker.scope,
        )
        return Room(row["channel"], Place.DM, Audience.parse(row["audience"])) if row else None

    async def tell(self, telling: Telling, room: Room, quiet: QuietHours) -> bool:
        """Queue the note outside `quiet` hours. False: another look or daemon came first. Raises StoreError."""
        now = self._clock.now_ms()
        where = ConversationKey(self._worker.soul, self._worker.workspace, room.channel)

        async def unit(transaction: Transaction) -> bool:
            claimed = await transaction.one(
                f"""
                UPDATE word_readings SET first_ms = NULL, next_ms = :next
                WHERE {_KEY} AND first_ms = :first AND last_ms = :last RETURNING 1
                """,  # noqa: S608 - a constant
                next=now + DAY_MS,
                person=telling.person,
                first=telling.first_ms,
                last=telling.last_ms,
                **self._worker.scope,
            )
            if claimed is None:
                return False
            await open_conversation(transaction, where, room.place, room.audience, now)
            await note_in_conversation(
                transaction,
                str(where),
                f"read:{telling.first_ms}",
                SENTENCES["words_read"].format(when=telling.when),
                reply_to="",
                recipient=telling.person,
                now=now,
                quiet=QuietThere(quiet, telling.zone),
            )
            return True

        return await self._database.write(unit)

    async def wait(self, telling: Telling, until_ms: int) -> None:
        """Inform a person no earlier than at a moment (ms, UTC). Raises StoreError."""
        await self._database.run(
            f"UPDATE word_readings SET next_ms = :next WHERE {_KEY}",  # noqa: S608 - a constant
            next=until_ms,
            person=telling.person,
            **self._worker.scope,
        )

    async def put_off(self, telling: Telling, seconds: float) -> bool:
        """Try a person again later, or give up after a month and return False. Raises StoreError."""
        now = self._clock.now_ms()
        given_up = now - telling.first_ms > _GIVEN_UP_MS
        await self._database.run(
            f"""
            UPDATE word_readings SET next_ms = :next, first_ms = CASE WHEN :given_up THEN NULL ELSE first_ms END
            WHERE {_KEY}
            """,  # noqa: S608 - a constant
            next=now + int(seconds * 1000),
            given_up=given_up,
            person=telling.person,
            **self._worker.scope,
        )
        return not given_up
