"""Hands a thread to another soul for an admin, between two replies of the soul that has it."""

from dataclasses import dataclass

from daemon.core.perception import ConversationKey
from daemon.memory.admin.schedule_admin import find_conversation, last_person
from daemon.memory.audit import AuditedChanges
from daemon.memory.database import Transaction
from daemon.memory.holders import other_apps
from daemon.memory.queues.handoffs import Handoff, HandoffRefused, hand_over


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A conversation, the soul that had it, the one that has its thread now, and since when (ms)."""

    conversation: str
    soul: str
    handed_to: str
    at_ms: int


class Handing(AuditedChanges):
    """Hands threads over in the name of the admin `actor`."""

    async def other_apps(self, name: str, to: str) -> tuple[ConversationKey, frozenset[str]]:
        """The conversation that `name` means, and the accounts of the soul if only another app hosts it.

        Raises StoreError.
        """

        async def unit(transaction: Transaction) -> tuple[ConversationKey, frozenset[str]]:
            where = await find_conversation(transaction, name)
            return where, (await other_apps(transaction, where)).get(to, frozenset())

        return await self._database.read(unit)

    async def hand_over(self, name: str, to: str) -> HandedOver:
        """Give a soul the thread of the conversation that `name` means; see `find_conversation`.

        The caller has seen that the soul is hosted. Raises HandoffRefused and StoreError.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> HandedOver:
            where = await find_conversation(transaction, name)
            row = await transaction.one("SELECT * FROM conversations WHERE id = :id", id=str(where))
            assert row is not None  # found in this very transaction
            if row["handed_to"]:
                theirs = f"{row['handed_to']}{str(where).removeprefix(where.soul)}"
                raise HandoffRefused(f"{where} was handed to {row['handed_to']} before", hint=f"hand over {theirs}")
            if row["lease_owner"] and row["lease_until"] > now:
                raise HandoffRefused(f"{where.soul} is answering in {where}", hint="try again once it has answered")
            await transaction.run(  # a cycle that hangs there can't be committed any more
                "UPDATE conversations SET fence = fence + 1, lease_owner = '', lease_until = 0 WHERE id = :id",
                id=str(where),
            )
            post = await transaction.one(
                "SELECT reply_to FROM outbox WHERE conversation = :id AND reply_to <> '' ORDER BY seq DESC LIMIT 1",
                id=str(where),
            )
            recipient = await last_person(transaction, where)
            handoff = Handoff(to, recipient, post["reply_to"] if post else where.thread)
            await hand_over(transaction, where, handoff, now)
            await self._record(transaction, "conversation.handed", str(where), f"to {to}")
            return HandedOver(str(where), where.soul, to, now)

        return await self._database.write(unit)
