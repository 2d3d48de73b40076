"""The breaks: what `mutations/*.toml` lists, and how one is put into a copy of the tree and taken out again."""

import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True)
class Break:
    """One deliberate fault: in `file`, `old` becomes `new`. `breaks` says what the daemon then does wrong.

    `tests` are arguments of pytest: the tests of which at least one has to fail.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
    tests: tuple[str, ...]

    def broken(self, root: Path = ROOT) -> str:
        """The text of the broken file. Raises ValueError where the old text isn't there exactly once."""
        text = (root / self.file).read_text(encoding="utf-8")
        if (found := text.count(self.old)) != 1:
            raise ValueError(f"{self.name}: {self.file} holds the text to break {found} times, not once")
        return text.replace(self.old, self.new)

    @contextmanager
    def applied(self, root: Path) -> Iterator[None]:
        """The tree below `root` with this break in it."""
        path = root / self.file
        before, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(self.broken(root), encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime + 7))  # else Python may take what it compiled before
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, (times.st_atime, times.st_mtime))


def all_breaks() -> tuple[Break, ...]:
    """Every break, in the order of the files and of the lines in them."""
    found = list[Break]()
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        for row in tomllib.loads(path.read_text(encoding="utf-8"))["break"]:
            found.append(Break(**{**row, "tests": tuple(row["tests"])}))
    return tuple(found)
