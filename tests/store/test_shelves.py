"""A shelf is scanned as if its vectors were floats, within a budget, and not loaded anew for each query."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from daemon.core.ports.vectors import View
from daemon.memory.retrieval.shelves import Search, Shelves
from daemon.memory.retrieval.sources import Embeddable
from daemon.memory.retrieval.vector_file import Placed, Shelf, StoredVector, VectorFile

LENGTH, SIZE = 32, 600
ONE_SHELF = SIZE * (LENGTH + 4)  # bytes
SHELVES = [Shelf(name, View.OWN) for name in ("a", "b", "c")]


class CountedFile(VectorFile):
    """A file that notes from which shelves all vectors are read."""

    def __init__(self, path: Path, *, read_only: bool) -> None:
        super().__init__(path, read_only=read_only)
        self.loaded: list[str] = []

    def after(self, shelf: Shelf, number: int, most: int = -1) -> list[StoredVector]:
        if not number:
            self.loaded.append(shelf.partition)
        return super().after(shelf, number, most)


def vectors(seed: int, size: int = SIZE) -> "NDArray[np.float32]":
    made = np.random.default_rng(seed).standard_normal((size, LENGTH)).astype(np.float32)
    unit: NDArray[np.float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def add(file: VectorFile, partition: str, rows: "NDArray[np.float32]", first: int = 0) -> None:
    file.replace(
        (),
        [
            Placed(Embeddable(f"{partition}{first + n}", (partition,), {View.OWN: ""}), {View.OWN: row})
            for n, row in enumerate(rows)
        ],
    )


@pytest.fixture
def file(tmp_path: Path) -> Iterator[CountedFile]:
    made = CountedFile(tmp_path / "vectors.db", read_only=False)
    for seed, shelf in enumerate(SHELVES):
        add(made, shelf.partition, vectors(seed))
    yield made
    made.close()


def ask(shelves: Shelves, asked: Sequence[Shelf], seed: int = 9) -> Search:
    search = Search(vectors(seed, 1)[0], most=10)
    shelves.look()
    for one in asked:
        assert shelves.scan(one, [search])
    return search


def test_cosines_and_their_moments_are_those_of_floats_to_within_a_hundredth(file: CountedFile) -> None:
    search = ask(Shelves(file), SHELVES)
    found = search.nearest()
    exact = np.concatenate([vectors(seed) @ search.vector for seed in range(3)])
    names = [f"{shelf.partition}{n}" for shelf in SHELVES for n in range(SIZE)]
    truth = dict(zip(names, exact, strict=True))
    assert all(abs(cosine - truth[one]) < 0.01 for one, cosine in found.items())
    assert min(truth[one] for one in found) > np.sort(exact)[-10] - 0.01
    assert search.rows == 3 * SIZE
    assert abs(search.total / search.rows - exact.mean()) < 0.001
    assert abs(search.squares / search.rows - (exact**2).mean()) < 0.001


def test_what_is_added_to_a_shelf_is_found_without_loading_it_anew(file: CountedFile, tmp_path: Path) -> None:
    shelves = Shelves(file)
    ask(shelves, SHELVES[:1])
    writer = VectorFile(tmp_path / "vectors.db", read_only=False)
    add(writer, "a", vectors(9, 1), first=SIZE)
    writer.close()
    found = ask(shelves, SHELVES[:1]).nearest()
    assert max(found, key=found.__getitem__) == f"a{SIZE}"
    assert file.loaded == ["a"]


def test_a_query_over_more_shelves_than_fit_loads_only_those_that_do_not_fit(file: CountedFile) -> None:
    shelves = Shelves(file, budget=2 * ONE_SHELF)
    first = ask(shelves, SHELVES).nearest()
    assert sorted(file.loaded) == ["a", "b", "c"]
    file.loaded.clear()
    assert ask(shelves, SHELVES).nearest() == first
    assert file.loaded == ["c"]


def test_shelves_that_are_asked_for_no_more_make_room(file: CountedFile) -> None:
    shelves = Shelves(file, budget=2 * ONE_SHELF)
    ask(shelves, SHELVES[:2])
    for _ in range(2):
        ask(shelves, SHELVES[1:])
    assert file.loaded == ["a", "b", "c"]
