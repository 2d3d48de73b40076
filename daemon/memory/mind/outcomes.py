"""What a person says became of an expectation that no rule decides."""

from dataclasses import dataclass

from daemon.core.perception import ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.thought_readability import came_before


@dataclass(frozen=True, slots=True)
class NamedExpectation:
    """An expectation of a conversation: what kind of check decides it, and whether nothing has yet."""

    kind: str
    is_open: bool


async def expectation_named(
    transaction: Transaction, conversation: ConversationKey, readers: Readers, name: str
) -> NamedExpectation | None:
    """The expectation of this id in a conversation; None where there is none that these readers may know of."""
    row = await transaction.one(
        "SELECT * FROM predictions WHERE soul = :soul AND id = :id AND conversation = :conversation AND what <> ''",
        soul=conversation.soul,
        id=name,
        conversation=str(conversation),
    )
    if row is None or not came_before(row, conversation, readers):
        return None
    return NamedExpectation(row["kind"], is_open=row["state"] == "open")


@dataclass(frozen=True, slots=True)
class PersonSaid:
    """A person says whether what was expected came true."""

    name: str
    came: bool

    async def perform(self, transaction: Transaction, asker: Asker, now: int) -> None:
        """See `MemoryAct.perform`; one that is over stays as it is."""
        await transaction.run(
            """
            UPDATE predictions SET state = :state, scored_by = 'person', surprise = abs(:came - confidence),
              scored_ms = :now
            WHERE soul = :soul AND id = :id AND conversation = :conversation AND state = 'open' AND kind = 'none'
            """,
            state="hit" if self.came else "miss",
            came=1.0 if self.came else 0.0,
            now=now,
            soul=asker.conversation.soul,
            id=self.name,
            conversation=str(asker.conversation),
        )
