"""An embedder whose vectors a test can foresee: each word of a text has its place."""

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from daemon.core.ports.vectors import Vector


class WordEmbedder:
    """Vectors of `length` numbers; `down` is raised instead, `texts` are those that were embedded."""

    def __init__(self, name: str = "words", length: int = 512) -> None:
        self.id = name
        self.length = length
        self.down: Exception | None = None
        self.texts: list[str] = []

    @property
    def unrelated(self) -> None:
        return None

    async def embed(self, texts: Sequence[str]) -> "list[Vector]":
        if self.down is not None:
            raise self.down
        self.texts += texts
        return [self.vector(text) for text in texts]

    def vector(self, text: str) -> "Vector":
        numbers = np.zeros(self.length, np.float32)
        numbers[0] = 0.1
        for word in re.findall(r"\w+", text.lower()):
            numbers[zlib.crc32(word.encode()) % self.length] += 1.0
        return numbers / np.float32(np.linalg.norm(numbers))

    async def aclose(self) -> None:
        """Nothing is open."""
