"""The one post that asks a person whether the soul shall still answer what they wrote while it was away.

It stands in their direct messages, with two buttons, for a day. What turns out to be unanswered meanwhile joins it, so
that no person is asked twice.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import ConversationKey, Place
from daemon.core.ports.channel import Room
from daemon.core.timetable import surely_past
from daemon.memory.database import Transaction
from daemon.memory.database.driver import sqlite3
from daemon.memory.queues.conversation_rows import open_conversation
from daemon.memory.queues.missed_messages import STILL_OPEN, decide_missed
from daemon.memory.queues.offered_answers import OFFERED_MS, withdraw_offer
from daemon.memory.records import as_json, conversation_columns
from daemon.memory.worker_store import WorkerStore

_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class MissedMessage:
    """A message that a person wrote somewhere; `asked`: a post asks about it already."""

    id: str
    channel: str
    place: Place
    language: str
    asked: bool


class LateOffers(WorkerStore):
    """The posts by which one worker's soul asks."""

    async def people(self) -> tuple[str, ...]:
        """Some of those with messages about which they were not asked yet. Raises StoreError."""
        rows = await self._database.rows(
            """
            SELECT DISTINCT person FROM missed_messages
            WHERE soul = :soul AND workspace = :workspace AND offer = '' ORDER BY person LIMIT :most
            """,
            most=_AT_ONCE,
            **self._worker.scope,
        )
        return tuple(row["person"] for row in rows)

    async def of(self, person: str) -> tuple[MissedMessage, ...]:
        """What a person can still be asked about, the oldest first. Raises StoreError."""
        rows = await self._database.rows(
            f"""
            SELECT m.id, i.channel, i.place, m.language, m.offer <> '' AS asked
            FROM missed_messages m JOIN inbox i ON i.id = m.id
            WHERE m.soul = :soul AND m.workspace = :workspace AND m.person = :person AND {STILL_OPEN}
            ORDER BY CAST(i.ts AS REAL)
            """,  # noqa: S608 - a constant of this package
            person=person,
            **self._worker.scope,
        )
        return tuple(
            MissedMessage(row["id"], row["channel"], Place(row["place"]), row["language"], bool(row["asked"]))
            for row in rows
        )

    async def drop(self, person: str, but: Sequence[str] = ()) -> None:
        """Ask a person about none of the messages that wait, except some by their ids. Raises StoreError."""
        await self._database.run(
            """
            DELETE FROM missed_messages WHERE soul = :soul AND workspace = :workspace AND person = :person
              AND offer = '' AND id NOT IN (SELECT value FROM json_each(:but))
            """,
            person=person,
            but=json.dumps(list(but)),
            **self._worker.scope,
        )

    async def ask(
        self, person: str, room: Room, body: str, answers: Sequence[str], messages: Sequence[MissedMessage]
    ) -> bool:
        """Ask about messages, or say in the post that asks already that it is about all of them.

        False where another daemon was first, or the post is being sent at this moment. Raises StoreError.
        """
        now = self._clock.now_ms()
        where = ConversationKey(self._worker.soul, self._worker.workspace, room.channel)
        unasked = json.dumps([one.id for one in messages if not one.asked])

        async def unit(transaction: Transaction) -> bool:
            stands = await self._standing(transaction, person, now)
            if stands is not None and stands["state"] not in {"pending", "sent"}:
                return False
            offer = stands["id"] if stands is not None else f"{where}!away:{now}:{person}"
            joined = await transaction.rows(
                """
                UPDATE missed_messages SET offer = :offer
                WHERE offer = '' AND id IN (SELECT value FROM json_each(:ids)) RETURNING id
                """,
                offer=offer,
                ids=unasked,
            )
            if not joined:
                return False
            if stands is not None:
                await _say_anew(transaction, offer, body, now)
                return True
            await open_conversation(transaction, where, room.place, room.audience, now)
            await transaction.insert(
                "outbox",
                id=offer,
                **conversation_columns(where),
                part=0,
                last=0,
                body=body,
                reply_to="",
                recipient=person,
                newer_than_ts=surely_past(now),
                audience=str(room.audience),
                answers=as_json(list(answers)),
                late=1,
                unasked=1,
                state="pending",
                created_ms=now,
            )
            return True

        return await self._database.write(unit)

    async def lapse(self, words: Callable[[str], str]) -> int:
        """End the posts that asked for a day in vain; `words` gives the note below them in a language.

        Gives how many there were. Raises StoreError.
        """
        now = self._clock.now_ms()
        due = """
            SELECT m.offer, max(m.language) AS language FROM missed_messages m LEFT JOIN outbox o ON o.id = m.offer
            WHERE m.soul = :soul AND m.workspace = :workspace AND m.offer <> ''
              AND (o.id IS NULL OR o.created_ms <= :old) GROUP BY m.offer
        """
        values = {"old": now - OFFERED_MS, **self._worker.scope}
        if not await self._database.rows(due, **values):
            return 0

        async def unit(transaction: Transaction) -> int:
            rows = await transaction.rows(due, **values)
            for row in rows:
                await withdraw_offer(transaction, row["offer"], f"\n\n_{words(row['language'])}_", now)
                await decide_missed(transaction, row["offer"], now, answer=False)
            return len(rows)

        return await self._database.write(unit)

    async def _standing(self, transaction: Transaction, person: str, now: int) -> sqlite3.Row | None:
        """The post that asks the person, if one still does."""
        return await transaction.one(
            """
            SELECT id, state FROM outbox
            WHERE id IN (SELECT offer FROM missed_messages WHERE soul = :soul AND workspace = :workspace
                                                             AND person = :person AND offer <> '')
              AND answers <> '' AND created_ms > :old AND state IN ('pending', 'sending', 'sent')
            ORDER BY seq DESC LIMIT 1
            """,
            person=person,
            old=now - OFFERED_MS,
            **self._worker.scope,
        )


async def _say_anew(transaction: Transaction, offer: str, body: str, now: int) -> None:
    """Put other words over the buttons of a post that asks; where it is posted, by changing it."""
    await transaction.run("UPDATE outbox SET body = :body WHERE id = :id", body=body, id=offer)
    await transaction.run(
        """
        INSERT INTO outbox (id, conversation, soul, workspace, part, last, body, reply_to, recipient, newer_than_ts,
                            audience, state, created_ms, revises, answers, late, unasked)
        SELECT id || '!joined:' || :now, conversation, soul, workspace, part, last, body, reply_to, recipient,
               newer_than_ts, audience, 'pending', :now, platform_ts, answers, late, unasked
        FROM outbox WHERE id = :id AND platform_ts IS NOT NULL
        ON CONFLICT (id) DO NOTHING
        """,
        now=now,
        id=offer,
    )
