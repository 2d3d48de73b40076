"""A mapping of bounded size, whose entries may expire."""

import math
from collections.abc import Callable, Iterator, MutableMapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class Lru(MutableMapping[K, V]):
    """The mapping of the `size` keys set last, each for `ttl` seconds by the clock `now`. Expired keys are missing."""

    def __init__(self, size: int, ttl: float = math.inf, now: Callable[[], float] = float) -> None:
        self._size, self._ttl, self._now = size, ttl, now
        self._kept: dict[K, tuple[float, V]] = {}

    def __getitem__(self, key: K) -> V:
        at, value = self._kept[key]
        if self._now() - at >= self._ttl:
            raise KeyError(key)
        return value

    def __setitem__(self, key: K, value: V) -> None:
        self._kept.pop(key, None)
        self._kept[key] = (self._now(), value)
        while len(self._kept) > self._size:
            del self._kept[next(iter(self._kept))]

    def __delitem__(self, key: K) -> None:
        del self._kept[key]

    def __iter__(self) -> Iterator[K]:
        return iter([key for key in self._kept if key in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def clear(self) -> None:
        self._kept.clear()
