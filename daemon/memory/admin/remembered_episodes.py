"""The visits that are kept, and what was distilled of them, for the admin: counted, with their words apart."""

from dataclasses import dataclass
from typing import Final

from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import NOTHING_LEFT, Core, Episode, RecordKind, Sphere
from daemon.memory.knowledge.records.store import get_any

KINDS: Final = (RecordKind.EPISODE, RecordKind.CORE, RecordKind.SPHERE)


@dataclass(frozen=True, slots=True)
class KeptEpisode:
    """A visit, a core or a sphere, and how many turns, sources, facts and senses it is linked with.

    `made_into` is the core or sphere that it was distilled into, empty for none.
    """

    episode: Episode | Core | Sphere
    turns: int
    sources: int
    facts: int
    senses: int
    made_into: str

    @property
    def has_words(self) -> bool:
        """Whether any words of it are kept."""
        one = self.episode
        return bool(one.text or one.cues or one.situation.mission_goal or one.workflow != NOTHING_LEFT)


async def kept_episodes(
    transaction: Transaction, soul: str, limit: int, kind: RecordKind | None = None, state: str | None = None
) -> tuple[KeptEpisode, ...]:
    """Those of a soul, the newest first, of one kind or in one state where that is given."""
    rows = await transaction.rows(
        f"""
        SELECT r.id,
          (SELECT count(*) FROM links l WHERE l.origin = r.id AND l.relation = 'turn_refs') AS turns,
          (SELECT count(*) FROM links l WHERE l.origin = r.id AND l.relation = 'sources') AS sources,
          (SELECT count(*) FROM links l WHERE l.target = r.id AND l.relation = 'episode_refs') AS facts,
          (SELECT count(*) FROM links l WHERE l.target = r.id AND l.relation = 'episode_id') AS senses,
          coalesce((SELECT l.origin FROM links l JOIN records d ON d.id = l.origin AND d.kind IN ('core', 'sphere')
                    WHERE l.target = r.id AND l.relation = 'sources' LIMIT 1), '') AS made_into
        FROM records r JOIN episodes k ON k.id = r.id
        WHERE r.soul = :soul AND r.kind IN ({", ".join(f"'{one}'" for one in KINDS)})
          AND (:kind = '' OR r.kind = :kind) AND (:state = '' OR k.state = :state)
        ORDER BY r.at_ms DESC, r.seq DESC LIMIT :limit
        """,  # noqa: S608 - constants of this package
        soul=soul,
        kind=kind or "",
        state=state or "",
        limit=limit,
    )
    found = []
    for row in rows:
        episode = await get_any(transaction, row["id"])
        if not isinstance(episode, Episode):
            continue  # it can't be read, and `soul memory verify` says so
        counts = {name: row[name] for name in ("turns", "sources", "facts", "senses", "made_into")}
        found.append(KeptEpisode(episode, **counts))
    return tuple(found)
