"""What a percept is about in up to three labels of a fixed list that are near enough, by the embedder."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from daemon.core.errors import ModelError
from daemon.core.ports.vectors import Embedder

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector

LABELS: Final = (
    *("a greeting", "thanks", "praise", "a complaint", "a question", "a request", "a decision", "a plan", "a joke"),
    *("an error", "a failed build", "a success", "a deadline", "a meeting", "a measurement", "a warning"),
    *("code", "data", "money", "people", "health", "travel", "food", "weather", "security", "a document"),
)
"""Short descriptions of what people and programs tell."""

_NEAREST: Final = 3
_AT_ONCE: Final = 6  # labels that are embedded in one look, so that no reply waits for all of them
_MOST_TEXTS: Final = 6
_LETTERS: Final = 300  # of a text
_APART: Final = 3.2  # deviations above texts that have nothing to do with it; below that most labels are chance
_PATIENCE_S: Final = 0.15


class Labels:
    """Labels texts; gives none without an embedder, and none until the first looks have embedded the list."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder
        self._known: dict[str, Vector] = {}

    async def of(self, texts: Sequence[str]) -> Mapping[str, str]:
        """The labels of texts, nearest first, as `a; b; c`, empty where none is near; what fails or is slow is missing.

        Never raises.
        """
        found: dict[str, str] = {}
        if self._embedder is None or not texts:
            return found
        try:
            async with asyncio.timeout(_PATIENCE_S):
                if not await self._are_known(self._embedder):
                    return found
                for text in dict.fromkeys(texts[:_MOST_TEXTS]):
                    [vector] = await self._embedder.embed([text[:_LETTERS]])
                    found[text] = self._nearest(vector)
        except (ModelError, TimeoutError, OSError, ValueError):
            pass
        return found

    async def _are_known(self, embedder: Embedder) -> bool:
        """Embed some more of the labels; whether all are by now."""
        for label in [one for one in LABELS if one not in self._known][:_AT_ONCE]:
            [self._known[label]] = await embedder.embed([label])
        return len(self._known) == len(LABELS)

    def _nearest(self, vector: "Vector") -> str:
        unrelated = self._embedder.unrelated if self._embedder is not None else None
        least = unrelated.mean + _APART * unrelated.deviation if unrelated is not None else -1.0
        cosines = {label: near for label, known in self._known.items() if (near := float(vector @ known)) >= least}
        return "; ".join(sorted(cosines, key=lambda label: -cosines[label])[:_NEAREST])
