"""What a soul thought in a channel that is made private is for its members; what it thought of it elsewhere goes."""

from typing import Final

from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.stream.emptying import let_go_what_they_made

_THERE: Final = "SELECT id FROM conversations WHERE workspace = :workspace AND channel = :channel"
_ELSEWHERE: Final = f"""
    WITH RECURSIVE tainted (id) AS (
      SELECT id FROM thoughts WHERE conversation IN ({_THERE})
      UNION SELECT s.thought FROM turns t CROSS JOIN thought_sources s
        ON s.source = CASE t.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || t.seq WHERE t.conversation IN ({_THERE})
      UNION SELECT s.thought FROM records r CROSS JOIN thought_sources s ON s.source = r.id
        WHERE r.workspace = :workspace AND r.channel = :channel
      UNION SELECT s.thought FROM tainted n CROSS JOIN thought_sources s ON s.source = n.id)
    UPDATE thoughts SET input = '', output = '', emptied = 1
    WHERE id IN (SELECT id FROM tainted) AND emptied = 0 AND conversation NOT IN ({_THERE}) RETURNING id
    """  # noqa: S608 - constants


async def narrow_thoughts(transaction: Transaction, workspace: str, channel: str, audience: Audience) -> None:
    """Keep the thoughts of a channel for `audience`, and empty those of other rooms that saw any of it.

    Those that are kept, and the goals made there, came before the workspace: none is thought again. What was written
    there into documents goes.
    """
    where = {"workspace": workspace, "channel": channel}
    emptied = await transaction.rows(_ELSEWHERE, **where)
    await let_go_what_they_made(transaction, [row["id"] for row in emptied])
    for table in ("thoughts", "goals"):
        await transaction.run(
            f"UPDATE {table} SET audience = :audience WHERE audience = :everybody AND conversation IN ({_THERE})",  # noqa: S608 - constants
            audience=str(audience),
            everybody=f"workspace:{workspace}",
            **where,
        )
    await transaction.run(
        f"DELETE FROM mind_documents WHERE conversation IN ({_THERE}) AND audience IN (:everybody, '')",  # noqa: S608 - a constant
        everybody=f"workspace:{workspace}",
        **where,
    )
