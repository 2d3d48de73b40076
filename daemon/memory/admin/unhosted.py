"""Finds what waits for a soul that no living daemon hosts: it would wait without a word."""

from collections.abc import Iterable
from dataclasses import dataclass

from daemon.memory.database import Transaction
from daemon.memory.records import read_row


@dataclass(frozen=True, slots=True)
class UnhostedSoul:
    """What waits for a soul: messages of people and due events, notes of souls, posts, jobs; since when, in ms."""

    soul: str
    workspace: str
    messages: int
    notes: int
    posts: int
    jobs: int
    oldest_ms: int


async def unhosted_souls(
    transaction: Transaction, hosted: Iterable[tuple[str, str]], workspaces: Iterable[str]
) -> tuple[UnhostedSoul, ...]:
    """The souls for which something waits in workspaces where daemons live, and which none of them hosts.

    `hosted` are the souls that are, each with its workspace. Where no daemon lives all wait for one.
    """
    rows = await transaction.rows(
        """
        SELECT soul, workspace, sum(messages) AS messages, sum(notes) AS notes, sum(posts) AS posts, sum(jobs) AS jobs,
               min(since) AS oldest_ms
        FROM (SELECT soul, workspace, sum(modality <> 'note') AS messages, sum(modality = 'note') AS notes, 0 AS posts,
                     0 AS jobs, min(received_ms) AS since
              FROM inbox WHERE state IN ('new', 'claimed') GROUP BY soul, workspace
              UNION ALL SELECT soul, workspace, 0, 0, count(*), 0, min(created_ms)
              FROM outbox WHERE state IN ('pending', 'sending') GROUP BY soul, workspace
              UNION ALL SELECT soul, workspace, 0, 0, 0, count(*), min(created_ms)
              FROM jobs WHERE state IN ('ready', 'running') GROUP BY soul, workspace)
        GROUP BY soul, workspace ORDER BY soul, workspace
        """
    )
    served, by = set(hosted), set(workspaces)
    lost = [row for row in rows if row["workspace"] in by and (row["soul"], row["workspace"]) not in served]
    return tuple(read_row(UnhostedSoul, row) for row in lost)
