"""Brings posts from the outbox to their channel, each exactly once; looks before sending again, reports the unsure."""

from dataclasses import replace

from daemon.errors import ChannelRefused, DeliveryUncertain, LostLease, NotDelivered
from daemon.memory.outbox import Outbox
from daemon.memory.records import Delivery
from daemon.ports import Channel, Clock, Emit, Post

_LONGEST_PAUSE = 60.0
_MANY = 10  # attempts after which pauses grow no more


class Courier:
    """Sends claimed posts.

    `in_doubt` seconds pass before a post that may have been sent is looked up; a post older than `stale_after` seconds
    is reported instead of sent; a claim older than half a `lease` is not used any more.
    """

    def __init__(
        self,
        outbox: Outbox,
        channel: Channel,
        clock: Clock,
        emit: Emit,
        *,
        in_doubt: float,
        stale_after: float,
        lease: float,
    ) -> None:
        self._outbox = outbox
        self._channel = channel
        self._clock = clock
        self._emit = emit
        self._in_doubt = in_doubt
        self._stale_after = stale_after
        self._lease = lease

    async def deliver(self, delivery: Delivery) -> bool:
        """Try a claimed post once; True when it is settled, False when it is to be tried again later.

        Never raises for the channel's failures or for a lost lease.
        """
        try:
            return await self._attempt(delivery)
        except LostLease as lost:
            self._emit("outbox.lost", key=delivery.post.key, reason=lost.message)
            return False

    async def _attempt(self, delivery: Delivery) -> bool:
        claimed = self._clock.monotonic()
        try:
            post = await self._looked_up(delivery)
        except DeliveryUncertain as doubt:
            return await self._still_in_doubt(delivery, doubt)
        if post is None:
            return True
        if self._clock.monotonic() - claimed > self._lease / 2:
            await self._outbox.postpone(delivery, 0, doubtful=False, reason="took too long to look up")
            return False
        return await self._send(delivery, post)

    async def _looked_up(self, delivery: Delivery) -> Post | None:
        """The post as it is to be sent now; None when it was found to be sent already, or is too old."""
        post = delivery.post
        if delivery.doubtful or (post.drafting and post.draft is None):
            found = await self._channel.find(post)
            if found is not None and found.finished:
                await self._outbox.sent(delivery, found.ts)
                self._emit("outbox.found", key=post.key)
                return None
            if found is not None or post.drafting:
                post = replace(post, draft=found.ts if found else None, drafting=False)
                await self._outbox.note_draft(delivery, post.draft)
        age = (self._clock.now_ms() - delivery.created_ms) / 1000
        if age > self._stale_after and post.draft is None:
            await self._outbox.give_up(delivery, "expired", "too old to be sent")
            self._emit("outbox.expired", key=post.key, age_s=round(age))
            return None
        return post

    async def _send(self, delivery: Delivery, post: Post) -> bool:
        try:
            ts = await self._channel.deliver(post)
        except NotDelivered as error:
            pause = error.retry_after or min(_LONGEST_PAUSE, 0.5 * 2 ** min(delivery.attempts, _MANY))
            await self._outbox.postpone(delivery, pause, doubtful=False, reason=error.message)
            self._emit("outbox.postponed", key=post.key, reason=error.message, seconds=pause)
            return False
        except DeliveryUncertain as doubt:
            await self._outbox.postpone(delivery, self._in_doubt, doubtful=True, reason=doubt.message)
            self._emit("outbox.in_doubt", key=post.key, reason=doubt.message)
            return False
        except ChannelRefused as refusal:
            await self._outbox.give_up(delivery, "dead", refusal.message)
            self._emit("outbox.dead", key=post.key, reason=refusal.message, hint=refusal.hint)
            return True
        await self._outbox.sent(delivery, ts)
        self._emit("outbox.sent", key=post.key, attempts=delivery.attempts)
        return True

    async def _still_in_doubt(self, delivery: Delivery, doubt: DeliveryUncertain) -> bool:
        """The platform's history can't be read: try again, and in the end say that it can't be told."""
        if (self._clock.now_ms() - delivery.created_ms) / 1000 < self._stale_after:
            pause = max(self._in_doubt, min(_LONGEST_PAUSE, 2.0 ** min(delivery.attempts, _MANY)))
            await self._outbox.postpone(delivery, pause, doubtful=True, reason=doubt.message)
            return False
        await self._outbox.give_up(delivery, "unknown", f"may or may not have been sent: {doubt.message}")
        self._emit("outbox.unknown", key=delivery.post.key, reason=doubt.message, hint="soul outbox show KEY")
        return True
