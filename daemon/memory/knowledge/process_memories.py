"""What a conversation's mental process keeps for itself, as work after a reply reads and changes it."""

import json
from dataclasses import dataclass

from daemon.core.perception import ConversationKey
from daemon.memory.records import JSONObject, as_json
from daemon.memory.worker_store import WorkerStore


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """The mental process of a conversation and its memory, after the commit that made it `version`."""

    process: str
    memory: JSONObject
    version: int


class ProcessMemories(WorkerStore):
    """Reads and changes process memories between two cycles; within a cycle its commit stores them."""

    async def known(self, conversation: ConversationKey) -> KeptMemory | None:
        """The memory as the last commit left it; None for an unknown conversation."""
        row = await self._database.one(
            "SELECT process, process_memory, version FROM conversations WHERE id = :id", id=str(conversation)
        )
        return KeptMemory(row["process"], json.loads(row["process_memory"]), row["version"]) if row else None

    async def keep(self, conversation: ConversationKey, memory: JSONObject, *, instead_of: KeptMemory) -> bool:
        """Put a memory in place of the one known before.

        False, and nothing is written, when another cycle was committed, or when what was known before was forgotten
        because a message was edited or deleted.
        """
        rows = await self._database.run(
            """
            UPDATE conversations SET process_memory = :memory
            WHERE id = :id AND version = :version AND process = :process AND process_memory = :before RETURNING id
            """,
            memory=as_json(dict(memory)),
            id=str(conversation),
            version=instead_of.version,
            process=instead_of.process,
            before=as_json(dict(instead_of.memory)),
        )
        return bool(rows)
