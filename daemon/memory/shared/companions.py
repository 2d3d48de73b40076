"""Statements over the companions of sessions: at which daemon one waits, and with what its session is woken."""

from daemon.core.notes import SharedMessage
from daemon.core.sessions import CodeSession, KeyOwner, Lost, SessionState
from daemon.memory.database import Database, Transaction
from daemon.memory.shared.questions import offer
from daemon.memory.shared.sessions import end_session, read_session, require_key

_LOST = tuple(Lost)


class CompanionStore:
    """The companions of one workspace's sessions that wait at this daemon."""

    def __init__(self, database: Database, workspace: str) -> None:
        self._database = database
        self._workspace = workspace
        self._daemon = database.processes.own

    async def session(self, process: str, owner: KeyOwner) -> CodeSession | None:
        """The owner's session that runs in a process now; one that was lost is there again.

        Raises KeyEnded once the owner's key is ended, and StoreError.
        """

        async def unit(transaction: Transaction) -> CodeSession | None:
            await require_key(transaction, owner)
            return await self._newest(transaction, process, owner)

        found = await self._database.read(unit)
        return found if found and (found.living or found.reason in _LOST) else None

    async def attach(self, process: str, owner: KeyOwner, *, wakes: bool, now: int) -> CodeSession | None:
        """Note that the companion of the session in a process waits here; gives that session, None where there is none.

        Writes only where that is new. Raises KeyEnded, and StoreError.
        """
        found = await self.session(process, owner)
        if found is None or (found.living and (found.companion, found.wakes) == (self._daemon, wakes)):
            return found

        async def unit(transaction: Transaction) -> CodeSession | None:
            newest = await self._newest(transaction, process, owner)
            if newest is None or not (newest.living or newest.reason in _LOST):
                return None
            row = await transaction.one(
                """
                UPDATE sessions SET companion = :daemon, wakes = :wakes, seen_ms = max(seen_ms, :now), ended_ms = NULL,
                  reason = CASE state WHEN 'gone' THEN '' ELSE reason END,
                  state = CASE state WHEN 'gone' THEN 'idle' ELSE state END
                WHERE id = :id AND (state <> 'gone' OR NOT EXISTS (
                  SELECT 1 FROM sessions o WHERE o.workspace = sessions.workspace AND o.name = sessions.name
                    AND o.state <> 'gone' AND o.id <> sessions.id))
                RETURNING *
                """,
                id=newest.id,
                daemon=self._daemon,
                wakes=wakes,
                now=now,
            )
            return read_session(row) if row else None

        return await self._database.write(unit)

    async def leave(self, process: str, owner: KeyOwner, *, now: int) -> bool:
        """Note that no companion of the session in a process waits here any more: the session has ended.

        Gives whether one was there. Raises StoreError.
        """

        async def unit(transaction: Transaction) -> bool:
            rows = await transaction.rows(
                """
                UPDATE sessions SET companion = '', wakes = 0, seen_ms = max(seen_ms, :now)
                WHERE process = :process AND workspace = :workspace AND person = :person AND key = :key
                  AND companion = :daemon AND state <> 'gone' RETURNING id
                """,
                process=process,
                workspace=self._workspace,
                person=owner.person,
                key=owner.key,
                daemon=self._daemon,
                now=now,
            )
            for row in rows:
                await end_session(transaction, row["id"], Lost.PROCESS, now)
            return bool(rows)

        return await self._database.write(unit)

    async def offer(self, session: CodeSession, now: int) -> SharedMessage | None:
        """The question with which a session that rests is to be woken now, if there is one. Raises StoreError."""

        async def unit(transaction: Transaction) -> SharedMessage | None:
            row = await transaction.one("SELECT state FROM sessions WHERE id = :id", id=session.id)
            if row is None or row["state"] != SessionState.IDLE:
                return None
            return await offer(transaction, session.id, now)

        return await self._database.write(unit)

    async def _newest(self, transaction: Transaction, process: str, owner: KeyOwner) -> CodeSession | None:
        """The session that an owner ran in a process last."""
        row = await transaction.one(
            """
            SELECT * FROM sessions WHERE process = :process AND process <> '' AND workspace = :workspace
              AND person = :person AND key = :key ORDER BY state = 'gone', seen_ms DESC, started_ms DESC LIMIT 1
            """,
            process=process,
            workspace=self._workspace,
            person=owner.person,
            key=owner.key,
        )
        return read_session(row) if row else None
