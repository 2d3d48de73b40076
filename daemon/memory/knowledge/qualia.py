"""How what the soul senses in a conversation feels, and how it feels itself."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from daemon.core.perception import Audience, ConversationKey
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.records.ids import turn_id
from daemon.memory.knowledge.records.kinds import Qualia, Sense, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from daemon.memory.records import Speaks

_QUALIA: TypeAdapter[Qualia] = TypeAdapter(Qualia)


@dataclass(frozen=True, slots=True)
class OwnFeeling:
    """How the soul itself feels, and what that is in the body."""

    qualia: Qualia
    physio: Mapping[str, float]


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


async def keep_feeling(
    transaction: Transaction,
    felt: OwnFeeling,
    where: ConversationKey,
    audience: Audience,
    now: int,
) -> Sense | None:
    """Store how the soul itself felt after the newest message of a conversation; None where there is none.

    The record has no words, so that no search finds it.
    """
    row = await transaction.one(
        "SELECT seq FROM turns WHERE conversation = :id AND speaker = 'person' ORDER BY seq DESC LIMIT 1",
        id=str(where),
    )
    if row is None:
        return None
    sense = Sense(
        soul=where.soul,
        workspace=where.workspace,
        audience=audience,
        channel=where.channel,
        text="",
        at_ms=now,
        trust=Trust.INFERRED,
        significance=felt.qualia.significance,
        conversation=str(where),
        data_type="visual_pattern",
        source="feeling",
        qualia=felt.qualia,
        physio_snapshot=felt.physio,
    )
    return await put(transaction, sense, now, [Link("", Relation.EVIDENCE, turn_id(Speaks.PERSON, row["seq"]))])
