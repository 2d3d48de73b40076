"""Plays scenarios with the configured model and scores it: `python -m evals`; a table, and an HTML report.

It talks to the model that the daemon's own settings name, so it may cost money.
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Final

from bench.host import described
from daemon.core.config import forget_secrets, load_settings
from daemon.core.errors import ConfigError, DaemonError
from evals.environment import Model, configured_model
from evals.page import page
from evals.run import Order, Rehearsal, Run, exit_code
from evals.scenario import FOLDER, Scenario, load_scenarios
from evals.spending import Spending, estimate
from evals.table import as_json, print_table

REPORT: Final = Path("eval-report.html")
_CANNOT: Final = 2
_HIDDEN: Final = "[a key]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Play; 0: every check passed, 1: some did not, 2: not everything could be played."""
    options = _parser().parse_args(arguments)
    try:
        scenarios = load_scenarios(options.folder, options.scenarios)
        if options.list:
            sys.stdout.writelines(_listed(one) for one in scenarios)
            return 0
        order = _order(options, scenarios)
    except DaemonError as error:
        sys.stderr.write(f"{error}\n")
        return _CANNOT
    hide = _Hiding(order.model)
    run = Run(order, lambda line: _tell(hide.within(line)))
    asyncio.run(_until_signal(run))
    _write(run, options, hide)
    return exit_code(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="scripts/eval", description=__doc__)
    add = parser.add_argument
    add(
        "--scenarios", action="append", default=[], metavar="GLOB", help="only those whose name or tag fits; repeatable"
    )
    add("--folder", type=Path, default=FOLDER, help="where the scenario files are, if not the shipped ones")
    add("--list", action="store_true", help="list the scenarios instead of playing them")
    add("--repeat", type=_count, default=1, metavar="N", help="play each scenario so many times")
    add("--jobs", type=_count, default=2, metavar="N", help="play so many at once, 2 unless given")
    add("--model", default="", metavar="ID", help="the model that speaks and thinks, instead of the settings'")
    add("--role", action="append", default=[], metavar="ROLE=ID", help="the model of one role: persona or thinking")
    add("--yes", action="store_true", help="play although it costs money")
    add("--max-usd", type=_amount, metavar="USD", help="end when so much is spent; stands for --yes")
    add("--max-minutes", type=_amount, default=60.0, metavar="N", help="end after so long, 60 unless given")
    add("--reply-seconds", type=_amount, default=240.0, metavar="N", help="what one turn may take, 240 unless given")
    add("--json", action="store_true", help="JSON on stdout instead of the table")
    add("--html", type=Path, default=REPORT, metavar="FILE", help=f"where the report goes, {REPORT} unless given")
    add("--rehearse", choices=["right", "wrong"], default="", help="let the files' own samples answer, not a model")
    return parser


def _order(options: argparse.Namespace, scenarios: tuple[Scenario, ...]) -> Order:
    """What is asked for. Raises ConfigError where the settings are wrong, or where money is at stake unasked."""
    model = configured_model(load_settings(), model=options.model, roles=options.role)
    forget_secrets()
    rehearsal = Rehearsal(options.rehearse)
    plan = estimate(model, scenarios, options.repeat)
    if rehearsal is Rehearsal.NONE:
        _tell(plan)
        if model.paid and not options.yes and options.max_usd is None:
            raise ConfigError("this costs money, so nothing was played", hint="say --yes, or bound it with --max-usd 2")
    return Order(
        scenarios,
        model,
        repeat=options.repeat,
        jobs=options.jobs,
        seconds=options.max_minutes * 60,
        turn_seconds=options.reply_seconds,
        spending=Spending(options.max_usd if model.paid else None),
        rehearsal=rehearsal,
    )


async def _until_signal(run: Run) -> None:
    """Play until all is played, or until Ctrl-C or SIGTERM; the daemons are stopped first, so a second signal waits."""
    playing = asyncio.current_task()
    assert playing is not None
    stopping = False

    def stop() -> None:
        nonlocal stopping
        if stopping:
            return
        stopping = True
        _tell("stopping; what was played will be reported")
        playing.cancel()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    await run.play()


def _write(run: Run, options: argparse.Namespace, hide: "_Hiding") -> None:
    host = described()
    try:
        options.html.write_text(hide.within(page(run, host)), encoding="utf-8")
        _tell(f"report: {options.html}")
    except OSError as error:
        _tell(f"the report could not be written to {options.html}: {(error.strerror or str(error)).lower()}")
    if options.json:
        sys.stdout.write(hide.within(json.dumps(as_json(run, host), indent=2, ensure_ascii=False)) + "\n")
    else:
        print_table(run, sys.stdout, hide.within)


class _Hiding:
    """Takes the keys of the settings out of a text, in each form in which it may hold them."""

    def __init__(self, model: Model) -> None:
        forms = {form for one in model.secrets for form in (one, escape(one), json.dumps(one)[1:-1])}
        self._forms = sorted(forms, key=len, reverse=True)

    def within(self, text: str) -> str:
        """The text without them."""
        for form in self._forms:
            text = text.replace(form, _HIDDEN)
        return text


def _listed(one: Scenario) -> str:
    return f"{one.name:<26} {', '.join(one.tags):<22} {one.title}\n"


def _count(text: str) -> int:
    if (number := int(text)) < 1:
        raise ValueError(text)
    return number


def _amount(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise ValueError(text)
    return number


def _tell(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
