"""Finds what others said of a person by name alone, without a mention: it goes with the person who asks for that."""

from typing import Final

from daemon.core.words import words_of
from daemon.memory.database import Transaction


async def claims_naming(transaction: Transaction, workspace: str, person: str) -> set[str]:
    """The ids of claims whose subject, or else whose line, bears a name of this person that nobody else has.

    A claim about somebody who was mentioned has their platform id, and is none of these.
    """
    names, others = set[str](), set[str]()
    for row in await transaction.rows(_NAMES, workspace=workspace):
        (names if row["person"] == person else others).update(words_of(row["name"]))
    names -= others
    rows = await transaction.rows(_CLAIMS, workspace=workspace) if names else ()
    return {row["id"] for row in rows if not names.isdisjoint(words_of(row["subject"] or row["text"]))}


_NAMES: Final = """
    SELECT person, name FROM user_models WHERE workspace = :workspace AND name <> ''
    """
_CLAIMS: Final = """
    SELECT r.id, r.text, CASE WHEN f.subject IN (f.claimed_by, r.soul) THEN '' ELSE f.subject END AS subject
    FROM records r JOIN facts f ON f.id = r.id
    WHERE r.person = '' AND r.kind = 'fact' AND r.workspace = :workspace AND r.trust = 'claim'
    """
