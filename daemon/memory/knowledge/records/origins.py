"""Who may hear turns and records, and the check that nothing derived may be heard by more people than its sources."""

from collections.abc import Iterable

from daemon.core.errors import StoreError
from daemon.core.hearing import Origin, common
from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.ids import turn_seq


class HeardByMore(StoreError):
    """A record could be heard by people who may not hear one of its sources; nothing was written."""


async def origin_of(transaction: Transaction, record_id: str) -> Origin | None:
    """The origin of a record or a turn; None where there is none with this id.

    A turn is for no more people than its conversation is by now: its channel may have been made private.
    """
    if (seq := turn_seq(record_id)) is None:
        row = await transaction.one("SELECT audience, channel FROM records WHERE id = :id", id=record_id)
        return Origin(Audience.parse(row["audience"]), row["channel"]) if row else None
    row = await transaction.one(
        """
        SELECT t.audience, c.audience AS now, c.channel FROM turns t JOIN conversations c ON c.id = t.conversation
        WHERE t.seq = :seq AND (t.speaker = 'soul') = :own
        """,
        seq=seq,
        own=record_id.startswith("TL"),
    )
    if row is None:
        return None
    said, now = (Origin(Audience.parse(row[one]), row["channel"]) for one in ("audience", "now"))
    return common((said, now)) or said


async def common_of(transaction: Transaction, ids: Iterable[str]) -> Origin | None:
    """The origin of what is made of these turns and records (see `common`); None: it must not be made."""
    origins = [await origin_of(transaction, one) for one in ids]
    return common(one for one in origins if one) if all(origins) else None


def require_no_wider(derived_id: str, derived: Origin, source: Origin) -> None:
    """Raises HeardByMore where a derived record may be heard by people who may not hear its source."""
    if not may_rest_on(derived, source):
        raise HeardByMore(
            f"{derived_id} is for {derived.audience.kind}, but a source of it is for {source.audience.kind} alone",
            hint="nothing to do: nothing was written",
        )


def may_rest_on(derived: Origin, source: Origin) -> bool:
    """Whether who may hear something derived may all hear its source."""
    return common((derived, source)) == derived
