"""Holds what was said against what people wait for, and reports it to those who may hear it: a chore of one soul.

No model is asked. Words find their cues by an index (`core.topics`), by who wrote them, and by meaning where there is
an embedder. Then the same rules decide as for memories: the gate has to let their author in, neither author nor asker
may have paused remembering, and everybody who reads where it was asked may hear what was said (`core.hearing`), by what
is stored and by what the platform says now; unknown means no. What may not be heard is not reported and not counted.
"""

from collections.abc import Callable, Collection
from typing import Final

from daemon.core.channels import Channels
from daemon.core.concurrency import Bell
from daemon.core.errors import NotDelivered, StoreError
from daemon.core.hearing import Origin, may_hear
from daemon.core.last_line import in_short
from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.ports.channel import Channel
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.topics import keys_of_words, speaks_of, words_heard
from daemon.memory.knowledge.meaning import Meaning
from daemon.memory.people.standing import Remembering
from daemon.memory.queues.cue_matching import CueMatching, HeardMessage, WaitingCue, keys_of_author
from daemon.memory.reader_codes import code_of_cues

POLL: Final = 2.0
"""Seconds between two looks for words that another daemon stored."""

NEAR: Final = 0.45
"""The cosine from which a message counts as being about a topic, though it shares no word with it.

With the embedder of the package it finds 5 of 16 paraphrases, and takes 3 of 28,000 other messages for one.
"""

_NEAREST: Final = 20  # cues by meaning
_LETTERS: Final = 1_500  # of a message that are embedded


class CueWatch:
    """`bell` rings when a message was stored; `on_due` is called when there is a report."""

    def __init__(
        self,
        cues: CueMatching,
        standing: Remembering,
        meaning: Meaning,
        channels: Channels,
        *,
        clock: Clock,
        emit: Emit,
    ) -> None:
        self._cues = cues
        self._standing = standing
        self._meaning = meaning
        self._channels = channels
        self._clock = clock
        self._emit = emit

    async def run(self, bell: Bell, on_due: Callable[[], None]) -> None:
        """Work off what was said until cancelled. Raises StoreError."""
        while True:
            while (heard := await self._cues.next_heard()) is not None:
                if reports := await self.look_at(heard):
                    self._emit("cues.reported", count=reports)
                    on_due()
            await bell.wait(self._clock, POLL)

    async def look_at(self, heard: HeardMessage) -> int:
        """Hold one message against the cues; for how many it is reported. Raises StoreError."""
        try:
            reached = [cue for cue in await self._speaking_to(heard.message) if await self._may_hear(cue, heard)]
            return await self._cues.report(heard, reached)
        except NotDelivered as error:
            reason = error.message
        except StoreError:
            raise
        except Exception as error:  # noqa: BLE001 - the other messages are looked at even if this one is poison
            reason = in_short(error)
        self._emit("cues.put_off", message=heard.message.id, reason=reason)
        await self._cues.put_off(heard)
        return 0

    async def _speaking_to(self, said: Perception) -> list[WaitingCue]:
        """The cues that wait for this message, if its author may be heard at all. Raises NotDelivered, StoreError."""
        words, when_ms = words_heard(said.content), int(said.said_at[0] * 1000)
        by_words = [
            cue
            for cue in await self._cues.candidates(keys_of_words(words) | keys_of_author(said.author))
            if not cue.topic or speaks_of(cue.topic, words)
        ]
        found = {cue.seq: cue for cue in (*by_words, *await self._by_meaning(said))}
        waiting = [
            cue
            for cue in found.values()
            if cue.asker != said.author and cue.since_ms < when_ms and cue.person in {"", said.author}
        ]
        if not waiting:
            return []
        paused = await self._standing.paused([said.author, *(cue.asker for cue in waiting)])
        if said.author in paused or not (await self._channels.of(said.conversation).admit(said)).admitted:
            return []
        return [cue for cue in waiting if cue.asker not in paused]

    async def _by_meaning(self, said: Perception) -> Collection[WaitingCue]:
        if not self._meaning.serves or not await self._cues.any_topics():
            return ()
        key = said.conversation
        near = await self._meaning.likest(code_of_cues(key.soul, key.workspace), said.content[:_LETTERS], _NEAREST)
        return await self._cues.by_vector([one for one, cosine in near.items() if cosine >= NEAR])

    async def _may_hear(self, cue: WaitingCue, heard: HeardMessage) -> bool:
        """Whether everybody who reads where it was asked may hear what was said. Raises NotDelivered, StoreError."""
        asked = Perception.of_message(
            conversation=cue.conversation,
            ts=cue.conversation.thread,
            author=cue.asker,
            content="",
            place=cue.place,
            audience=cue.audience,
        )
        readers = await self._channels.of(asked.conversation).readers(asked)
        if cue.outsider_spoke:
            readers = readers.before_outsiders()
        return await is_heard(self._channels.of(heard.message.conversation), readers, cue.conversation, heard)


async def is_heard(channel: Channel, readers: Readers, where: ConversationKey, heard: HeardMessage) -> bool:
    """Whether readers of a conversation may hear a message: by what is stored of it, and by what the platform says now.

    Raises StoreError.
    """
    if not all(may_hear(readers, where, origin) for origin in heard.origins):
        return False
    now = await channel.readers(heard.message)
    return may_hear(readers, where, Origin(now.audience, heard.message.conversation.channel))
