"""What sessions of Claude Code say to the soul, and its replies: the way of chat, in conversations of their own."""

import asyncio
import secrets
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.http.errors import Refusal
from daemon.channels.http.intake import HttpIntake, SentWords
from daemon.channels.http.live_replies import LiveReplies, ReplyReader
from daemon.channels.http.server_sent import BEAT
from daemon.channels.http.stream import Question, why_no_reply
from daemon.core.concurrency import alongside, time_limit
from daemon.core.perception import ConversationKey
from daemon.core.ports.clock import Clock
from daemon.core.ports.posts import StoredReply
from daemon.core.sessions import KeyOwner, talk_of

_LONGEST_S: Final = 900.0  # a reply that takes longer is fetched by asking once more with the same id
_HOUR_MS: Final = 3_600_000
_MOST_WAITING: Final = 10


class SessionTalk:
    """Puts what sessions say to the soul; each key may ask, or have a text kept, `hourly` times in an hour."""

    def __init__(
        self,
        soul: str,
        workspace: str,
        *,
        hourly: int,
        intake: HttpIntake,
        side: DaemonSide,
        live: LiveReplies,
        clock: Clock,
    ) -> None:
        self._soul, self._workspace = soul, workspace
        self._hourly = hourly
        self._intake = intake
        self._side = side
        self._live = live
        self._clock = clock
        self._counting = asyncio.Lock()
        self._waiting = Counter[str]()

    def conversation(self, owner: KeyOwner, session: str) -> ConversationKey:
        """See `talk_of`."""
        return talk_of(self._soul, self._workspace, owner, session)

    async def ask(self, owner: KeyOwner, session: str, words: str, message_id: str) -> StoredReply:
        """Say something and wait for the reply; the same id brings the same reply again, and costs nothing.

        Raises Refusal, NotDelivered while its owner's direct messages can't be found, and StoreError.
        """
        with self._waits(owner):
            return await self._ask(owner, session, words, message_id)

    async def keep(self, owner: KeyOwner, session: str, text: str) -> bool:
        """Have a text kept; False where its owner has remembering paused. Raises as `ask` does."""
        audience = await self._side.sessions.audience(owner)
        async with self._counting:
            await self._require_budget(owner)
            return await self._side.memory.keep(owner, self.conversation(owner, session), text, audience)

    async def _ask(self, owner: KeyOwner, session: str, words: str, message_id: str) -> StoredReply:
        question = Question(self.conversation(owner, session), message_id or secrets.token_urlsafe(16))
        known = await self._intake.known(question, words) if message_id else None
        with self._live.reader(question.conversation, known.ts if known else self._intake.next_ts()) as reader:
            if known is None:
                reader.ts = float(await self._say(question, owner, words))
            try:
                async with time_limit(self._clock, _LONGEST_S):
                    reply = await self._reply(question, reader)
            except TimeoutError:
                hint = f"ask again with the id {question.message_id} and the same words"
                raise Refusal(504, "too_slow", "The soul has not answered yet.", hint) from None
        if reply.apology or not reply.parts:
            _, message, hint = why_no_reply(reply)
            raise Refusal(410, "no_answer", message, hint)
        return reply

    async def _say(self, question: Question, owner: KeyOwner, words: str) -> str:
        """Store the message, within the budget; gives its ts."""
        audience = await self._side.sessions.audience(owner)
        name = f"{owner.name}'s session" if owner.name else "the admin's session"
        async with self._counting:  # so that many at once can't all find room
            await self._require_budget(owner)
            return await self._intake.store(question, SentWords(words, owner.author, name, audience))

    async def _require_budget(self, owner: KeyOwner) -> None:
        if await self._side.memory.asked(owner, self._clock.now_ms() - _HOUR_MS) >= self._hourly:
            message = f"This key asked or had texts kept {self._hourly} times within an hour, which is the most."
            raise Refusal(429, "over_budget", message, "try again later; recall costs nothing")

    @contextmanager
    def _waits(self, owner: KeyOwner) -> Iterator[None]:
        """Count a question of a key until it is answered; the admin's token has no such bound."""
        if owner.key and self._waiting[owner.key] >= _MOST_WAITING:
            message = f"{_MOST_WAITING} questions of this key wait for their replies, which is the most."
            raise Refusal(429, "too_many", message, "ask again once one of them is answered")
        self._waiting[owner.key] += 1
        try:
            yield
        finally:
            self._waiting[owner.key] -= 1
            self._waiting += Counter()  # without those of which none waits

    async def _reply(self, question: Question, reader: ReplyReader) -> StoredReply:
        async with alongside(self._beat(reader)):
            while True:
                reader.changed.clear()
                reader.take()  # the draft is not shown, and must not pile up
                look_up, reader.look_up = reader.look_up, False
                if self._live.closing:
                    hint = f"ask again with the id {question.message_id} and the same words"
                    raise Refusal(503, "stopping", "The daemon is stopping.", hint)
                if look_up:
                    found = await self._side.find_reply(question.conversation, question.message_id)
                    if found is not None and found.settled:
                        return found
                await reader.changed.wait()

    async def _beat(self, reader: ReplyReader) -> None:
        """Look the reply up now and then, too: another daemon may have replied."""
        while True:
            await self._clock.sleep(BEAT)
            reader.wake()
