"""The list of facts known of a person and the proof of each line, in the daemon's own words."""

import datetime as dt
import json
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from daemon.core.perception import ConversationKey, Perception, Readers
from daemon.core.sentences import Words
from daemon.core.text import numbered, one_line
from daemon.core.value import Value
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.people.known import KnownOfPerson, QuotedWords
from daemon.memory.people.standing import Belief
from daemon.memory.queues.memory_acts import IN_OWN_WORDS, MemoryAct, Shown

_LONGEST_QUOTE: Final = 300


class OwnAnswer(Value):
    """An answer to a person about their memory, and the acts stored with it.

    `file` is the content of a file. `asks` puts a question with buttons below. `heard` keeps the message as a turn, or
    only its `words`. `anew`: the person was forgotten, and the conversation starts over.
    """

    text: str
    acts: tuple[MemoryAct, ...] = ()
    file: str = ""
    asks: bool = False
    heard: bool = False
    words: str = ""
    anew: bool = False


class OwnMemory(Value):
    """The facts that one soul knows of `person`, as far as the readers of the answer may hear them."""

    known: KnownOfPerson
    person: str
    readers: Readers
    where: ConversationKey
    zone: str
    words: Words

    async def listed(self) -> OwnAnswer:
        """List all facts and beliefs (numbered, grouped, dated), what else is kept, and what is not read yet."""
        facts = await self.known.facts(self.person, self.readers, self.where)
        beliefs = await self.known.beliefs(self.person, self.readers, self.where)
        besides = await self.known.besides(self.person, self.readers, self.where)
        say = self.words.say
        lines = [say("own_known") if facts or beliefs else say("own_nothing")]
        group = ""
        for number, fact in enumerate(facts, 1):
            if (its := fact.topic if fact.person else "aside") != group:
                group = its
                lines.append(f"\n*{say(f'own_{group}')}*")
            whose = "own_in_words" if fact.predicate == IN_OWN_WORDS else ""
            whose = "own_noted" if fact.trust is Trust.NOTED else whose
            noted = f", {say(whose)}" if whose else ""
            lines.append(f"{numbered(number)}. {one_line(fact.text)} ({self._day(fact.valid_from_ms)}{noted})")
        if beliefs:
            lines.append(f"\n*{say('own_beliefs')}*")
            numbers = range(len(facts) + 1, len(facts) + len(beliefs) + 1)
            lines += [f"{numbered(n)}. {self._believed(one)}" for n, one in zip(numbers, beliefs, strict=True)]
        if besides.unread:
            lines.append("\n" + say("own_unread", messages=besides.unread))
        zone = say("own_zone", zone=besides.zone) if besides.zone else ""
        kept = say("own_besides", messages=besides.messages, files=besides.files, reminders=besides.reminders)
        summaries = say("own_summaries", number=besides.summaries) if besides.summaries else ""
        lines.append("\n" + " ".join(filter(None, (kept, summaries, zone))))
        lines.append(" ".join(say(one) for one in (("own_how_line", "own_how") if facts or beliefs else ("own_how",))))
        return OwnAnswer("\n".join(lines), (Shown((*(one.id for one in facts), *(one.id for one in beliefs))),))

    async def numbered(self, number: int) -> tuple[Fact, tuple[str, ...]] | None:
        """Return the fact of that number in the newest list that the person saw, and the list, or None."""
        shown, _ = await self.known.shown(self.person)
        if not 1 <= number <= len(shown):
            return None
        fact = await self.known.fact(shown[number - 1], self.person, self.readers, self.where)
        return (fact, shown) if fact is not None else None

    async def believed(self, number: int) -> tuple[Belief, tuple[str, ...]] | None:
        """Return the belief of that number in that list, and the list, or None."""
        shown, _ = await self.known.shown(self.person)
        held = await self._belief(shown[number - 1]) if 1 <= number <= len(shown) else None
        return (held, shown) if held is not None else None

    async def last_asked(self) -> tuple[int, Fact | Belief] | None:
        """Return what the person asked about since they saw a list, with its number in that list."""
        shown, newest = await self.known.shown(self.person)
        if newest not in shown:
            return None
        number = shown.index(newest) + 1
        found = await self.numbered(number) or await self.believed(number)
        return (number, found[0]) if found is not None else None

    async def why(self, number: int, fact: Fact, shown: tuple[str, ...]) -> OwnAnswer:
        """Return the words that prove a fact, each with its day and place."""
        evidence = await self.known.evidence(fact.id, self.readers, self.where)
        say = self.words.say
        if fact.trust is Trust.INFERRED:
            day = self._day(fact.valid_from_ms)
            return OwnAnswer(
                say("own_concluded", number=numbered(number), fact=_in_sentence(fact.text), day=day),
                (Shown(shown, fact.id),),
            )
        lines = [say("own_why", number=numbered(number), fact=_in_sentence(fact.text))]
        lines += [f"> {one_line(one.quote)[:_LONGEST_QUOTE]}\n{self._said(one)}" for one in evidence]
        if not evidence:
            lines.append(say("own_unproved"))
        return OwnAnswer("\n".join(lines), (Shown(shown, fact.id),))

    def why_believed(self, number: int, belief: Belief, shown: tuple[str, ...]) -> OwnAnswer:
        """Say that no words prove a belief, and when it fades."""
        said = self.words.say(
            "own_believed", number=numbered(number), belief=_in_sentence(belief.text), day=self._day(belief.until_ms)
        )
        return OwnAnswer(said, (Shown(shown, belief.id),))

    async def exported(self, now_ms: int) -> str:
        whole = await self.known.export(self.person, self.readers, self.where)
        made = {"soul": self.where.soul, "made": self._day(now_ms), "times": "milliseconds since 1970, UTC"}
        return json.dumps({**made, **whole}, ensure_ascii=False, indent=1)

    async def _belief(self, name: str) -> Belief | None:
        held = await self.known.beliefs(self.person, self.readers, self.where) if name else ()
        return next((one for one in held if one.id == name), None)

    def _believed(self, belief: Belief) -> str:
        return f"{one_line(belief.text)} ({self._day(belief.since_ms)})"

    def _said(self, evidence: QuotedWords) -> str:
        where = "own_here" if evidence.conversation.channel == self.where.channel else "own_elsewhere"
        return self.words.say(where, day=self._day(evidence.said_ms))

    def _day(self, ms: int) -> str:
        return day_in(ms, self.zone)


def _in_sentence(text: str) -> str:
    return one_line(text).rstrip(" .…")


def day_in(ms: int, zone: str) -> str:
    """Return the day of a moment (ms) in a time zone, by its IANA name, or in UTC without one."""
    try:
        where: dt.tzinfo = ZoneInfo(zone) if zone else dt.UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        where = dt.UTC
    return dt.datetime.fromtimestamp(ms / 1000, where).date().isoformat()


async def own_memory(
    known: KnownOfPerson, perception: Perception, readers: Readers, words: Words
) -> tuple[str, tuple[MemoryAct, ...]]:
    own = OwnMemory(known, perception.author, readers, perception.conversation, perception.zone, words)
    answer = await own.listed()
    return answer.text, answer.acts
