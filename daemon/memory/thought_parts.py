"""Parts of a thought that take effect in the transaction that stores it, in addition to its words."""

import json
from collections.abc import Sequence
from typing import Final, Protocol

from daemon.core.lineage import may_think_again, may_think_here, read_readers
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3


class StoredThought(Value):
    """The thought whose part takes effect, with its conversation, audience, readers and time (ms, UTC).

    `person` is the platform id of the user whom it answers, or empty. `upto` is the number of the turn that it answers:
    a newer turn may exist.
    """

    id: str
    conversation: ConversationKey
    audience: Audience
    readers: Readers
    person: str
    now: int
    upto: int | None = None


class PartsTaken(Value):
    """The number of a field's parts that took effect, and the reasons for refusing the others."""

    done: int = 0
    refused: Sequence[str] = ()


class ThoughtPart(Protocol):
    """The effect of one field of a thought. It changes the current state, and overwrites nothing newer."""

    @property
    def field(self) -> str: ...

    @property
    def size(self) -> int: ...

    async def take(self, transaction: Transaction, thought: StoredThought) -> PartsTaken:
        """Apply the parts that the daemon's checks allow. Raises StoreError."""


_FREE_WORDS: Final = "'$.monologue', '$.monologue_verb', '$.stimulus_verb', '$.reply_verb', '$.made_piece', '$.in_full'"

WITHOUT_FREE_WORDS: Final = f"CASE WHEN json_valid(thought) THEN json_remove(thought, {_FREE_WORDS}) ELSE '{{}}' END"
"""An SQL expression for a thought in `turns` with only words of closed lists. An unreadable thought becomes empty."""


def came_before(row: sqlite3.Row, conversation: ConversationKey, readers: Readers) -> bool:
    """Return True if these readers may see a row with the columns `conversation`, `audience` and `readers`."""
    try:
        then = read_readers(json.loads(row["readers"]))
    except ValueError:
        return False
    # a channel that was made private since has another audience in the column than it had then
    if then is None or str(then.audience) != row["audience"]:
        return False
    here = row["conversation"] == str(conversation)
    return may_think_again(readers, then) if here else may_think_here(readers, then)
