"""The facts that a person may see, correct and have forgotten."""

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
"""A condition in SQL: the record `r` with the fact `k` is about the person, noted by them, or noted in their DMs.

A user's words about another user known to the soul belong to neither.
"""


async def own_fact(transaction: Transaction, scope: Mapping[str, str], person: str, fact: str) -> Fact | None:
    """Return a fact by its id, also an ended one, or None if it isn't that person's own."""
    found = await select(transaction, Fact, f"r.id = :fact AND {OWN_FACT}", fact=fact, person=person, **scope)
    return found[0] if found else None
