"""The command: `python -m mutations [NAME …]`, a line for each break; exit code 1 when a break goes unnoticed."""

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import Final

from mutations.breaks import ROOT, Break, all_breaks

_LIMIT: Final = 120.0  # seconds that the tests of one break may take; a break that makes them hang is noticed
_LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "*.db", "backups")
_BESIDE: Final = "shared"  # a folder of others beside the tree; further down rooms have that name, too
_PASSED, _FAILED, _NONE_CHOSEN = 0, 1, 5
_EVERYDAY, _SLOW = ("-m", "not slow"), ("-m", "slow")


class Noticed(Enum):
    """Which tests noticed a break, if any."""

    EVERYDAY = "noticed by"
    SLOW = "noticed with --all alone, by"
    NEVER = "UNNOTICED"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try these breaks; 0: each was noticed, 1: some were not, 2: the tests of one don't pass or don't run.

    A break is tried with the everyday tests, and with the slow ones where these notice nothing.
    """
    options = _parser().parse_args(arguments)
    chosen = _chosen(options.names)
    if options.list:
        sys.stdout.writelines(_listed(number, one) for number, one in chosen)
        return 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        first = copied(Path(folder) / "0")
        try:
            _check_that_all_pass(first, [one for _, one in chosen], options.jobs)
            copies = queue.SimpleQueue[Path]()
            copies.put(first)
            for number in range(1, options.jobs):  # with what Python compiled meanwhile
                copies.put(Path(shutil.copytree(first, Path(folder) / str(number))))
            with ThreadPoolExecutor(options.jobs) as pool:
                noticed = Counter(pool.map(lambda row: _try(copies, *row), chosen))
        except ValueError as error:
            sys.stderr.write(f"{error}\n")
            return 2
    unnoticed = noticed[Noticed.NEVER]
    sys.stdout.write(f"breaks={noticed.total()} everyday={noticed[Noticed.EVERYDAY]} unnoticed={unnoticed}\n")
    return int(unnoticed > 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/mutate", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="only the breaks with these numbers or names")
    parser.add_argument("--list", action="store_true", help="list the breaks instead of trying them")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="try so many at once, 2 unless given")
    return parser


def _chosen(names: Sequence[str]) -> list[tuple[int, Break]]:
    numbered = list(enumerate(all_breaks(), start=1))
    known = {str(number) for number, _ in numbered} | {one.name for _, one in numbered}
    if unknown := set(names) - known:
        raise SystemExit(f"no such break: {', '.join(sorted(unknown))}; --list shows all")
    return [row for row in numbered if not names or str(row[0]) in names or row[1].name in names]


def _listed(number: int, one: Break) -> str:
    return f"{number} {one.name}\n    {one.file}: {one.breaks}\n    {' '.join(one.tests)}\n"


def copied(to: Path) -> Path:
    """A copy of the tree, in which breaks are tried."""

    def ignore(folder: str, names: list[str]) -> set[str]:
        return _LEFT_OUT(folder, names) | ({_BESIDE} if Path(folder) == ROOT else set())

    shutil.copytree(ROOT, to, ignore=ignore)
    for name in (".env.example", ".gitignore"):
        if (ROOT / name).exists():
            shutil.copy2(ROOT / name, to / name)
    return to


def _check_that_all_pass(copy: Path, chosen: Sequence[Break], jobs: int) -> None:
    """A break counts as noticed where a test fails, so all tests must pass without one. Raises ValueError."""
    tests = dict.fromkeys(path for one in chosen for path in one.tests)
    code, output = _pytest(copy, [*tests, f"-n{jobs}"], keep_compiled=True, limit=_LIMIT * max(1, len(tests)))
    if code != _PASSED:
        raise ValueError(f"the tests don't pass on the unbroken tree:\n{output}")


def _try(copies: "queue.SimpleQueue[Path]", number: int, one: Break) -> Noticed:
    copy = copies.get()
    try:
        with one.applied(copy):
            noticed, by = _noticed(copy, one)
    finally:
        copies.put(copy)
    sys.stdout.write(f"{number} {one.name}: {noticed.value} {by}\n")
    sys.stdout.flush()
    return noticed


def _noticed(copy: Path, one: Break) -> tuple[Noticed, str]:
    """Which tests notice a break, and one of them by name. Raises ValueError where they don't run."""
    for noticed, chosen in ((Noticed.EVERYDAY, _EVERYDAY), (Noticed.SLOW, _SLOW)):
        code, output = _pytest(copy, (*one.tests, *chosen, "-x", "-n0"))
        if code is None:
            return noticed, "a test that hangs"
        if code == _FAILED:
            failed = re.search(r"^(?:FAILED|ERROR) (\S+)", output, re.MULTILINE)
            return noticed, failed[1] if failed else "a test"
        if code not in {_PASSED, _NONE_CHOSEN}:
            raise ValueError(f"{one.name}: its tests did not run:\n{output}")
    return Noticed.NEVER, ""


def _pytest(
    copy: Path, arguments: Sequence[str], *, keep_compiled: bool = False, limit: float = _LIMIT
) -> tuple[int | None, str]:
    """Pytest's exit code and the end of its output; None where it did not end within `limit` seconds."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line", *arguments]
    given = {**os.environ, "PYTHONPATH": str(copy), "TEST_SEED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    if keep_compiled:
        del given["PYTHONDONTWRITEBYTECODE"]
    with subprocess.Popen(
        command,
        cwd=copy,
        env=given,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            return None, ""
    return process.returncode, output[-4000:]


if __name__ == "__main__":
    sys.exit(main())
