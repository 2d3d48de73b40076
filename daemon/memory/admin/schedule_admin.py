"""What the person who runs the daemon may see and change by hand of scheduled work and of questions for permission.

Each change is on record, and made in the daemon's own terms, so that a running one finds it at its next look.
"""

from dataclasses import replace

from daemon.core.errors import StoreError
from daemon.core.perception import Audience, ConversationKey, Place
from daemon.core.ports import Clock
from daemon.memory.database import Database, Transaction
from daemon.memory.queues.approvals import Approval, close_question, is_being_posted
from daemon.memory.queues.intentions import Intention, NewIntention, cancel_intentions, store_intentions
from daemon.memory.queues.internal_events import record

INTENTION_STATES = ("waiting", "due", "cancelled")
APPROVAL_STATES = ("waiting", "approved", "refused", "expired", "using", "used", "failed", "unknown")
_CANDIDATES = 8


class Agenda:
    """Lists and changes rows for the admin `actor`, a name of the operating system."""

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        self._database = database
        self._clock = clock
        self._actor = actor

    async def conversation(self, name: str) -> ConversationKey:
        """The conversation whose id is `name` or alone contains it. Raises StoreError that names the candidates."""
        return await self._database.read(lambda transaction: find_conversation(transaction, name))

    async def intentions(self, state: str | None, limit: int) -> tuple[Intention, ...]:
        """Intentions of one state or of all, the next due first where they wait, else the newest."""

        async def unit(transaction: Transaction) -> tuple[Intention, ...]:
            rows = await transaction.rows(
                """
                SELECT * FROM intentions WHERE :state IS NULL OR state = :state
                ORDER BY state <> 'waiting', CASE WHEN state = 'waiting' THEN due_ms ELSE -due_ms END, id LIMIT :limit
                """,
                state=state,
                limit=limit,
            )
            return tuple(map(Intention.from_row, rows))

        return await self._database.read(unit)

    async def schedule(self, conversation: ConversationKey, new: NewIntention, most: int) -> Intention:
        """Schedule something in a conversation; an empty `behalf` means whoever spoke there last.

        Raises StoreError when nobody ever spoke there, or with the reason why it is refused.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Intention:
            room = await transaction.one(
                "SELECT place, audience FROM conversations WHERE id = :id", id=str(conversation)
            )
            assert room is not None  # conversations are never deleted
            refused = await store_intentions(
                transaction,
                conversation=conversation,
                place=Place(room["place"]),
                audience=Audience.parse(room["audience"]),
                intentions=(replace(new, behalf=new.behalf or await _last_person(transaction, conversation)),),
                now=now,
                most=most,
            )
            if refused:
                raise StoreError(refused[0], hint="see `soul schedule list`")
            row = await transaction.one(
                "SELECT * FROM intentions WHERE conversation = :id AND slot = :slot AND state = 'waiting'",
                id=str(conversation),
                slot=new.slot,
            )
            assert row is not None  # stored in this very transaction
            await self._record(transaction, "schedule.add", row["id"], f"in {conversation}")
            return Intention.from_row(row)

        return await self._database.write(unit)

    async def cancel(self, name: str) -> Intention:
        """Cancel a waiting intention by its id; returns it as it was. Raises StoreError when it doesn't wait."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Intention:
            row = await transaction.one("SELECT * FROM intentions WHERE id = :id", id=name)
            if row is None:
                raise StoreError(f"nothing is scheduled as {name}", hint="see `soul schedule list`")
            found = Intention.from_row(row)
            if found.state != "waiting":
                raise StoreError(f"{name} is {found.state} already", hint="nothing to do")
            await cancel_intentions(transaction, ConversationKey.parse(found.conversation), (found.id,), now)
            await self._record(transaction, "schedule.cancel", name, "")
            return found

        return await self._database.write(unit)

    async def approvals(self, state: str | None, limit: int) -> tuple[Approval, ...]:
        """The newest questions for permission, of one state or of all."""

        async def unit(transaction: Transaction) -> tuple[Approval, ...]:
            rows = await transaction.rows(
                """
                SELECT * FROM approvals WHERE :state IS NULL OR state = :state
                ORDER BY created_ms DESC, id LIMIT :limit
                """,
                state=state,
                limit=limit,
            )
            return tuple(map(Approval.from_row, rows))

        return await self._database.read(unit)

    async def refuse(self, name: str) -> Approval:
        """Refuse a waiting question in the place of those asked; returns it as it was.

        Raises StoreError for one that was decided, and for one that is just being posted.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> Approval:
            row = await transaction.one("SELECT * FROM approvals WHERE id = :id", id=name)
            if row is None:
                raise StoreError(f"there is no question {name}", hint="see `soul approvals list`")
            found = Approval.from_row(row)
            if found.state != "waiting":
                raise StoreError(f"{name} is {found.state} already", hint=_what_now(found.state))
            if await is_being_posted(transaction, found):
                raise StoreError(f"{name} is being posted at this moment", hint="try again in a few seconds")
            await close_question(transaction, found, "refused", by=self._actor, now=now)
            await self._record(transaction, "approval.refused", name, "")
            return found

        return await self._database.write(unit)

    async def _record(self, transaction: Transaction, act: str, subject: str, detail: str) -> None:
        await record(transaction, actor=self._actor, act=act, subject=subject, detail=detail, now=self._clock.now_ms())


async def find_conversation(transaction: Transaction, name: str) -> ConversationKey:
    """The conversation whose id is `name`, alone ends in it as a whole part, or alone contains it.

    So a direct message is found by its room, whatever threads it has. Raises StoreError that names the candidates.
    """
    pattern = "".join(f"\\{letter}" if letter in "\\%_" else letter for letter in name)
    rows = await transaction.rows(
        """
        SELECT id, id = :name AS same, '/' || rtrim(id, '/') LIKE '%/' || trim(:pattern, '/') ESCAPE '\\' AS whole
        FROM conversations
        WHERE id = :name OR id LIKE '%' || :pattern || '%' ESCAPE '\\'
        ORDER BY same DESC, whole DESC, last_ms DESC LIMIT :most
        """,
        name=name,
        pattern=pattern,
        most=_CANDIDATES + 1,
    )
    if not rows:
        raise StoreError(f"there is no conversation {name}", hint="see `soul inbox list --json` for their ids")
    clear = rows[0]["same"] or len(rows) == 1 or (rows[0]["whole"] and not rows[1]["whole"])
    if not clear:
        ids = ", ".join(row["id"] for row in rows[:_CANDIDATES])
        more = ", …" if len(rows) > _CANDIDATES else ""
        raise StoreError(f"{name} may mean several conversations: {ids}{more}", hint="give more of the id")
    return ConversationKey.parse(rows[0]["id"])


async def _last_person(transaction: Transaction, conversation: ConversationKey) -> str:
    row = await transaction.one(
        """
        SELECT author FROM inbox WHERE conversation = :id AND modality = 'words' AND state <> 'withdrawn'
        ORDER BY received_ms DESC, CAST(ts AS REAL) DESC LIMIT 1
        """,
        id=str(conversation),
    )
    if row is None:
        raise StoreError(f"nobody ever spoke in {conversation}", hint="say for whom with --on-behalf USER")
    return str(row["author"])


def _what_now(state: str) -> str:
    return "it is being carried out; nothing can stop it here" if state == "using" else "nothing to do"
