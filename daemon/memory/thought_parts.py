"""Parts of a thought that take effect beside its words, in the transaction that stores it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.memory.database import Transaction


@dataclass(frozen=True, slots=True)
class StoredThought:
    """The thought whose part takes effect: its id, where and before whom it was thought, and when (ms, UTC).

    `person` is the platform's id of the one whom it answers, empty where no person does. `upto` is the number of the
    turn that it answers, where the newest one may be another by now.
    """

    id: str
    conversation: ConversationKey
    audience: Audience
    readers: Readers
    person: str
    now: int
    upto: int | None = None


@dataclass(frozen=True, slots=True)
class PartsTaken:
    """How many of a field's parts took effect, and why each of the others did not."""

    done: int = 0
    refused: Sequence[str] = field(default=())


class ThoughtPart(Protocol):
    """What a field of a thought does. It is applied to what is in force by then, so that nothing is overwritten."""

    @property
    def field(self) -> str:
        """The field of the thought."""

    @property
    def size(self) -> int:
        """How many parts of the field it holds."""

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Take effect as far as the house's checks let it. Raises StoreError."""
