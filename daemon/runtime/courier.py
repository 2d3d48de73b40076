"""Sends posts from the outbox, each exactly once: an uncertain one is looked up before it is sent again."""

import asyncio
from dataclasses import replace

from daemon.core.errors import ChannelRefused, DeliveryUncertain, LostLease, NotDelivered
from daemon.core.ports import Channel, Clock, Emit, Post
from daemon.memory.queues.outbox import Outbox
from daemon.memory.records import Delivery

_LONGEST_PAUSE = 60.0
_MANY = 10  # attempts after which pauses grow no more


class Courier:
    """Sends claimed posts.

    A post that may have been sent is looked up after `in_doubt` seconds. A post older than `stale_after` seconds
    expires instead of being sent. A claim older than a quarter of its `lease` is not used any more; one request may
    take half of the lease.
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
        """Try a claimed post once; True when it is settled, False when it is tried again later.

        Never raises for the channel's failures or for a lost lease.
        """
        try:
            return await self._attempt(delivery)
        except LostLease as lost:
            self._emit("outbox.lost", key=delivery.post.key, reason=lost.message)
            return False

    async def _attempt(self, delivery: Delivery) -> bool:
        try:
            post = await self._prepared(delivery)
        except DeliveryUncertain as doubt:
            return await self._still_in_doubt(delivery, doubt)
        if post is None:
            return True
        if delivery.lease_until - self._clock.now_ms() < self._lease * 750:
            # After a long pause here another daemon may be about to claim the row: don't send.
            await self._outbox.postpone(delivery, 0, doubtful=False, reason="the claim was too old to send it")
            return False
        return await self._send(delivery, post)

    async def _prepared(self, delivery: Delivery) -> Post | None:
        """The post to send now; None when it was sent already or is too old."""
        post = delivery.post
        if post.revises is None and (delivery.doubtful or (post.draft_lost and post.draft is None)):
            found = await self._channel.find(post)
            if found is not None and found.finished:
                await self._outbox.sent(delivery, found.ts)
                self._emit("outbox.found", key=post.key)
                return None
            if found is not None or post.draft_lost:
                post = replace(post, draft=found.ts if found else None, draft_lost=False)
                await self._outbox.note_draft(delivery, post.draft)
        age = (self._clock.now_ms() - delivery.created_ms) / 1000
        if age > self._stale_after and post.draft is None and post.revises is None:
            await self._outbox.give_up(delivery, "expired", "too old to be sent")
            self._emit("outbox.expired", key=post.key, age_s=round(age))
            return None
        return post

    async def _send(self, delivery: Delivery, post: Post) -> bool:
        try:
            async with asyncio.timeout(self._lease / 2):  # the rest of the lease is for noting the doubt
                ts = await self._channel.deliver(post)
        except TimeoutError:
            return await self._postpone_in_doubt(delivery, "sending took too long")
        except NotDelivered as error:
            pause = error.retry_after or min(_LONGEST_PAUSE, 0.5 * 2 ** min(delivery.attempts, _MANY))
            await self._outbox.postpone(delivery, pause, doubtful=False, reason=error.message)
            self._emit("outbox.postponed", key=post.key, reason=error.message, seconds=pause)
            return False
        except DeliveryUncertain as doubt:
            return await self._postpone_in_doubt(delivery, doubt.message)
        except ChannelRefused as refusal:
            await self._outbox.give_up(delivery, "dead", refusal.message)
            self._emit("outbox.dead", key=post.key, reason=refusal.message, hint=refusal.hint)
            return True
        await self._outbox.sent(delivery, ts)
        self._emit("outbox.sent", key=post.key, attempts=delivery.attempts)
        return True

    async def _postpone_in_doubt(self, delivery: Delivery, reason: str) -> bool:
        await self._outbox.postpone(delivery, self._in_doubt, doubtful=True, reason=reason)
        self._emit("outbox.in_doubt", key=delivery.post.key, reason=reason)
        return False

    async def _still_in_doubt(self, delivery: Delivery, doubt: DeliveryUncertain) -> bool:
        """The platform's history is unreadable: try again later, and at last settle the post as unknown."""
        if (self._clock.now_ms() - delivery.created_ms) / 1000 < self._stale_after:
            pause = max(self._in_doubt, min(_LONGEST_PAUSE, 2.0 ** min(delivery.attempts, _MANY)))
            await self._outbox.postpone(delivery, pause, doubtful=True, reason=doubt.message)
            return False
        await self._outbox.give_up(delivery, "unknown", f"may or may not have been sent: {doubt.message}")
        self._emit("outbox.unknown", key=delivery.post.key, reason=doubt.message, hint="soul outbox show KEY")
        return True
