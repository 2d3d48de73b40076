"""The explanation of a reply: the words and documents that it rests on, as far as its readers may know them."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final

from msgspec.structs import replace

from daemon.core.errors import ChannelError
from daemon.core.perception import AudienceKind, ConversationKey, Modality
from daemon.core.phrases import Command, Phrase
from daemon.core.sentences import Words
from daemon.core.text import shortened, visible_line
from daemon.memory.knowledge.records.kinds import RecordKind
from daemon.memory.queues.typed_commands import ASKED_IN, MESSAGE, TYPED
from daemon.memory.retrieval.reasons import DOCUMENT, Ear, Explained, Proof, Reason, WhySaid
from daemon.memory.retrieval.rows import NOT_JUDGED, TURN, Judged
from daemon.runtime.cycle_state import Cycle
from daemon.runtime.people.answers import DaemonAnswer, Dm, dm_of, phrase
from daemon.runtime.people.own_memory import day_in

MOST_LINKS: Final = 12
"""The most addresses of messages that one answer asks for."""

_MOST_SENTENCES: Final = 30
_SENTENCE, _QUOTE, _NAME = 200, 300, 80  # characters
_KINDS: Final = {
    RecordKind.FACT: "because_fact",
    RecordKind.SENSE: "because_sense",
    DOCUMENT: "because_document",
}  # other kinds are talks that are remembered as a whole

AddressOf = Callable[[ConversationKey, str], Awaitable[str]]
"""A function that returns the address of a message of a conversation, empty for none."""


@dataclass(slots=True)
class Because:
    """The builder of an explanation in the asker's words and zone. `addresses` are those that the answer names."""

    words: Words
    zone: str
    address_of: AddressOf
    addresses: dict[tuple[str, str], str] = field(default_factory=dict)

    async def told(self, said: WhySaid) -> str:
        """Return the whole answer about a reply."""
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
    """Yield the sentences one by one, and neighbours without reasons together."""
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


_MOST_WHISPERED: Final = 3  # parts of an answer to a person without a DM


@phrase(Command.WHY_SAID)
async def explain(cycle: Cycle, _: Phrase) -> DaemonAnswer:
    """Explain a reply: here to all readers, and to the person alone what they alone may know. Raises StoreError."""
    clicked, alone = cycle.newest.modality is Modality.DECISION, cycle.claim.audience.kind is AudienceKind.DM
    said = await _said_here(cycle)
    room = None if alone else await _room_of(cycle)
    ears = [Ear(cycle.claim.conversation, cycle.readers)]
    there = [Ear(room.where, await room.readers(cycle))] if room else []
    private = "" if alone else await _told_to(cycle, said, [*ears, *there])
    shown = "" if clicked and not alone else await _told_to(cycle, said, ears)
    if room is None or not private or private == shown:
        answer = DaemonAnswer(shown)
    else:
        shown = shown and f"{shown}\n\n{cycle.words.say('because_in_private')}"
        answer = DaemonAnswer(shown, (room.said(cycle, private),), more={"rooms": there[0].readers.rooms})
    if not clicked or alone:
        return answer
    return replace(answer, after=partial(_point_to, cycle, private, found=room is not None))


async def _said_here(cycle: Cycle) -> str:
    reasons, newest = cycle.services.reasons, cycle.newest
    if TYPED in newest.params:
        return await cycle.services.capabilities.own_things.newest_reply(
            newest.author, str(newest.params.get(ASKED_IN, ""))
        )
    if newest.modality is Modality.DECISION:
        key = cycle.claim.conversation
        return await reasons.reply_posted(key.soul, str(newest.params.get(MESSAGE, "")), key.channel)
    return await reasons.last_reply(cycle.claim.conversation)


async def _room_of(cycle: Cycle) -> Dm | None:
    try:
        return await dm_of(cycle, cycle.newest.author)
    except ChannelError as error:
        cycle.services.emit("memory.no_room", trace=cycle.trace_id, reason=error.message)
        return None


async def _why(cycle: Cycle, reply: str, ears: list[Ear]) -> WhySaid | None:
    return await cycle.services.reasons.why(reply, ears) if reply else None


async def _told_to(cycle: Cycle, reply: str, ears: list[Ear]) -> str:
    if (why := await _why(cycle, reply, ears)) is None:
        return cycle.words.say("because_no_reply")
    channels = cycle.services.channels
    because = Because(cycle.words, cycle.newest.zone, lambda where, ts: channels.of(where).permalink(where, ts))
    told = await because.told(why)
    cycle.hosts.learn(*because.addresses.values())
    return told


async def _point_to(cycle: Cycle, private: str, *, found: bool) -> None:
    channel, key = cycle.channel, cycle.claim.conversation
    thread = channel.reply_to(cycle.newest)
    parts = (cycle.words.say("own_in_private"),) if found else channel.split(private, key, cycle.hosts)
    for part in parts[:_MOST_WHISPERED]:
        await channel.whisper(key, cycle.newest.author, part, thread=thread)
