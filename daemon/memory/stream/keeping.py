"""Stores what was thought in a cycle, inside the transaction of its commit."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal

import msgspec

from daemon.core.authority import FUNCTION_OF, WORKSPACE_FIELDS, Authority, Function, Level
from daemon.core.lineage import kept_readers
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.services import LLMCall
from daemon.core.value import Value
from daemon.memory.database import Transaction
from daemon.memory.id_series import next_id, series_of_day
from daemon.memory.records import as_json, conversation_columns, object_or_nothing
from daemon.memory.stream.authority import authority_of, count_parts, propose
from daemon.memory.stream.emptying import changed_since
from daemon.memory.thought_parts import WITHOUT_FREE_WORDS, PartsTaken, StoredThought, ThoughtPart

Occasion = Literal["words", "due", "surprise", "sense", "result", "visit_end", "wake", "awakening"]

UNBOUND: Final = Authority(dict.fromkeys(Function, Level.CHECKED))
"""The authority of a thought from which nothing was held back."""


class NewThought(Value):
    """A thought: its occasion, its mental process, its input and its output.

    `input` is a CognitiveInput in JSON, empty if another step than `think` made the thought. `output` is a
    CognitiveOutput. `surprise` (0 to 1) is the greatest of its prediction errors. `did` counts the parts of each field
    that took effect already. `refused` names each field that lost a part, and why. `parts` take effect, and are
    counted, when the thought is stored. `authority` is what its functions were allowed. `saw_thoughts` are the ids of
    all that its prompt held. `calls_made` is the number of the cycle's model calls so far, set by the motor.
    """

    occasion: Occasion
    process: str
    input: str
    output: str
    degraded: bool = False
    spoke: bool = False
    surprise: float | None = None
    did: Mapping[str, int] = msgspec.field(default_factory=lambda: MappingProxyType({}))
    refused: tuple[tuple[str, str], ...] = ()
    saw_thoughts: tuple[str, ...] = ()
    parts: tuple[ThoughtPart, ...] = ()
    calls_made: int = 0
    authority: Authority = UNBOUND


BY_AUTHORITY: Final = "authority"
"""The reason of a part without effect: its function lacks the authority."""

_PRIVATE: Final = "private"


@dataclass(slots=True)
class _Outcome:
    did: dict[str, int]
    refused: list[tuple[str, str]]
    fared: dict[Function, tuple[int, int]] = field(default_factory=dict)

    def refuse(self, name: str, reason: str, size: int = 1) -> None:
        self.refused += [(name, reason)] * size

    def count(self, name: str, *, taken: int = 0, refused: int = 0) -> None:
        if name in FUNCTION_OF:
            before = self.fared.get(FUNCTION_OF[name], (0, 0))
            self.fared[FUNCTION_OF[name]] = (before[0] + max(0, taken), before[1] + refused)


async def let_take_effect(transaction: Transaction, one: NewThought, stored: StoredThought, *, unless: bool) -> None:
    """Let a thought take effect as far as its functions may, or not at all with `unless`. Stores the outcome."""
    authority = one.authority.and_also(await authority_of(transaction, stored.conversation.soul))
    outcome, held = _Outcome(dict(one.did), list(one.refused)), _held(one)
    for name, _ in one.refused:
        outcome.count(name, refused=1)
    withheld = await _withhold(transaction, authority, stored, held, outcome, unless=unless)
    of_parts = Counter[str]()
    for part in one.parts:
        if part.field in withheld:
            continue
        taken = PartsTaken(0, [_PRIVATE] * part.size) if unless else await part.take(transaction, stored)
        if taken.done:
            outcome.did[part.field] = outcome.did.get(part.field, 0) + taken.done
        for reason in taken.refused:
            outcome.refuse(part.field, reason)
        outcome.count(part.field, refused=len(taken.refused))
        of_parts[part.field] += len(taken.refused)
    for name, size in held.items():
        outcome.count(name, taken=size - of_parts[name])
    if not unless:
        await count_parts(transaction, stored.conversation, outcome.fared, stored.now)
    await transaction.run(
        "UPDATE thoughts SET did = :did, refused = :refused WHERE id = :id",
        did=as_json(outcome.did),
        refused=as_json([list(pair) for pair in outcome.refused]),
        id=stored.id,
    )


async def _withhold(
    transaction: Transaction,
    authority: Authority,
    stored: StoredThought,
    held: Mapping[str, int],
    outcome: _Outcome,
    *,
    unless: bool,
) -> frozenset[str]:
    """Refuse the fields that may not take effect, propose those that need an admin, and return their names."""
    everybodys = stored.audience.kind is AudienceKind.WORKSPACE and stored.readers.members_only
    withheld = set[str]()
    for name, size in held.items():
        if name in WORKSPACE_FIELDS and not everybodys:
            outcome.refuse(name, _PRIVATE, size)
        elif not authority.allows(name):
            outcome.refuse(name, BY_AUTHORITY, size)
            if authority.of(name) is Level.PROPOSED and not unless:
                await propose(transaction, stored, name)
        else:
            continue
        withheld.add(name)
        outcome.did.pop(name, None)
    return frozenset(withheld)


def _held(one: NewThought) -> Mapping[str, int]:
    of_parts = Counter[str]()
    for part in one.parts:
        of_parts[part.field] += part.size
    return {**of_parts, **parts_held(one.output)}


def parts_held(output: str) -> Mapping[str, int]:
    """Return how many parts each field of a thought (JSON) holds, of the fields that belong to a function."""
    found = object_or_nothing(output)
    return {name: _size(found[name]) for name in FUNCTION_OF if found.get(name)}


def _size(value: object) -> int:
    if isinstance(value, list):
        return len(value)
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return sum(map(len, value.values()))  # attributes by entity
    return 1


_WITHOUT_WORDS: Final = f"""
    UPDATE turns SET thought = {WITHOUT_FREE_WORDS}
    WHERE seq IN (SELECT value FROM json_each(:seqs)) AND speaker = 'soul' AND thought <> '{{}}'
    """  # noqa: S608 - a constant
_PREFIX: Final = "TH"
_BY_CHANGES: Final = ("MS_", "BY_", "UM_", "SC_", "RW_", "SQ_", "CH_", "SE_", "LF_", "GL_")  # ids of `core/lineage.py`


class CycleThoughts(Value):
    """The thoughts of one cycle, oldest first, and their readers.

    The cycle saw the turns of its conversation up to number `saw_to`, and the ids `saw` (`core/lineage.py`). `read_at`
    is the number of the newest change of words before these were read. `passing`: nothing of it is remembered.
    """

    thoughts: tuple[NewThought, ...]
    readers: Readers
    saw_to: int = 0
    saw: frozenset[str] = frozenset()
    read_at: int | None = None
    passing: bool = False


class ThoughtPlace(Value):
    """The conversation and audience of a cycle's thoughts, the person it answers (platform id), and its model calls."""

    conversation: ConversationKey
    audience: Audience
    trace_id: str
    person: str = ""
    calls: Sequence[LLMCall] = ()


class _Cost(Value):
    """The sums of a thought's model calls. A call of unknown price adds no cost."""

    calls: int
    tokens_in: int
    tokens_out: int
    cost_usd: float

    @classmethod
    def of(cls, calls: Sequence[LLMCall]) -> "_Cost":
        return cls(
            len(calls),
            sum(one.tokens_in for one in calls),
            sum(one.tokens_out for one in calls),
            sum(one.cost_usd or 0.0 for one in calls),
        )


async def store_thoughts(
    transaction: Transaction, thought: CycleThoughts, place: ThoughtPlace, seqs: Sequence[int], now: int
) -> None:
    """Store the thoughts of a cycle in the stream of their conversation. `seqs` are the turns that the cycle stores.

    Each thought gets its share of the cycle's model calls. A thought whose sources lost or changed their words during
    the cycle is stored without words.
    """
    conversation = place.conversation
    last = await transaction.one(
        "SELECT id FROM thoughts WHERE conversation = :id ORDER BY seq DESC LIMIT 1", id=str(conversation)
    )
    previous: str = last["id"] if last else ""
    for one, cost in zip(thought.thoughts, _dealt_out(thought.thoughts, place.calls), strict=True):
        sources = sorted(thought.saw.union(one.saw_thoughts) - {""})
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
        if stale:
            await transaction.run(_WITHOUT_WORDS, seqs=as_json(list(seqs)))
        await transaction.run(
            "INSERT INTO thought_sources (thought, source) SELECT :name, value FROM json_each(:sources)",
            name=name,
            sources=as_json([one for one in sources if one.startswith(_PREFIX) or not stale]),
        )
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
    """Return the cost of each thought: the calls made since the one before, and for the last one all the rest."""
    costs, begun = list[_Cost](), 0
    for number, one in enumerate(thoughts, start=1):
        end = len(calls) if number == len(thoughts) else max(begun, one.calls_made)
        costs.append(_Cost.of(calls[begun:end]))
        begun = end
    return costs


async def _is_gone(transaction: Transaction, sources: Sequence[str]) -> bool:
    """Return whether one of these thoughts, notes, turns or records is gone, or has lost its words."""
    row = await transaction.one(
        """
        SELECT 1 FROM json_each(:sources) s WHERE CASE
          WHEN substr(s.value, 1, 3) IN (SELECT value FROM json_each(:by_changes)) THEN 0
          WHEN s.value GLOB 'TH_*-*' THEN 0 -- what an admin settled of a thought that is among them
          WHEN s.value GLOB 'TH_*' THEN NOT EXISTS
            (SELECT 1 FROM thoughts t WHERE t.id = s.value AND (t.emptied = 0 OR t.aged = 1))
          WHEN s.value GLOB 'NT_*' THEN NOT EXISTS (SELECT 1 FROM shared_messages n WHERE n.id = s.value)
          WHEN s.value GLOB 'T[UL]_*' THEN NOT EXISTS
            (SELECT 1 FROM turns t WHERE t.seq = CAST(substr(s.value, 4) AS INTEGER))
          ELSE NOT EXISTS (SELECT 1 FROM records r WHERE r.id = s.value)
            OR EXISTS (SELECT 1 FROM thought_notes n WHERE n.record = s.value AND n.adrift = 1) END
        LIMIT 1
        """,
        sources=as_json(list(sources)),
        by_changes=as_json(list(_BY_CHANGES)),
    )
    return row is not None


async def _is_changed(transaction: Transaction, sources: Sequence[str], read_at: int | None) -> bool:
    return read_at is not None and await changed_since(transaction, sources, read_at)
