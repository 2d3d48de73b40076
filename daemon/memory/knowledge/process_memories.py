"""What a conversation's mental process keeps for itself, as work after a reply reads and changes it."""

from dataclasses import dataclass

from daemon.core.perception import ConversationKey
from daemon.memory.records import JSONObject, as_json, json_object
from daemon.memory.worker_store import WorkerStore


@dataclass(frozen=True, slots=True)
class KeptMemory:
    """The mental process of a conversation and its memory, after the commit that made it `version`.

    `forgotten` counts how often earlier words were edited or deleted there.
    """

    process: str
    memory: JSONObject
    version: int
    forgotten: int


class ProcessMemories(WorkerStore):
    """Reads and changes process memories between two cycles; within a cycle its commit stores them."""

    async def known(self, conversation: ConversationKey) -> KeptMemory | None:
        """The memory as the last commit left it; None for an unknown conversation."""
        row = await self._database.one(
            "SELECT process, process_memory, version, forgotten FROM conversations WHERE id = :id", id=str(conversation)
        )
        if row is None:
            return None
        return KeptMemory(row["process"], json_object(row["process_memory"]), row["version"], row["forgotten"])

    async def keep(self, conversation: ConversationKey, memory: JSONObject, *, instead_of: KeptMemory) -> bool:
        """Put a memory in place of the one known before.

        False, and nothing is written, when another cycle was committed, or a message was edited or deleted.
        """
        rows = await self._database.run(
            """
            UPDATE conversations SET process_memory = :memory
            WHERE id = :id AND version = :version AND process = :process AND forgotten = :forgotten RETURNING id
            """,
            memory=as_json(dict(memory)),
            id=str(conversation),
            version=instead_of.version,
            process=instead_of.process,
            forgotten=instead_of.forgotten,
        )
        return bool(rows)
