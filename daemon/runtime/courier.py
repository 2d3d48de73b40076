"""Sends posts from the outbox, each exactly once: an uncertain post is looked up before it is sent again."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from msgspec.structs import replace

from daemon.core.channels import Channels
from daemon.core.errors import (
    AccessLost,
    ChannelRefused,
    DeliveryUncertain,
    HistoryClosed,
    LostLease,
    NotDelivered,
    StoreError,
    of_machine,
)
from daemon.core.last_line import in_short
from daemon.core.ports.library import Post
from daemon.core.ports.services import Clock, Emit
from daemon.core.sentences import HOUSE_WORDS, Words
from daemon.memory.emptied_posts import Note
from daemon.memory.queues.feedback import TAKEN_BACK
from daemon.memory.queues.outbox import Outbox
from daemon.memory.queues.stops import STOPPED
from daemon.memory.records import Delivery

_LONGEST_PAUSE = 60.0
_MANY = 10  # attempts after which pauses stop growing
_NOTE_SECONDS = 7 * 86_400.0  # the longest wait of a note about a post
_DRAFT_TRIES = 10  # the most tries to finish a draft that the platform answered in vain
_DRAFT_SECONDS = 600.0  # the age of a draft with one such try, after which its text is posted again


@dataclass(eq=False)
class Courier:
    """The sender of claimed posts.

    A post that may have been sent is looked up after `in_doubt` seconds. A post older than `stale_after` seconds
    expires instead of being sent. A claim older than a quarter of its `lease` is not used any more. One request may
    take half of the lease. `words_in` returns the words of a language for buttons and for the daemon's own notes,
    which wait in English.
    """

    outbox: Outbox
    channels: Channels
    clock: Clock
    emit: Emit
    in_doubt: float
    stale_after: float
    lease: float
    words_in: Callable[[str], Words] = lambda _: HOUSE_WORDS
    _alarmed: bool = False  # whether the admin was alerted that posting needs their help

    async def deliver(self, delivery: Delivery) -> bool:
        """Try a claimed post once. Return True when it is settled, False when it is tried again later.

        An unexpected failure is counted, and the third parks the post. Only StoreErrors and faults of the machine are
        raised.
        """
        try:
            return await self._guarded(delivery)
        except LostLease as lost:
            self.emit("outbox.lost", key=delivery.post.key, reason=lost.message)
            return False

    async def _guarded(self, delivery: Delivery) -> bool:
        try:
            return await self._attempt(delivery)
        except StoreError:
            raise
        except Exception as error:
            if of_machine(error):
                raise  # the claim runs out, and the post is looked up before it is sent
            pause = self.in_doubt * 2**delivery.faults
            parked = await self.outbox.count_fault(delivery, pause, in_short(error))
            self.emit("outbox.dead" if parked else "outbox.failed", key=delivery.post.key, error=error)
            return parked

    async def _attempt(self, delivery: Delivery) -> bool:
        try:
            post = await self._prepared(delivery)
        except DeliveryUncertain as doubt:
            return await self._still_in_doubt(delivery, doubt)
        if post is None:
            return True
        if delivery.lease_until - self.clock.now_ms() < self.lease * 750:
            # After a long pause here another daemon may be about to claim the row: don't send.
            await self.outbox.postpone(delivery, 0, doubtful=False, reason="the claim was too old to send it")
            return False
        return await self._send(delivery, await self._worded(delivery, post))

    async def _worded(self, delivery: Delivery, post: Post) -> Post:
        words = self.words_in(await self.channels.main.language_of(post.recipient) if post.recipient else "")
        body = words.reworded(post.body) if delivery.note else words.with_outcome(post.body)
        return replace(post, words=words, body=body)

    async def _prepared(self, delivery: Delivery) -> Post | None:
        """Return the post to send now, None when it was sent already, is too old, or has lost its words."""
        post = delivery.post
        if post.revises is None and (delivery.doubtful or (post.draft_lost and post.draft is None)):
            if not delivery.doubtful and self._is_hopeless(delivery):
                return await self._anew(delivery, post, "its draft can't be looked up")
            found = await self.channels.of(post.conversation).find(post)
            if found is not None and found.finished:
                await self.outbox.sent(delivery, found.ts)
                self.emit("outbox.found", key=post.key)
                return None
            if found is not None or post.draft_lost:
                post = replace(post, draft=found.ts if found else None, draft_lost=False)
                await self.outbox.note_draft(delivery, post.draft)
        return await self._still_due(delivery, post)

    async def _still_due(self, delivery: Delivery, post: Post) -> Post | None:
        """Return a post that was surely not sent, as it should be sent now, None if it should not be sent."""
        if post.withdrawn:
            return await self._withdrawn(delivery, post)
        if delivery.emptied and post.nod is None:
            await self.outbox.end_emptied(delivery)
            self.emit("outbox.emptied", key=post.key)
            return None
        if delivery.halted:
            return await self._halted(delivery, post)
        if _changes_a_message(post):
            return await self._anew(delivery, post, "it failed too often") if self._is_hopeless(delivery) else post
        if self._is_too_old(delivery):
            await self._give_up(delivery, "expired", "too old to be sent", Note.EXPIRED)
            self.emit("outbox.expired", key=post.key, age_s=round(self._age(delivery)))
            return None
        return await self._unless_quiet(delivery, post)

    async def _unless_quiet(self, delivery: Delivery, post: Post) -> Post | None:
        """Return the post, unless quiet hours have begun. Then drop an unasked post, and postpone a promised one."""
        now = self.clock.now_ms()
        if (over := delivery.quiet.over(now)) <= now:
            return post
        if delivery.unasked:
            await self.outbox.drop(delivery, "quiet hours began before it could be sent")
        else:
            await self.outbox.postpone(delivery, (over - now) / 1000, doubtful=False, reason="quiet hours")
        self.emit("outbox.quiet", key=post.key)
        return None

    async def _withdrawn(self, delivery: Delivery, post: Post) -> Post | None:
        if post.draft is not None or post.revises is not None:
            return post
        await self.outbox.drop(delivery, TAKEN_BACK)
        self.emit("outbox.withdrawn", key=post.key)
        return None

    async def _halted(self, delivery: Delivery, post: Post) -> Post | None:
        if post.draft is None or self._is_hopeless(delivery):
            await self.outbox.drop(delivery, STOPPED)
            self.emit("outbox.stopped", key=post.key)
            return None
        return replace(post, body="", closes=True)

    async def _send(self, delivery: Delivery, post: Post) -> bool:
        try:
            async with asyncio.timeout(self.lease / 2):  # the rest of the lease is for noting the doubt
                ts = await self.channels.of(post.conversation).deliver(post)
        except TimeoutError:
            return await self._postpone_in_doubt(delivery, post, "sending took too long")
        except NotDelivered as error:
            return await self._not_now(delivery, post, error)
        except DeliveryUncertain as doubt:
            return await self._postpone_in_doubt(delivery, post, doubt.message)
        except ChannelRefused as refusal:
            return await self._refused(delivery, post, refusal)
        self._alarmed = False
        await self.outbox.sent(delivery, ts)
        self.emit("outbox.sent", key=post.key, attempts=delivery.attempts)
        return True

    async def _not_now(self, delivery: Delivery, post: Post, error: NotDelivered) -> bool:
        pause = error.retry_after or min(_LONGEST_PAUSE, 0.5 * 2 ** min(delivery.attempts, _MANY))
        if isinstance(error, AccessLost):
            if not self._alarmed:
                self.emit("outbox.access_lost", reason=error.message, hint=error.hint)
            self._alarmed = True
        elif error.retry_after and _changes_a_message(post):  # it answers, and other calls may go through
            await self.outbox.count_draft_try(delivery)
            pause = min(pause, max(1.0, _DRAFT_SECONDS - self._age(delivery)))
        await self.outbox.postpone(delivery, pause, doubtful=False, reason=error.message)
        self.emit("outbox.postponed", key=post.key, reason=error.message, seconds=pause)
        return False

    async def _refused(self, delivery: Delivery, post: Post, refusal: ChannelRefused) -> bool:
        """Post a refused draft or revision as a new message. Replace any different refused post by a note."""
        if _changes_a_message(post):
            await self._anew(delivery, post, refusal.message)
            await self.outbox.postpone(delivery, 0, doubtful=False, reason=refusal.message)
            return False
        await self._give_up(delivery, "dead", refusal.message, Note.DEAD)
        self.emit("outbox.dead", key=post.key, reason=refusal.message, hint=refusal.hint)
        if delivery.note and post.recipient:  # its thread may be gone or locked: then outside it, to the user alone
            channel = self.channels.of(post.conversation)
            said = await channel.whisper(post.conversation, post.recipient, post.body)
            self.emit("outbox.whispered", key=post.key, said=said)
        return True

    async def _postpone_in_doubt(self, delivery: Delivery, post: Post, reason: str) -> bool:
        if _changes_a_message(post):
            await self.outbox.count_draft_try(delivery)
        await self.outbox.postpone(delivery, self.in_doubt, doubtful=True, reason=reason)
        self.emit("outbox.in_doubt", key=delivery.post.key, reason=reason)
        return False

    async def _still_in_doubt(self, delivery: Delivery, doubt: DeliveryUncertain) -> bool:
        """Try again later while the platform's history is unreadable, and finally settle the post as unknown.

        If only a draft of the post may be visible, the post is finally sent without the draft.
        """
        closed = isinstance(doubt, HistoryClosed)
        if not delivery.doubtful:
            await (self.outbox.give_up_draft if closed else self.outbox.count_draft_try)(delivery)
        if not delivery.doubtful or (not closed and self._age(delivery) < self.stale_after):
            pause = max(self.in_doubt, min(_LONGEST_PAUSE, 2.0 ** min(delivery.attempts, _MANY)))
            await self.outbox.postpone(
                delivery, 0 if closed else pause, doubtful=delivery.doubtful, reason=doubt.message
            )
            return False
        await self._give_up(delivery, "unknown", f"may or may not have been sent: {doubt.message}", Note.UNKNOWN)
        self.emit("outbox.unknown", key=delivery.post.key, reason=doubt.message, hint="soul queue outbox show KEY")
        return True

    async def _give_up(self, delivery: Delivery, state: str, reason: str, note: Note) -> None:
        """Settle a post that won't be sent, with a note in its place if a user waits for it."""
        if delivery.unasked:
            await self.outbox.drop(delivery, reason)
        else:
            await self.outbox.give_up(delivery, state, reason, note)

    async def _anew(self, delivery: Delivery, post: Post, reason: str) -> Post:
        await self.outbox.give_up_draft(delivery)
        self.emit("outbox.posted_anew", key=post.key, ts=post.draft or post.revises, reason=reason)
        return replace(post, draft=None, draft_lost=False, revises=None)

    def _is_hopeless(self, delivery: Delivery) -> bool:
        tries = delivery.draft_tries
        return tries >= _DRAFT_TRIES or (tries > 0 and self._age(delivery) >= _DRAFT_SECONDS)

    def _is_too_old(self, delivery: Delivery) -> bool:
        """Return whether a post is too old to send. Its time begins after the quiet hours that it waited for."""
        lives_ms = (max(self.stale_after, _NOTE_SECONDS) if delivery.note else self.stale_after) * 1000
        until = delivery.created_ms + lives_ms
        over = delivery.quiet.over(int(until))
        return self.clock.now_ms() > (over + lives_ms if over > until else until)

    def _age(self, delivery: Delivery) -> float:
        return (self.clock.now_ms() - delivery.created_ms) / 1000


def _changes_a_message(post: Post) -> bool:
    return post.draft is not None or post.revises is not None
