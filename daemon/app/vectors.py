"""Memories by meaning: the embedder, the index that a cycle asks, the chore that keeps it in step with memory.db."""

from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from daemon.app.lifecycle import Chore
from daemon.app.side_calls import PaidEmbedder, endpoint_of, side_calls
from daemon.core.config import Settings
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.ports.vectors import Embedder, VectorIndex
from daemon.llm.embedder import build_embedder
from daemon.memory.database import Database
from daemon.memory.knowledge.meaning import SLOW_S, Meaning
from daemon.memory.retrieval.keeper import VectorKeeper, do_without
from daemon.memory.retrieval.owner_work import IndexParts
from daemon.memory.retrieval.vectors import Vectors
from daemon.mind.senses.labels import Labels

_PATIENCE_S: Final = 10.0


@dataclass(frozen=True, slots=True)
class Meanings:
    """What searches by meaning; neither is there with `SOUL_EMBEDDER=none`. `keep` runs as long as the daemon."""

    embedder: Embedder | None
    index: VectorIndex | None
    keep: Chore

    @property
    def meaning(self) -> Meaning:
        """The search by meaning, which serves nothing where there is no embedder."""
        return Meaning(self.embedder, self.index, SLOW_S)

    @property
    def patient(self) -> Meaning:
        """The same for a question that nobody's reply waits for, so that load doesn't change its answer."""
        return Meaning(self.embedder, self.index, _PATIENCE_S)


def labels_of(settings: Settings, meanings: Meanings) -> Labels:
    """What says what a percept is about: by the embedder on this machine alone, so that it costs no call."""
    return Labels(meanings.embedder if settings.embedder == "local" else None)


def build_meanings(settings: Settings, database: Database, clock: Clock, emit: Emit, stack: AsyncExitStack) -> Meanings:
    """The embedder of the settings and an index beside memory.db, closed with the stack. Raises ConfigError."""
    embedder = build_embedder(settings)
    if embedder is None:
        return Meanings(None, None, partial(do_without, database, settings.index_folder, clock))
    to = endpoint_of("embed", settings.embedder_url, settings.embedder_model, by_text=True)
    if settings.embedder == "endpoint" and to is not None:
        embedder = PaidEmbedder(embedder, side_calls(settings, database, clock, emit), to)
    index = Vectors(settings.index_folder, embedder.id, emit)
    stack.push_async_callback(embedder.aclose)
    stack.push_async_callback(index.aclose)
    parts = IndexParts(database, index, settings.index_folder, embedder, clock, emit, settings.chroma_from)
    return Meanings(embedder, index, VectorKeeper(parts).run)
