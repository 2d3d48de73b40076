"""The state of a soul's mind apart from its thoughts, read in one transaction for a message."""

from collections.abc import Collection, Sequence
from functools import partial
from typing import Final

from daemon.core.initiative import QuietHours, WhySilent
from daemon.core.perception import ConversationKey, Readers
from daemon.core.ports.services import Clock
from daemon.core.value import Value
from daemon.memory.database import Database, Transaction
from daemon.memory.expectations.expected import NOTHING_EXPECTED, Expected, expected_at_hand
from daemon.memory.mind.allowing import Intended, intended_now
from daemon.memory.mind.goal_changes import Goal, goals_at_hand
from daemon.memory.mind.listing import NO_DOCUMENTS, Documents, documents_at_hand
from daemon.memory.queues.initiatives import must_be_silent, unwanted_here
from daemon.memory.queues.invitations import Invitation, invitation_of
from daemon.memory.queues.promises import OpenPromise, owed_here, promised_here, promises_open, promises_to
from daemon.memory.senses.readings import NOTHING_SENSED, Sensed, sensed_in


class AtHand(Value):
    """The state in force in a conversation: goals and documents that its readers may know, and open predictions.

    `owed` holds promises made there and not kept, for all readers, because their person has read of them. `intended`
    holds due intentions that were in no prompt yet. `sensed` holds sensor readings that no thought has perceived.
    """

    goals: tuple[Goal, ...] = ()
    expected: Expected = NOTHING_EXPECTED
    documents: Documents = NO_DOCUMENTS
    intended: tuple[Intended, ...] = ()
    sensed: Sensed = NOTHING_SENSED
    owed: tuple[OpenPromise, ...] = ()

    @property
    def thoughts(self) -> tuple[str, ...]:
        of_goals = (one.source for one in self.goals)
        meant = (one.thought for one in self.intended)
        return tuple(dict.fromkeys((*of_goals, *meant, *self.expected.thoughts, *self.documents.thoughts)))


NOTHING_AT_HAND: Final = AtHand()


class Minds:
    """Reads the state of souls' minds."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    async def promises_to(self, soul: str, workspace: str, person: str) -> int:
        """Return the result of `promises_to`. Raises StoreError."""
        return await self._database.read(partial(promises_to, soul=soul, workspace=workspace, person=person))

    async def promises_open(self, soul: str, workspace: str, person: str) -> Sequence[OpenPromise]:
        """Return the result of `promises_open`. Raises StoreError."""
        return await self._database.read(partial(promises_open, soul=soul, workspace=workspace, person=person))

    async def invitation_of(self, conversation: ConversationKey, person: str) -> Invitation:
        """Return the result of `invitation_of`. Raises StoreError."""
        where = conversation
        found = partial(invitation_of, soul=where.soul, workspace=where.workspace, who=person)
        return await self._database.read(found)

    async def unwanted_from(self, conversation: ConversationKey, person: str) -> str | None:
        """Return who invited the words that a *not now* may refer to. None without an invitation. Raises StoreError."""
        row = await self._database.read(partial(unwanted_here, where=conversation, person=person))
        return None if row is None else str(row["who"])

    async def must_be_silent(
        self, conversation: ConversationKey, person: str, quiet: QuietHours, *, promised: bool
    ) -> WhySilent:
        """Return the result of `must_be_silent` at the present time. Raises StoreError."""
        asked = partial(must_be_silent, conversation=conversation, person=person, quiet=quiet, promised=promised)
        return await self._database.read(partial(asked, now=self._clock.now_ms()))

    async def promised_here(self, conversation: ConversationKey, person: str, below: str = "") -> Sequence[str]:
        """Return the result of `promised_here`. Raises StoreError."""
        asked = partial(promised_here, conversation=conversation, person=person, below=below)
        return await self._database.read(asked)

    async def at_hand(
        self, conversation: ConversationKey, readers: Readers, speaking: Collection[str] | None = None
    ) -> AtHand:
        """Return the state in force for these readers. Raises StoreError.

        `speaking` holds the platform ids of the people who speak now. With None the documents are not read.
        """
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> AtHand:
            goals = await goals_at_hand(transaction, conversation, readers, now)
            expected = await expected_at_hand(transaction, conversation, readers)
            meant = await intended_now(transaction, conversation, readers, now)
            sensed = await sensed_in(transaction, conversation)
            owed = await owed_here(transaction, conversation)
            if speaking is None:
                return AtHand(goals, expected, intended=meant, sensed=sensed, owed=owed)
            held = await documents_at_hand(transaction, conversation, readers, speaking, now)
            return AtHand(goals, expected, held, meant, sensed, owed)

        return await self._database.read(unit)
