"""Why a reply says what it says, in the soul's words: each sentence, the memories that bear it, their quotations."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from daemon.core.perception import ConversationKey
from daemon.core.sentences import Words
from daemon.core.text import shortened, visible_line
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.retrieval.judged import NOT_JUDGED, Judged
from daemon.memory.retrieval.reasons import DOCUMENT, Explained, Proof, Reason, WhySaid
from daemon.memory.retrieval.rows import TURN
from daemon.runtime.people.own_memory import day_in

MOST_LINKS: Final = 12
"""How many addresses of messages are asked for in one answer."""

_MOST_SENTENCES: Final = 30
_SENTENCE, _QUOTE, _NAME = 200, 300, 80  # characters
_KINDS: Final = {
    RecordKind.FACT: "because_fact",
    RecordKind.SENSE: "because_sense",
    DOCUMENT: "because_document",
}  # any other is a talk that is remembered as a whole

AddressOf = Callable[[ConversationKey, str], Awaitable[str]]
"""The address of a message of a conversation, empty for none."""


@dataclass(slots=True)
class Because:
    """Words, the time zone of who asks, and where messages are found; `addresses` are those that the answer names."""

    words: Words
    zone: str
    address_of: AddressOf
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)

    async def told(self, said: WhySaid) -> str:
        """The whole answer about a reply."""
        lines = [self.words.say("because_head")]
        for some in _grouped(said.sentences[:_MOST_SENTENCES]):
            lines.append("\n" + "\n".join(f"> {_plain(one.text, _SENTENCE)}" for one in some))
            lines += await self._of(some[0])
        if said.gone:
            lines.append("\n" + self.words.say("because_gone", count=said.gone))
        return "\n".join(lines)

    async def _of(self, sentence: Explained) -> list[str]:
        say = self.words.say
        lines = [line for reason in sentence.reasons for line in await self._because(reason)]
        lines += [f"- {say('because_source', what=_plain(one.replace('`', ''), _QUOTE))}" for one in sentence.sources]
        if sentence.hidden:
            lines.append(say("because_hidden"))
        if sentence.gone:
            lines.append(say("because_forgotten"))
        return lines or [say("because_nothing")]

    async def _because(self, reason: Reason) -> list[str]:
        """A memory and the messages that prove it; a turn is one itself."""
        proofs = [await self._proof(one) for one in reason.evidence]
        judged = self._judged(reason.judged)
        if reason.kind == TURN:
            return [*(f"- {one}" for one in proofs), *judged]
        what = _plain(reason.text, _QUOTE)
        lines = [f"- {self.words.say(_KINDS.get(reason.kind, 'because_talk'), what=what)}"]
        if not proofs and reason.kind != DOCUMENT:
            lines.append(f"  {self.words.say('because_unproved')}")
        return [*lines, *(f"  {one}" for one in proofs), *judged]

    def _judged(self, judged: Judged) -> list[str]:
        """What people said of replies that had this memory; no line where they said nothing."""
        if judged == NOT_JUDGED:
            return []
        return [f"  {self.words.say('because_judged', good=judged.good, bad=judged.bad)}"]

    async def _proof(self, proof: Proof) -> str:
        say, day = self.words.say, day_in(proof.said_ms, self.zone)
        name = _plain(proof.speaker, _NAME) or say("because_anyone")
        quote = _plain(proof.quote, _QUOTE)
        told = (
            say("because_said", quote=quote, name=name, day=day) if quote else say("because_then", name=name, day=day)
        )
        address = await self._address(proof)
        return f"{told} [{say('because_link')}]({address})" if address else told

    async def _address(self, proof: Proof) -> str:
        key = (str(proof.conversation), proof.ts)
        if proof.ts and key not in self.addresses and len(self.addresses) < MOST_LINKS:
            self.addresses[key] = await self.address_of(proof.conversation, proof.ts)
        return self.addresses.get(key, "")


def _grouped(sentences: Sequence[Explained]) -> Iterator[list[Explained]]:
    """The sentences one by one; neighbours that nothing bears stand together."""
    group: list[Explained] = []
    for one in sentences:
        alone = one.reasons or one.sources or one.hidden or one.gone
        if alone and group:
            yield group
            group = []
        if alone:
            yield [one]
        else:
            group.append(one)
    if group:
        yield group


def _plain(text: str, most: int) -> str:
    return shortened(visible_line(text), most)
