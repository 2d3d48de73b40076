"""The command: `python -m bench [FIGURE …]`, a table on stdout, exit code 1 when a target is missed."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Final

from bench.host import described
from bench.plan import FIGURES, ONLY_ON_REQUEST, Bench
from bench.processes import CHECKOUT
from bench.report import Row, Section, Sheet, table
from daemon.core.ports.services import SystemClock

_LONGEST: Final = 900.0  # seconds that one figure may take, or that it may go on without a sign of life
_LONGEST_ON_REQUEST: Final = 3600.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure these figures; 0: all targets reached, 1: some missed, 2: a figure could not be measured."""
    options = _parser().parse_args(arguments)
    if unknown := set(options.figures) - set(FIGURES):
        sys.stderr.write(f"no such figure: {', '.join(sorted(unknown))}; there are {', '.join(FIGURES)}\n")
        return 2
    if not (options.checkout / "daemon").is_dir():
        sys.stderr.write(f"{options.checkout} is no checkout: it has no folder daemon\n")
        return 2
    CHECKOUT.set(options.checkout.resolve())
    try:
        found, failures = asyncio.run(
            _measure(
                options.figures or [name for name in FIGURES if name not in ONLY_ON_REQUEST],
                Bench(options.quick, _tell, options.data, options.long),
            )
        )
    except (asyncio.CancelledError, KeyboardInterrupt):
        sys.stderr.write("stopped\n")
        return 2
    rows, sheets = [one for one in found if isinstance(one, Row)], [one for one in found if isinstance(one, Sheet)]
    host = described()
    if options.json:
        report = {
            "host": host,
            "quick": options.quick,
            "rows": [row.as_json() for row in rows],
            "sheets": [sheet.as_json() for sheet in sheets],
            "failed": failures,
            **{one.name: one.content for one in found if isinstance(one, Section)},
        }
        sys.stdout.write(json.dumps(report, indent=2) + "\n")
    else:
        described_host = ", ".join(f"{name} {value}" for name, value in host.items())
        drawn = "\n\n".join([table(rows), *(sheet.drawn() for sheet in sheets)])
        sys.stdout.write(f"{described_host}{', quick' if options.quick else ''}\n\n{drawn}\n")
    for name, reason in failures.items():
        sys.stderr.write(f"{name} could not be measured: {reason}\n")
    return 2 if failures else int(any(row.passed is False for row in rows))


def _parser() -> argparse.ArgumentParser:
    known = "; ".join(f"{name}: {meaning}" for name, meaning in FIGURES.items())
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__, epilog=f"Figures: {known}.")
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="only these figures")
    parser.add_argument("--quick", action="store_true", help="smaller counts of everything, for a first impression")
    parser.add_argument("--long", action="store_true", help="a million memories, too, in the figure surfacing")
    parser.add_argument(
        "--checkout", type=Path, default=CHECKOUT.get(), metavar="FOLDER", help="measure the daemon of another checkout"
    )
    parser.add_argument("--data", type=Path, metavar="FILE", help="the conversations of LoCoMo, for the figure recall")
    parser.add_argument("--json", action="store_true", help="JSON on stdout instead of the table")
    return parser


async def _measure(names: Sequence[str], bench: Bench) -> tuple[list[Row | Section | Sheet], dict[str, str]]:
    """Measure one figure after the other, each within its time limit; a signal ends all of them."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    clock, rows, failures = SystemClock(), list[Row | Section | Sheet](), dict[str, str]()
    for name in names:
        began = clock.monotonic()
        try:
            longest = _LONGEST_ON_REQUEST if name in ONLY_ON_REQUEST else _LONGEST
            async with asyncio.timeout(longest) as limit:
                measured = replace(bench, alive=partial(_wait_on, limit, longest))
                rows += await import_module(f"bench.figures.{name}").measure(measured)
        except Exception as error:  # noqa: BLE001  # one figure's failure leaves the others measured
            failures[name] = "; ".join(_leaves(error))
        _tell(f"{name}: {clock.monotonic() - began:.0f} s")
    return rows, failures


def _wait_on(limit: asyncio.Timeout, seconds: float) -> None:
    """Have a time limit count anew: a slow machine is no hang."""
    limit.reschedule(asyncio.get_running_loop().time() + seconds)


def _leaves(error: Exception) -> list[str]:
    """The errors in an error; a group's own text names none of them."""
    if isinstance(error, ExceptionGroup):
        return [text for one in error.exceptions for text in _leaves(one)]
    return [f"{type(error).__name__}: {error}"]


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
