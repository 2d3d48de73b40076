"""Lets the parts of a thought take effect as far as the authority of each function goes, and counts how they fared."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from daemon.core.authority import FUNCTION_OF, WORKSPACE_FIELDS, Authority, Function, Level
from daemon.core.perception import AudienceKind
from daemon.memory.database import Transaction
from daemon.memory.records import as_json, object_or_nothing
from daemon.memory.stream.authority import authority_of, count_parts
from daemon.memory.stream.new_thought import NewThought
from daemon.memory.stream.proposals import propose
from daemon.memory.thought_parts import PartsTaken, StoredThought

BY_AUTHORITY: Final = "authority"
"""Why a part has no effect by itself: its function may not."""

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
    """Let a thought take effect as far as its functions may, and write down what came of it; `unless`: none of it.

    What isn't to be remembered is neither proposed nor counted.
    """
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
    """The fields that have no effect by themselves, each refused; what is to be proposed is."""
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
    """How many parts each field of a thought in JSON holds, of those fields that belong to a function."""
    found = object_or_nothing(output)
    return {name: _size(found[name]) for name in FUNCTION_OF if found.get(name)}


def _size(value: object) -> int:
    if isinstance(value, list):
        return len(value)
    if isinstance(value, dict) and value and all(isinstance(one, dict) for one in value.values()):
        return sum(map(len, value.values()))  # attributes by entity
    return 1
