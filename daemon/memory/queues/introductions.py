"""In which channels each soul introduces itself: once for ever, and in few of those to which it is invited at once."""

from typing import Final

from daemon.core.ports.arrivals import Acceptance, Joined
from daemon.memory.database import Transaction
from daemon.memory.queues.internal_events import store_act_in_channel

JOINED: Final = "joined"
"""The parameter of the event that a soul was invited to a channel."""

MOST_IN_AN_HOUR: Final = 5
"""Channels in which a soul introduces itself within an hour; in those beyond it says nothing."""

_HOUR_MS: Final = 3_600_000
_FRESH_MS: Final = 24 * _HOUR_MS  # an older invitation is no news to anybody there
_IN_VAIN: Final = ("ignored", "stale")  # of what became of an earlier invitation: nothing was said


async def take_invitation(transaction: Transaction, joined: Joined, now: int) -> tuple[Acceptance, str]:
    """Put the invitation into the inbox of the channel's timeline, unless an earlier one led to an introduction."""
    if joined.at_ms < now - _FRESH_MS:
        return Acceptance.IGNORED, "invited long ago"
    scope = {"soul": joined.soul, "workspace": joined.workspace}
    earlier = await transaction.one(
        """
        SELECT coalesce((SELECT state FROM inbox WHERE id = event), '') AS became FROM introductions
        WHERE soul = :soul AND workspace = :workspace AND channel = :channel
        """,
        channel=joined.channel,
        **scope,
    )
    if earlier is not None and earlier["became"] not in _IN_VAIN:
        return Acceptance.IGNORED, "introduced there already"
    others = await transaction.one(
        """
        SELECT count(*) AS n FROM introductions
        WHERE soul = :soul AND workspace = :workspace AND channel <> :channel AND invited_ms > :since
        """,
        channel=joined.channel,
        since=now - _HOUR_MS,
        **scope,
    )
    assert others is not None  # an aggregate always has a row
    if others["n"] >= MOST_IN_AN_HOUR:
        return Acceptance.IGNORED, "invited to many channels at once"
    await _store(transaction, joined, f"{JOINED}:{now}", now)
    return Acceptance.ACCEPTED, ""


async def _store(transaction: Transaction, joined: Joined, name: str, now: int) -> None:
    event = await store_act_in_channel(
        transaction, joined, now, author=joined.inviter, name=name, params={JOINED: True}
    )
    await transaction.insert(
        "introductions",
        """
        ON CONFLICT (soul, workspace, channel) DO UPDATE
        SET invited_ms = excluded.invited_ms, event = excluded.event
        """,
        soul=joined.soul,
        workspace=joined.workspace,
        channel=joined.channel,
        event=event,
        invited_ms=now,
    )
