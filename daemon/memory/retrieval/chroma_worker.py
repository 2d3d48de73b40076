"""The process that runs Chroma, because Chroma may die of a SIGSEGV and its imports would block the daemon."""

import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from daemon.core.workers import serve

_SPACE: Final[Any] = {"hnsw": {"space": "cosine"}}
_AT_ONCE: Final = 1_000


class Collections:
    """The collections of one folder."""

    def __init__(self, folder: str) -> None:
        import chromadb
        import numpy as np
        from chromadb.config import Settings

        self._numpy = np
        self._client = chromadb.PersistentClient(folder, Settings(anonymized_telemetry=False))
        self._open: dict[str, Any] = {one.name: one for one in self._client.list_collections()}

    def names(self) -> list[str]:
        return sorted(self._open)

    def numbers(self, name: str) -> list[int]:
        return [int(one) for one in self._open[name].get(include=[])["ids"]] if name in self._open else []

    def add(self, name: str, numbers: Sequence[int], raw: bytes) -> None:
        """Add vectors from `raw`: float32, one after the other."""
        if name not in self._open:
            self._open[name] = self._client.get_or_create_collection(
                name, embedding_function=None, configuration=_SPACE
            )
        vectors = self._numpy.frombuffer(raw, self._numpy.float32).reshape(len(numbers), -1)
        self._open[name].upsert(ids=[str(one) for one in numbers], embeddings=vectors)

    def delete(self, name: str, numbers: Sequence[int]) -> None:
        if name in self._open:
            for start in range(0, len(numbers), _AT_ONCE):
                self._open[name].delete(ids=[str(one) for one in numbers[start : start + _AT_ONCE]])

    def drop(self, name: str) -> None:
        if self._open.pop(name, None) is not None:
            self._client.delete_collection(name)

    def query(self, name: str, raw: Sequence[bytes], most: int) -> list[tuple[list[int], list[float]]]:
        """Return for each vector the numbers and cosines of the nearest ones, nearest first."""
        vectors = [self._numpy.frombuffer(one, self._numpy.float32) for one in raw]
        found = self._open[name].query(query_embeddings=vectors, n_results=most, include=["distances"])
        return [
            ([int(one) for one in ids], [1.0 - float(one) for one in distances])
            for ids, distances in zip(found["ids"], found["distances"], strict=True)
        ]


def main() -> None:
    """Serve the folder of the first argument. Requests come on standard input, until that ends."""

    def begin() -> Callable[..., object]:
        collections = Collections(sys.argv[1])
        return lambda name, *arguments: getattr(collections, name)(*arguments)

    serve(begin)
