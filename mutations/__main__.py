"""The command: `python -m mutations [NAME …]`, a line for each break; exit code 1 when a break goes unnoticed."""

import argparse
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from mutations.breaks import ROOT, Break, all_breaks

_LIMIT: Final = 120.0  # seconds that the tests of one break may take; a break that makes them hang is noticed
_LEFT_OUT: Final = shutil.ignore_patterns(".*", "__pycache__", "*.db", "backups")
_BESIDE: Final = "shared"  # a folder of others beside the tree; further down rooms have that name, too
_PASSED, _FAILED = 0, 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Try these breaks; 0: each was noticed, 1: some were not, 2: the tests of one don't pass or don't run."""
    options = _parser().parse_args(arguments)
    chosen = _chosen(options.names)
    if options.list:
        sys.stdout.writelines(_listed(number, one) for number, one in chosen)
        return 0
    with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
        copies = queue.SimpleQueue[Path]()
        for number in range(options.jobs):
            copies.put(copied(Path(folder) / str(number)))
        try:
            _check_that_all_pass(copies, [one for _, one in chosen], options.jobs)
            with ThreadPoolExecutor(options.jobs) as pool:
                noticed = list(pool.map(lambda row: _try(copies, *row), chosen))
        except ValueError as error:
            sys.stderr.write(f"{error}\n")
            return 2
    unnoticed = noticed.count(False)
    sys.stdout.write(f"breaks={len(noticed)} unnoticed={unnoticed}\n")
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


def _check_that_all_pass(copies: "queue.SimpleQueue[Path]", chosen: Sequence[Break], jobs: int) -> None:
    """A break counts as noticed where a test fails, so all tests must pass without one. Raises ValueError."""
    copy = copies.get()
    tests = dict.fromkeys(path for one in chosen for path in one.tests)
    code, output = _pytest(copy, [*tests, f"-n{jobs}"], keep_compiled=True, limit=_LIMIT * max(1, len(tests)))
    copies.put(copy)
    if code != _PASSED:
        raise ValueError(f"the tests don't pass on the unbroken tree:\n{output}")


def _try(copies: "queue.SimpleQueue[Path]", number: int, one: Break) -> bool:
    copy = copies.get()
    try:
        with one.applied(copy):
            code, output = _pytest(copy, (*one.tests, "-x", "-n0"))
    finally:
        copies.put(copy)
    if code not in {_PASSED, _FAILED, None}:
        raise ValueError(f"{one.name}: its tests did not run:\n{output}")
    failed = re.search(r"^FAILED (\S+)", output, re.MULTILINE) or re.search(r"^ERROR (\S+)", output, re.MULTILINE)
    by = "a test that hangs" if code is None else failed[1] if failed else "a test"
    sys.stdout.write(f"{number} {one.name}: {'UNNOTICED' if code == _PASSED else f'noticed by {by}'}\n")
    sys.stdout.flush()
    return code != _PASSED


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
