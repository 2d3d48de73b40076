"""What was derived from words that are for fewer people by now is for no more than these, or goes."""

from daemon.core.hearing import Origin, common
from daemon.core.notes import SOUL_CHANNEL
from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.knowledge.forgetting import forget_guesses_made_in
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.ids import turn_id
from daemon.memory.knowledge.records.links import DERIVING, links_from, links_to
from daemon.memory.knowledge.records.origins import common_of
from daemon.memory.knowledge.records.store import UnreadableRecord, change, get_any
from daemon.memory.knowledge.turn_index import delete_these
from daemon.memory.records import Speaks
from daemon.memory.stream.narrowing import narrow_thoughts

_REASON = "its sources are for fewer people by now"


async def make_private(transaction: Transaction, workspace: str, channel: str, audience: Audience, now: int) -> None:
    """Keep every word of a channel for `audience`, which is narrower than the workspace, in all conversations there.

    What was derived from them follows: it gets their audience, and where it was made of another room's words, too, it
    is forgotten. So are guesses about users, which name no words that they rest on, and what is being made of it now.
    Words that are for fewer people already stay as they are; what was made of them while they were for everybody does
    not. Where none ever were since the last time, nothing is done.
    """
    everybody = f"workspace:{workspace}"
    changed = await transaction.rows(
        """
        UPDATE conversations SET audience = CASE audience WHEN :everybody THEN :audience ELSE audience END, opened = 0
        WHERE workspace = :workspace AND channel = :channel AND opened RETURNING id
        """,
        audience=str(audience),
        workspace=workspace,
        channel=channel,
        everybody=everybody,
    )
    if not changed:
        return
    await transaction.insert(
        "narrowings",
        "ON CONFLICT (workspace) DO UPDATE SET times = narrowings.times + 1",
        workspace=workspace,
        times=1,
    )
    rows = await transaction.rows(
        """
        SELECT DISTINCT l.target FROM links l JOIN turns t ON t.seq = CAST(substr(l.target, 4) AS INTEGER)
          JOIN conversations c ON c.id = t.conversation
        WHERE l.target >= 'TL_' AND l.target < 'TU_z' AND c.workspace = :workspace AND c.channel = :channel
        """,
        workspace=workspace,
        channel=channel,
    )
    await _narrow(transaction, [row["target"] for row in rows], now)
    await _narrow_unlinked(transaction, workspace, Origin(audience, channel), everybody, now)
    await _narrow_notes(transaction, workspace, channel, audience, now)
    await narrow_thoughts(transaction, workspace, channel, audience)
    await forget_guesses_made_in(transaction, workspace, everybody, [row["id"] for row in changed], now)


async def times_narrowed(transaction: Transaction, workspace: str) -> int:
    """How often words of a workspace came to be for fewer people; a reply in the meantime may rest on such words."""
    row = await transaction.one("SELECT times FROM narrowings WHERE workspace = :workspace", workspace=workspace)
    return int(row["times"]) if row else 0


async def _narrow(transaction: Transaction, sources: list[str], now: int) -> None:
    """Give what is derived from these sources, at any remove, the origin that all of its sources have in common."""
    while sources:
        for derived in dict.fromkeys([one.origin for one in await links_to(transaction, sources.pop(), *DERIVING)]):
            record = await get_any(transaction, derived)
            if record is None:
                continue
            if isinstance(record, UnreadableRecord):
                await forget(transaction, [derived], now, _REASON)
                continue
            before = Origin(record.audience, record.channel)
            made_of = [one.target for one in await links_from(transaction, derived, *DERIVING)]
            allowed = await common_of(transaction, made_of)
            origin = common((before, allowed)) if allowed else None
            if origin is None:
                await forget(transaction, [derived], now, _REASON)
            elif origin != before:
                await change(transaction, derived, now, _REASON, audience=origin.audience, channel=origin.channel)
                sources.append(derived)


async def _narrow_notes(transaction: Transaction, workspace: str, channel: str, audience: Audience, now: int) -> None:
    """Notes that souls sent from the channel are for its members alone; what other souls said of them goes.

    It was said where notes from other channels are heard, too.
    """
    there = "(SELECT id FROM conversations WHERE workspace = :workspace AND channel = :channel)"
    await transaction.run(
        f"""
        UPDATE shared_messages SET audience = :audience
        WHERE workspace = :workspace AND audience = :everybody AND (conversation IN {there} OR heard_in IN {there})
        """,  # noqa: S608 - a constant
        audience=str(audience),
        workspace=workspace,
        channel=channel,
        everybody=f"workspace:{workspace}",
    )
    rows = await transaction.rows(
        f"""
        SELECT t.seq FROM shared_messages m CROSS JOIN inbox i ON i.id = m.inbox
          CROSS JOIN turns t ON t.conversation = m.heard_in AND t.ts = i.ts AND t.speaker = 'soul'
        WHERE m.workspace = :workspace AND m.conversation IN {there} AND i.channel = :souls
        """,  # noqa: S608 - a constant
        workspace=workspace,
        channel=channel,
        souls=SOUL_CHANNEL,
    )
    said = [row["seq"] for row in rows]
    await forget(transaction, [turn_id(Speaks.SOUL, seq) for seq in said], now, _REASON)
    await delete_these(transaction, said, now, _REASON)


async def _narrow_unlinked(transaction: Transaction, workspace: str, now_for: Origin, everybody: str, now: int) -> None:
    """The same for records of the channel that rest on no turn, as old notes do whose history could not be read."""
    rows = await transaction.rows(
        "SELECT id FROM records WHERE workspace = :workspace AND channel = :channel AND audience = :everybody",
        workspace=workspace,
        channel=now_for.channel,
        everybody=everybody,
    )
    for row in rows:
        if isinstance(await get_any(transaction, row["id"]), UnreadableRecord):
            await forget(transaction, [row["id"]], now, _REASON)
        else:
            await change(transaction, row["id"], now, _REASON, audience=now_for.audience)
    await _narrow(transaction, [row["id"] for row in rows], now)
