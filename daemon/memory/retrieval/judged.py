"""What people's word on replies says of the memories that surfaced to them: evidence, and nothing that is kept twice.

A row says which memory a person judged with which reply; what they said stands in `feedback` alone, so that a thumb
that is removed, another word, and *forget me* count at once. A person has one voice for each memory, their newest. A
reply that was called bad counts only where they said what was wrong: else it may be anything but its memories.
"""

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.retrieval.rows import Hit

_A_VOICE: Final = 0.05
_MOST_VOICES: Final = 2  # so that all of them move a score by a tenth at most


@dataclass(frozen=True, slots=True)
class Judged:
    """How many people called replies good to which a memory surfaced, and how many said what was wrong with them."""

    good: int = 0
    bad: int = 0

    @property
    def share(self) -> float:
        """What is added to the factor of a score."""
        return _A_VOICE * max(-_MOST_VOICES, min(_MOST_VOICES, self.good - self.bad))


NOT_JUDGED: Final = Judged()


async def note_judged(transaction: Transaction, outbox: str, author: str) -> None:
    """Note which memories had surfaced to a reply that a person judges by one of its posts."""
    await transaction.run(
        """
        INSERT INTO judged_memories (id, outbox, author)
        SELECT s.id, o.id, :author FROM outbox o
        JOIN inbox i ON i.conversation = o.conversation
          AND i.answered_by = substr(o.id, 1, length(o.id) - length(o.part)) || '0'
        JOIN turns t ON t.conversation = o.conversation AND t.ts = i.ts AND t.speaker = 'soul'
        JOIN surfaced s ON s.trace_id = t.trace_id AND s.mark <> ''
        WHERE o.id = :outbox
        ON CONFLICT DO NOTHING
        """,
        outbox=outbox,
        author=author,
    )


async def judged(
    transaction: Transaction, ids: Collection[str], audiences: Iterable[Audience] | None
) -> dict[str, Judged]:
    """How memories were judged, by id, as far as these audiences read the replies; None is every audience."""
    rows = await transaction.rows(
        """
        SELECT j.id, f.author, f.value, f.why <> '' AS told
        FROM json_each(:ids) asked CROSS JOIN judged_memories j ON j.id = asked.value
        JOIN feedback f ON f.outbox = j.outbox AND f.author = j.author JOIN outbox o ON o.id = f.outbox
        WHERE :everywhere OR o.audience IN (SELECT value FROM json_each(:audiences)) ORDER BY f.given_ms, o.seq
        """,
        ids=json.dumps(sorted(ids)),
        everywhere=audiences is None,
        audiences=json.dumps([str(one) for one in audiences or ()]),
    )
    newest = {(row["id"], row["author"]): (row["value"], row["told"]) for row in rows}
    found: dict[str, Judged] = {}
    for (name, _), (value, told) in newest.items():
        so_far = found.get(name, NOT_JUDGED)
        found[name] = Judged(so_far.good + (value == "good"), so_far.bad + (value == "bad" and told))
    return found


async def with_judgements(transaction: Transaction, hits: Sequence[Hit], audiences: Iterable[Audience]) -> list[Hit]:
    """The hits, each with what is added to its score for what these audiences read and people said of it."""
    known = await judged(transaction, [one.id for one in hits], audiences)
    return [replace(one, judged=known[one.id].share) if one.id in known else one for one in hits]
