"""Ties facts and senses to the visits and to each other by the turns that they rest on (seed 004, crosslinks).

No model is asked: a fact belongs to the visit in which its words were said, a sense to the one in which it was shown,
and to the facts that its message taught.
"""

from collections.abc import Sequence

from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.records import as_json

_TO_VISITS = f"""
    INSERT INTO links (origin, relation, target, quote, linked_ms)
    SELECT DISTINCT p.origin,
      CASE r.kind WHEN 'fact' THEN '{Relation.EPISODE_REFS}' ELSE '{Relation.EPISODE_ID}' END, v.origin, '', :now
    FROM json_each(:turns) t
    JOIN links p ON p.target = t.value AND p.relation = '{Relation.EVIDENCE}'
    JOIN links v ON v.target = t.value AND v.relation = '{Relation.TURN_REFS}'
    JOIN records r ON r.id = p.origin
    WHERE r.kind = 'fact' OR (r.kind = 'sense' AND NOT EXISTS (
      SELECT 1 FROM links h WHERE h.origin = p.origin AND h.relation = '{Relation.EPISODE_ID}'))
    ON CONFLICT DO NOTHING
    """  # noqa: S608 - constants of this package
_TO_FACTS = f"""
    INSERT INTO links (origin, relation, target, quote, linked_ms)
    SELECT DISTINCT s.origin, '{Relation.CONCEPT_REFS}', f.origin, '', :now
    FROM json_each(:turns) t
    JOIN links s ON s.target = t.value AND s.relation = '{Relation.EVIDENCE}'
    JOIN records r ON r.id = s.origin AND r.kind = 'sense'
    JOIN links f ON f.target = t.value AND f.relation = '{Relation.EVIDENCE}'
    JOIN records k ON k.id = f.origin AND k.kind = 'fact'
    WHERE true ON CONFLICT DO NOTHING
    """  # noqa: S608 - as above


async def cross_link(transaction: Transaction, turns: Sequence[str], now: int) -> None:
    """Tie what rests on these turns: facts to their visits, senses to their visit and to the facts of their message."""
    for statement in (_TO_VISITS, _TO_FACTS) if turns else ():
        await transaction.run(statement, turns=as_json(list(turns)), now=now)


async def loosen(transaction: Transaction, lost: Sequence[Link]) -> None:
    """Untie facts from a visit in which no evidence of theirs is left; `lost` are the links to a turn that is gone."""
    visits = [one.origin for one in lost if one.relation is Relation.TURN_REFS]
    for fact in [one.origin for one in lost if one.relation is Relation.EVIDENCE]:
        for visit in visits:
            await transaction.run(
                f"""
                DELETE FROM links WHERE origin = :fact AND relation = '{Relation.EPISODE_REFS}' AND target = :visit
                  AND NOT EXISTS (SELECT 1 FROM links p JOIN links v ON v.target = p.target
                    WHERE p.origin = :fact AND p.relation = '{Relation.EVIDENCE}'
                      AND v.origin = :visit AND v.relation = '{Relation.TURN_REFS}')
                """,  # noqa: S608 - constants of this package
                fact=fact,
                visit=visit,
            )
