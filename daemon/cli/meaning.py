"""The search by meaning for commands."""

from contextlib import AsyncExitStack
from typing import Final

from daemon.core.config import Settings
from daemon.llm.embedder import build_embedder
from daemon.memory.knowledge.meaning import Meaning
from daemon.memory.retrieval.vectors import Vectors

_SLOW_S: Final = 10.0  # a command waits for the embedder to be loaded


def meaning_of(settings: Settings, stack: AsyncExitStack) -> Meaning:
    """The search by meaning, closed with the stack: vectors are scanned, since a daemon alone opens Chroma."""
    embedder = build_embedder(settings)
    if embedder is None:
        return Meaning(None, None)
    vectors = Vectors(settings.index_folder, embedder.id, silent)
    stack.push_async_callback(embedder.aclose)
    stack.push_async_callback(vectors.aclose)
    return Meaning(embedder, vectors, _SLOW_S)


def silent(_event: str, /, **_fields: object) -> None:
    """A command's own work is not logged."""
