"""How the newest thing felt that the soul sensed in a conversation."""

from pydantic import TypeAdapter, ValidationError

from daemon.core.perception import ConversationKey
from daemon.memory.database import Database
from daemon.memory.knowledge.records.kinds import Qualia

_QUALIA: TypeAdapter[Qualia] = TypeAdapter(Qualia)


class NewestQualia:
    """Reads the qualia of senses."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def newest(self, conversation: ConversationKey, since_ms: int) -> Qualia | None:
        """Those of the newest sense since a moment; None for none, and where they can't be read."""
        rows = await self._database.rows(
            """
            SELECT s.qualia FROM records r JOIN senses s ON s.id = r.id
            WHERE r.conversation = :id AND r.kind = 'sense' AND r.at_ms >= :since
            ORDER BY r.at_ms DESC, r.seq DESC LIMIT 1
            """,
            id=str(conversation),
            since=since_ms,
        )
        try:
            return _QUALIA.validate_json(rows[0]["qualia"]) if rows else None
        except ValidationError:
            return None
