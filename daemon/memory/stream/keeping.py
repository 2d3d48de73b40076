"""Stores what was thought in a cycle, inside the transaction of its commit."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.core.ports.telemetry import LLMCall
from daemon.core.thought_readers import kept_readers
from daemon.memory.database import Transaction
from daemon.memory.id_series import next_id, series_of_day
from daemon.memory.records import as_json, conversation_columns
from daemon.memory.stream.effects import let_take_effect
from daemon.memory.stream.new_thought import NewThought
from daemon.memory.stream.parts import StoredThought

HEARD: Final = "looked at after the reply"
"""Why a turn changed whose words are the same, and how they were heard or stated is known now."""

_PREFIX: Final = "TH"
_NO_SOURCE: Final = "LB_"  # passages of the admin's library


@dataclass(frozen=True, slots=True)
class CycleThoughts:
    """What one cycle thought, oldest first, and before whom.

    It saw the turns of its conversation up to number `saw_to`, and what has one of the ids `saw`: turns and records
    that surfaced. `read_at` is the number of the ledger's last line before these were read. `passing`: nothing of it
    is to be remembered.
    """

    thoughts: tuple[NewThought, ...]
    readers: Readers
    saw_to: int = 0
    saw: frozenset[str] = frozenset()
    read_at: int | None = None
    passing: bool = False


@dataclass(frozen=True, slots=True)
class ThoughtPlace:
    """Where a cycle thinks, for which audience, whom it answers (the platform's id), and by which model calls."""

    conversation: ConversationKey
    audience: Audience
    trace_id: str
    person: str = ""
    calls: Sequence[LLMCall] = ()


@dataclass(frozen=True, slots=True)
class _Cost:
    """Which model calls a thought took, summed up; a call of unknown price counts with nothing."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float

    @classmethod
    def of(cls, calls: Sequence[LLMCall]) -> "_Cost":
        """The sums of calls."""
        return cls(
            len(calls),
            sum(one.tokens_in for one in calls),
            sum(one.tokens_out for one in calls),
            sum(one.cost_usd or 0.0 for one in calls),
        )


async def store_thoughts(
    transaction: Transaction, thought: CycleThoughts, place: ThoughtPlace, seqs: Sequence[int], now: int
) -> None:
    """Add the thoughts of a cycle to the stream of their conversation; `seqs` are the turns that it stores.

    The model calls of the cycle are dealt out among them. A thought whose sources lost or changed their words meanwhile
    is stored without its own.
    """
    conversation = place.conversation
    last = await transaction.one(
        "SELECT id FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1", id=str(conversation)
    )
    previous: str = last["id"] if last else ""
    saw = {one for one in thought.saw if one and not one.startswith(_NO_SOURCE)}
    for one, cost in zip(thought.thoughts, _dealt_out(thought.thoughts, place.calls), strict=True):
        sources = sorted(saw.union(one.saw_thoughts))
        stale = await _is_gone(transaction, sources) or await _is_changed(transaction, sources, thought.read_at)
        words = {"input": "", "output": ""} if stale else {"input": one.input, "output": one.output}
        name = await next_id(transaction, series_of_day(_PREFIX, now))
        await transaction.insert(
            "thoughts",
            id=name,
            **conversation_columns(conversation),
            audience=str(place.audience),
            readers=as_json(kept_readers(thought.readers)),
            trace_id=place.trace_id,
            previous=previous,
            at_ms=now,
            saw_to=max((thought.saw_to, *seqs)),
            passing=int(thought.passing),
            emptied=int(stale),
            **_columns(one, cost),
            **words,
        )
        for source in sources:
            await transaction.insert("thought_sources", thought=name, source=source)
        stored = StoredThought(name, conversation, place.audience, thought.readers, place.person, now)
        await let_take_effect(transaction, one, stored, unless=stale or thought.passing)
        previous = name


def _columns(one: NewThought, cost: _Cost) -> Mapping[str, object]:
    return {
        "occasion": one.occasion,
        "process": one.process,
        "asked": int(bool(one.input) or one.degraded),
        "degraded": int(one.degraded),
        "spoke": int(one.spoke),
        "surprise": one.surprise,
        "did": as_json(dict(one.did)),
        "refused": as_json([list(pair) for pair in one.refused]),
        "calls": cost.calls,
        "tokens_in": cost.tokens_in,
        "tokens_out": cost.tokens_out,
        "cost_usd": cost.cost_usd,
    }


def _dealt_out(thoughts: Sequence[NewThought], calls: Sequence[LLMCall]) -> list[_Cost]:
    """What each thought cost: the calls made up to its end and since the one before; the last has the rest, too."""
    costs, begun = list[_Cost](), 0
    for number, one in enumerate(thoughts, start=1):
        end = len(calls) if number == len(thoughts) else max(begun, one.calls_made)
        costs.append(_Cost.of(calls[begun:end]))
        begun = end
    return costs


async def _is_gone(transaction: Transaction, sources: Sequence[str]) -> bool:
    """Whether one of the thoughts among these sources has lost its words since it was read, or a record is gone."""
    row = await transaction.one(
        """
        SELECT 1 FROM json_each(:sources) s WHERE EXISTS (SELECT 1 FROM thoughts t WHERE t.id = s.value AND t.emptied)
          OR (s.value GLOB 'T[UL]_*' AND NOT EXISTS
            (SELECT 1 FROM turns t WHERE t.seq = CAST(substr(s.value, 4) AS INTEGER)))
          OR ((s.value GLOB 'sem_*' OR s.value GLOB 'EP_*' OR s.value GLOB 'SMEM_*' OR s.value GLOB 'core_*'
               OR s.value GLOB 'sphere_*') AND NOT EXISTS (SELECT 1 FROM records r WHERE r.id = s.value))
        """,
        sources=as_json(list(sources)),
    )
    return row is not None


async def _is_changed(transaction: Transaction, sources: Sequence[str], read_at: int | None) -> bool:
    """Whether the ledger has another version of one of these since they were read; how a turn was heard is no other."""
    if read_at is None:
        return False
    row = await transaction.one(
        """
        SELECT 1 FROM json_each(:sources) s CROSS JOIN ledger l ON l.object = s.value
        WHERE l.seq > :read_at AND l.reason <> :heard LIMIT 1
        """,
        sources=as_json(list(sources)),
        read_at=read_at,
        heard=HEARD,
    )
    return row is not None
