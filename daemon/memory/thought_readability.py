"""Before whom a row that was thought may be thought again, by the readers that are kept with it."""

import json

from daemon.core.perception import ConversationKey, Readers
from daemon.core.thought_readers import may_think_again, may_think_here, read_readers
from daemon.memory.database.driver import sqlite3


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
