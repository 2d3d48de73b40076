"""What a soul thought in a channel that is made private is for its members; what it thought of it elsewhere goes."""

from typing import Final

from daemon.core.lineage import message_id, question_id, room_id, way_id
from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.stream.emptying import empty_along

_THERE: Final = "SELECT id FROM conversations WHERE workspace = :workspace AND channel = :channel"
_SAW_IT: Final = f"""
    SELECT id FROM thoughts WHERE conversation IN ({_THERE}) AND (emptied = 0 OR aged = 1)
    UNION SELECT s.thought FROM turns t CROSS JOIN thought_sources s
      ON s.source = CASE t.speaker WHEN 'soul' THEN 'TL_' ELSE 'TU_' END || t.seq WHERE t.conversation IN ({_THERE})
    UNION SELECT s.thought FROM records r CROSS JOIN thought_sources s ON s.source = r.id
      WHERE r.workspace = :workspace AND r.channel = :channel
    UNION SELECT s.thought FROM goals g CROSS JOIN thought_sources s ON s.source = 'GL_' || g.soul || '/' || g.id
      WHERE g.conversation IN ({_THERE}) AND g.thought = ''
    UNION SELECT thought FROM thought_sources WHERE source >= :messages AND source < :messages || '~'
    UNION SELECT thought FROM thought_sources WHERE source IN (:room, :way, :question)
    """  # noqa: S608 - constants


async def narrow_thoughts(transaction: Transaction, workspace: str, channel: str, audience: Audience) -> None:
    """Keep the thoughts of a channel for `audience`, and empty those of other rooms that saw any of it.

    Those that are kept, and the goals made there, came before the workspace: none is thought again. What was written
    there into documents goes.
    """
    where = {"workspace": workspace, "channel": channel}
    await empty_along(
        transaction,
        _SAW_IT,
        _THERE,
        messages=message_id(workspace, channel, ""),
        room=room_id(workspace, channel),
        way=way_id(workspace, channel),
        question=question_id(workspace, channel),
        **where,
    )
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
