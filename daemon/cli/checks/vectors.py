"""Checks the search by meaning: the embedder, the vectors, and who keeps them."""

import asyncio

from daemon.cli.checks.finding import Finding, fail, ok, skip, warn
from daemon.cli.database_access import with_database
from daemon.core.config import Settings
from daemon.core.errors import DaemonError, ModelError
from daemon.core.ports.vectors import Embedder
from daemon.llm.embedder import build_embedder
from daemon.memory.retrieval.lengths import HINT, other_length
from daemon.memory.retrieval.statistics import Statistics, statistics


def vectors(settings: Settings, *, offline: bool) -> list[Finding]:
    """Whether memories can be found by what they mean."""
    try:
        embedder = build_embedder(settings)
    except DaemonError as error:
        return [fail("embedder", error.message, error.hint)]
    if embedder is None:
        return [ok("embedder", "none is set: memories are found by full text alone")]
    finding, length = _embedder(embedder, offline=offline and settings.embedder == "endpoint")
    findings = [finding]
    if not settings.database_path.exists():
        return findings
    try:
        found = with_database(settings, lambda database: statistics(database, settings.index_folder, embedder.id))
    except (DaemonError, OSError) as error:
        return [*findings, skip("vectors", f"not looked at: {error}")]
    return [*findings, _stand(found, length)]


def _embedder(embedder: Embedder, *, offline: bool) -> tuple[Finding, int]:
    """What it says of itself, and how many numbers its vectors have; 0 where it gives none."""
    if offline:
        return skip("embedder", f"{embedder.id} is not asked"), 0
    try:
        length = asyncio.run(_length(embedder))
    except ModelError as error:
        return warn("embedder", f"{error.message}; full text serves alone", error.hint), 0
    return ok("embedder", f"{embedder.id} gives vectors of {length} numbers"), length


async def _length(embedder: Embedder) -> int:
    try:
        (vector,) = await embedder.embed(["doctor"])
        return len(vector)
    finally:
        await embedder.aclose()


def _stand(found: Statistics, length: int) -> Finding:
    line = f"{found.have} of {found.wanted} memories have vectors, {found.queued} changes wait; {found.kind}"
    if 0 not in {length, found.length} and length != found.length:
        return warn("vectors", f"{line}: {other_length(length, found.length)}; full text serves alone", HINT)
    if found.owner is None:
        return ok("vectors", f"{line}; no daemon keeps them now")
    line += f", generation {found.generation}, kept by process {found.owner}"
    if found.trouble:
        return warn("vectors", f"{line}: {found.trouble}; full text serves meanwhile", found.hint)
    return ok("vectors", line)
