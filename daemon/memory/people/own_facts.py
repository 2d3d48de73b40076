"""Which facts are a person's own to see, to correct and to have forgotten."""

from collections.abc import Mapping
from typing import Final

from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Fact, Trust
from daemon.memory.knowledge.records.store import select

OWN_FACT: Final = f"""
    r.soul = :soul AND r.workspace = :workspace AND r.person IN (:person, '') AND CASE r.person
      WHEN :person THEN r.trust <> '{Trust.CLAIM}' ELSE k.claimed_by = :person OR (r.trust = '{Trust.INFERRED}'
        AND r.audience GLOB 'dm:*' AND r.audience IN (SELECT m.audience FROM user_models m
          WHERE m.soul = :soul AND m.workspace = :workspace AND m.person = :person)) END
    """  # noqa: S608 - constants
"""In SQL, of a record `r` and its fact `k`: it is about a person, they had it noted, or it was noted in their DMs.

What one says of another who is known to the soul belongs to neither.
"""


async def own_fact(transaction: Transaction, scope: Mapping[str, str], person: str, fact: str) -> Fact | None:
    """A fact by its id, also one that holds no more; None where it isn't that person's own."""
    found = await select(transaction, Fact, f"r.id = :fact AND {OWN_FACT}", fact=fact, person=person, **scope)
    return found[0] if found else None
