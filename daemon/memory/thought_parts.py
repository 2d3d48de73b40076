"""Parts of a thought that take effect beside its words, in the transaction that stores it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from daemon.core.lineage import may_think_again, may_think_here, read_readers
from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3


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


_FREE_WORDS: Final = "'$.monologue', '$.monologue_verb', '$.stimulus_verb', '$.reply_verb', '$.made_piece', '$.in_full'"

WITHOUT_FREE_WORDS: Final = f"CASE WHEN json_valid(thought) THEN json_remove(thought, {_FREE_WORDS}) ELSE '{{}}' END"
"""In SQL, of a row of `turns`: the rest are words of closed lists. What can't be read goes as a whole."""


def came_before(row: sqlite3.Row, conversation: ConversationKey, readers: Readers) -> bool:
    """Whether these readers may be shown a row with the columns `conversation`, `audience` and `readers`."""
    try:
        then = read_readers(json.loads(row["readers"]))
    except ValueError:
        return False
    # a channel that was made private since has another audience in the column than it had then
    if then is None or str(then.audience) != row["audience"]:
        return False
    here = row["conversation"] == str(conversation)
    return may_think_again(readers, then) if here else may_think_here(readers, then)
