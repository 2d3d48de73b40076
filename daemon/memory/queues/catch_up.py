"""The progress of reading the platform's history, and the channels and threads still to read after a gap."""

import math
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final

from daemon.core.perception import BESIDE
from daemon.core.ports import HeardPlace, UnreadPlace
from daemon.core.ports.services import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.alarms import Duty
from daemon.memory.records import read_row

_DELIVERIES_KEPT_MS: Final = 48 * 3600 * 1000  # Slack retries within minutes, catch-up reads a day
_AT_ONCE: Final = 50  # places that one transaction adds: it holds the write lock for a moment only
_COUNTED: Final = 10_000
_NEXT: Final = "failures, heard_ms DESC, channel, thread"
_WAITED_LONGEST: Final = "failures, due_ms, heard_ms DESC, channel, thread"


class CatchUpStore:
    """The store that implements the `CatchUpLog` port."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def watermark(self, soul: str, workspace: str) -> str | None:
        row = await self._database.one(
            "SELECT ts FROM watermarks WHERE soul = :soul AND workspace = :workspace", soul=soul, workspace=workspace
        )
        return None if row is None or float(row["ts"]) * 1000 > self._clock.now_ms() else str(row["ts"])

    async def ask(self, soul: str, workspace: str) -> None:
        await self._duty(soul, workspace).ask()

    def turn(self, soul: str, workspace: str) -> AbstractAsyncContextManager[float]:
        return self._duty(soul, workspace).turn()

    def _duty(self, soul: str, workspace: str) -> Duty:
        return Duty(self._database, self._clock, f"catch-up of {soul} in {workspace}")

    async def advance(self, soul: str, workspace: str, ts: str) -> None:
        """Advance the watermark, forget the places that were read, and delete event ids too old to be repeated."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            await transaction.insert(
                "watermarks",
                """
                ON CONFLICT (soul, workspace) DO UPDATE SET ts = excluded.ts, updated_ms = excluded.updated_ms
                WHERE CAST(excluded.ts AS DOUBLE PRECISION) > CAST(watermarks.ts AS DOUBLE PRECISION)
                   OR CAST(watermarks.ts AS DOUBLE PRECISION) * 1000 > excluded.updated_ms
                """,
                soul=soul,
                workspace=workspace,
                ts=ts,
                updated_ms=now,
            )
            await transaction.run(
                "DELETE FROM unread_places WHERE soul = :soul AND workspace = :workspace AND state = 'read'",
                soul=soul,
                workspace=workspace,
            )
            await transaction.run("DELETE FROM deliveries WHERE seen_ms < :old", old=now - _DELIVERIES_KEPT_MS)

        await self._database.write(unit)

    async def heard_places(self, workspace: str, since_ms: int, older: int) -> tuple[tuple[HeardPlace, ...], int]:
        given: dict[str, object] = {"workspace": workspace, "since": since_ms, "beside": BESIDE}

        async def unit(transaction: Transaction) -> tuple[tuple[HeardPlace, ...], int]:
            recent = await transaction.rows(
                """
                SELECT channel, thread, last_ms FROM conversations
                WHERE workspace = :workspace AND last_ms >= :since AND thread <> :beside ORDER BY last_ms DESC
                """,
                **given,
            )
            earlier = await transaction.rows(
                """
                SELECT channel, thread, last_ms FROM conversations
                WHERE workspace = :workspace AND last_ms < :since AND thread NOT IN ('', :beside)
                ORDER BY last_ms DESC LIMIT :most
                """,
                **given,
                most=older + _COUNTED,
            )
            places = tuple(read_row(HeardPlace, row) for row in (*recent, *earlier[:older]))
            return places, len(earlier[older:])

        return await self._database.read(unit)

    async def add_unread(self, soul: str, workspace: str, places: Sequence[UnreadPlace]) -> None:
        for start in range(0, len(places), _AT_ONCE):
            await self._add(soul, workspace, places[start : start + _AT_ONCE])

    async def _add(self, soul: str, workspace: str, places: Sequence[UnreadPlace]) -> None:
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> None:
            for place in places:
                await transaction.insert(
                    "unread_places",
                    """
                    ON CONFLICT (soul, workspace, channel, thread) DO UPDATE SET
                      state = 'due', resume = '', failures = 0,
                      due_ms = CASE WHEN unread_places.state = 'due' THEN unread_places.due_ms
                                    ELSE excluded.due_ms END,
                      heard_ms = CASE WHEN unread_places.heard_ms > excluded.heard_ms THEN unread_places.heard_ms
                                      ELSE excluded.heard_ms END
                    """,
                    soul=soul,
                    workspace=workspace,
                    channel=place.channel,
                    thread=place.thread,
                    state="due",
                    since=place.since,
                    heard_ms=place.heard_ms,
                    due_ms=now,
                )

        await self._database.write(unit)

    async def next_unread(
        self, soul: str, workspace: str, *, most_failures: int, waited_longest: bool = False
    ) -> UnreadPlace | None:
        row = await self._database.one(
            f"""
            SELECT channel, thread, since, resume, heard_ms, failures FROM unread_places
            WHERE soul = :soul AND workspace = :workspace AND state = 'due' AND failures < :most
            ORDER BY {_WAITED_LONGEST if waited_longest else _NEXT} LIMIT 1
            """,  # noqa: S608  # two literals of this module
            soul=soul,
            workspace=workspace,
            most=most_failures,
        )
        return read_row(UnreadPlace, row) if row else None

    async def put_off(self, soul: str, workspace: str, place: UnreadPlace) -> None:
        await self._database.run(
            """
            UPDATE unread_places SET resume = :resume, failures = :failures
            WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND thread = :thread
            """,
            soul=soul,
            workspace=workspace,
            channel=place.channel,
            thread=place.thread,
            resume=place.resume,
            failures=place.failures,
        )

    async def mark_read(self, soul: str, workspace: str, place: UnreadPlace, next_since: str) -> None:
        await self._database.run(
            """
            UPDATE unread_places SET state = 'read', since = :since, resume = '', failures = 0
            WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND thread = :thread
            """,
            soul=soul,
            workspace=workspace,
            channel=place.channel,
            thread=place.thread,
            since=next_since,
        )

    async def mark_quiet(self, soul: str, workspace: str, channel: str, latest: Mapping[str, str]) -> None:
        rows = await self._database.rows(
            """
            SELECT thread, since FROM unread_places
            WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND thread <> '' AND state = 'due'
            """,
            soul=soul,
            workspace=workspace,
            channel=channel,
        )
        quiet = [row["thread"] for row in rows if _is_older(latest.get(row["thread"]), row["since"])]

        async def unit(transaction: Transaction) -> None:
            for thread in quiet:
                await transaction.run(
                    """
                    UPDATE unread_places SET state = 'read'
                    WHERE soul = :soul AND workspace = :workspace AND channel = :channel AND thread = :thread
                    """,
                    soul=soul,
                    workspace=workspace,
                    channel=channel,
                    thread=thread,
                )

        if quiet:
            await self._database.write(unit)

    async def known_messages(
        self, workspace: str, channel: str, timestamps: Collection[str], receiver: str
    ) -> frozenset[str]:
        if not timestamps:
            return frozenset()
        rows = await self._database.rows(
            """
            SELECT ts FROM inbox
            WHERE workspace = :workspace AND channel = :channel AND ts >= :oldest AND ts <= :newest
              AND receiver IN ('', :receiver) AND modality = 'words'
            """,
            workspace=workspace,
            channel=channel,
            oldest=min(timestamps),
            newest=max(timestamps),
            receiver=receiver,
        )
        return frozenset(row["ts"] for row in rows).intersection(timestamps)

    async def known_posts(
        self, workspace: str, channel: str, thread: str, timestamps: Collection[str]
    ) -> frozenset[str]:
        """Return the known posts among these timestamps, as `CatchUpLog.known_posts` says.

        A post on its way has no platform ts yet. Messages newer than its `newer_than_ts` count as known.
        """
        where = {"workspace": workspace, "channel": channel}

        async def unit(transaction: Transaction) -> frozenset[str]:
            known = set()
            for ts in timestamps:
                row = await transaction.one(
                    """
                    SELECT 1 FROM outbox o JOIN conversations c ON c.id = o.conversation
                    WHERE o.platform_ts = :ts AND o.workspace = :workspace AND c.channel = :channel
                    """,
                    ts=ts,
                    **where,
                )
                if row is not None:
                    known.add(ts)
            on_their_way = await transaction.rows(
                """
                SELECT o.newer_than_ts FROM outbox o JOIN conversations c ON c.id = o.conversation
                WHERE o.state IN ('drafting', 'pending', 'sending') AND o.platform_ts IS NULL AND o.reply_to = :thread
                  AND o.workspace = :workspace AND c.channel = :channel
                """,
                thread=thread,
                **where,
            )
            since = min((float(row["newer_than_ts"] or "0") for row in on_their_way), default=math.inf)
            return frozenset(known | {ts for ts in timestamps if float(ts) > since})

        return await self._database.read(unit)


def _is_older(latest: str | None, since: str) -> bool:
    return latest is not None and float(latest or "0") < float(since)
