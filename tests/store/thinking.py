"""Cycles that think whole thoughts, for the tests of the stream of thought."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.memory.database import Database
from daemon.memory.queues.memory_acts import Asker
from daemon.memory.stream.keeping import CycleThoughts, NewThought, Occasion
from daemon.memory.stream.reading import LastThoughts, Stream
from tests.fakes import FakeClock
from tests.given import effect, new_message
from tests.store.parts import Stores


def new_thought(words: str, occasion: Occasion = "words", saw: Sequence[str] = ()) -> NewThought:
    """A thought that holds these words, and was given them."""
    return NewThought(
        occasion=occasion,
        process="engaged",
        input=json.dumps({"new_percepts": [{"modality": "language", "content": words}]}),
        output=json.dumps({"inner_speech": words}),
        spoke=True,
        saw_thoughts=tuple(saw),
    )


@dataclass
class Thinker:
    """One soul that thinks about each message; its messages are numbered through."""

    stores: Stores
    number: int = 0

    @property
    def database(self) -> Database:
        return self.stores.database

    async def thinks(
        self,
        words: str,
        where: ConversationKey,
        readers: Readers,
        *,
        author: str = "U1",
        saw: Sequence[str] = (),
        sources: Sequence[str] = (),
        thoughts: Sequence[NewThought] | None = None,
        read_at: int | None = None,
        passing: bool = False,
    ) -> str:
        """Answer a message that says these words with a thought that holds them; gives the ts of the message."""
        self.number += 1
        ts = f"{self.number}.000001"
        message = new_message(ts, words, conversation=where, author=author, audience=readers.audience)
        await self.stores.inbox.accept(message)
        claim = await self.stores.claim()
        made = new_thought(words, saw=saw)
        kept = CycleThoughts(
            tuple(thoughts or (made,)), readers, saw=frozenset(sources), read_at=read_at, passing=passing
        )
        done = replace(
            effect(claim, f"about {words}"),
            trace_id=f"t{self.number}",
            asker=Asker(author, where, readers.audience, ts),
            thoughts=kept,
        )
        delivery = await self.stores.commits.commit(done)
        assert delivery is not None
        await self.stores.outbox.sent(delivery, f"9{ts}")
        return ts

    async def last(self, where: ConversationKey, readers: Readers) -> LastThoughts:
        """What the soul may think again there."""
        return await Stream(self.database, FakeClock()).last(where, readers)

    async def words(self) -> dict[str, str]:
        """What each thought still holds, by its id."""
        rows = await self.database.rows("SELECT id, output FROM thoughts ORDER BY seq")
        return {row["id"]: json.loads(row["output"])["inner_speech"] if row["output"] else "" for row in rows}


def said(last: LastThoughts) -> tuple[str, list[str]]:
    """The words of the previous thought, empty for none, and of the recent ones."""

    def of(text: str) -> str:
        words: str = json.loads(text)["inner_speech"]
        return words

    return of(last.previous.output) if last.previous else "", [of(one.output) for one in last.recent]


def members(audience: str, rooms: Sequence[str] = ()) -> Readers:
    """Readers of an audience who are all members of the workspace."""
    return Readers(Audience.parse(audience), members_only=True, rooms=frozenset(rooms))


def outsiders(audience: str) -> Readers:
    """Readers of an audience among whom one is no member."""
    return Readers(Audience.parse(audience), members_only=False)
