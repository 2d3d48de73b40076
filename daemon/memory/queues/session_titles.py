"""Titles of threads in DMs: each thread gets one, once, after its first answer."""

from daemon.core.perception import ConversationKey, Modality, Place
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.queues.cycle_effect import CycleEffect
from daemon.memory.records import InboxMessage
from daemon.memory.worker_store import WorkerStore

_TRIES = 4


class DueTitle(Value):
    """A thread that gets a title. `words` are its person's first message, empty if that is gone."""

    id: str
    conversation: ConversationKey
    thread: str
    author: str
    words: str
    tries: int


async def note_title(transaction: Transaction, effect: CycleEffect, now: int) -> None:
    """Queue the title of a DM thread that is answered for the first time.

    The row names the message and holds none of its words: a deleted message leaves no title to set. The row stays, in
    order to keep the title that a person chooses later.
    """
    first = _first_of_session(effect)
    if first is None or not effect.parts:
        return
    key = effect.claim.conversation
    await transaction.insert(
        "session_titles",
        "ON CONFLICT (id) DO NOTHING",
        id=f"{key.workspace}/{key.channel}/{effect.reply_to}",
        soul=key.soul,
        workspace=key.workspace,
        channel=key.channel,
        thread=effect.reply_to,
        message=first.id,
        state="due",
        due_ms=now,
        noted_ms=now,
    )


def _first_of_session(effect: CycleEffect) -> InboxMessage | None:
    """Return the message that began the session: the root of its thread, or the first answer to a post of the soul."""
    said = [
        one
        for one in effect.answered
        if one.perception.place is Place.DM
        and one.perception.modality is Modality.WORDS
        and one.perception.has_message
        and not one.stopped
    ]
    if not effect.reply_to or not said:
        return None
    root = next((one for one in said if one.perception.ts == effect.reply_to), None)
    return root or (said[0] if effect.claim.version == 0 and effect.claim.conversation.thread else None)


class SessionTitles(WorkerStore):
    """The titles that one worker sets."""

    async def claim_next(self) -> DueTitle | None:
        """Claim the next title for as long as a lease lasts, or return None."""
        now = self._clock.now_ms()

        async def unit(transaction: Transaction) -> DueTitle | None:
            row = await transaction.one(
                """
                UPDATE session_titles SET tries = tries + 1, due_ms = :until
                WHERE id = (SELECT id FROM session_titles WHERE state = 'due' AND soul = :soul
                              AND workspace = :workspace AND due_ms <= :now AND tries < :most
                            ORDER BY due_ms LIMIT 1)
                RETURNING id, channel, thread, tries,
                  (SELECT author FROM inbox WHERE id = session_titles.message) AS author,
                  (SELECT body FROM inbox WHERE id = session_titles.message) AS body
                """,
                now=now,
                until=now + self._worker.lease_ms,
                most=_TRIES,
                **self._worker.scope,
            )
            if row is None:
                return None
            where = ConversationKey(self._worker.soul, self._worker.workspace, row["channel"])
            return DueTitle(row["id"], where, row["thread"], row["author"] or "", row["body"] or "", row["tries"])

        return await self._database.write(unit)

    async def next_due_ms(self) -> int | None:
        """Return when the next title may be set (ms), or None if none waits."""
        return await self._due_ms(
            f"""
            SELECT min(due_ms) AS due FROM session_titles
            WHERE state = 'due' AND soul = :soul AND workspace = :workspace AND tries < {_TRIES}
            """  # noqa: S608 - a constant of this module
        )

    async def end(self, due: DueTitle) -> None:
        """End it: the title is set, or will not be."""
        await self._database.run("UPDATE session_titles SET state = 'over', message = '' WHERE id = :id", id=due.id)

    async def put_off(self, due: DueTitle, seconds: float) -> None:
        """Try again later, a few times."""
        if due.tries >= _TRIES:
            await self.end(due)
            return
        await self._database.run(
            "UPDATE session_titles SET due_ms = :due WHERE id = :id AND state = 'due'",
            due=self._clock.now_ms() + int(seconds * 1000),
            id=due.id,
        )
