"""`soul upgrade`: brings memory.db and the service to this version, with a copy from before, and a way back."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click

from daemon.cli.installer import checkout, control, install, is_active
from daemon.cli.output import say
from daemon.cli.search import service_here
from daemon.cli.unit import ServiceUnit
from daemon.core.clock import SystemClock
from daemon.core.config import load_settings
from daemon.core.errors import ConfigError, DaemonError, StoreError
from daemon.memory.database.copies import folder_beside, name_at
from daemon.memory.database.migrate import SCHEMA, require_current, version_of

_COPY: Final = re.compile(r"before-schema-(\d+)-from-(\d+)-.*\.db")
_KEPT: Final = 3
_STEP_S: Final = 3_600.0  # a copy of a large file takes minutes


@click.command("upgrade")
@click.option("--back", is_flag=True, help="Put memory.db back as it was before the last upgrade.")
def upgrade_command(back: bool) -> None:
    """Bring memory.db and the installed service to this version; to be run after the new program is there.

    It stops the service, copies memory.db where its schema changes, checks the copy, migrates, writes the unit anew and
    starts the service. A file that a newer program wrote is left alone.

    With --back the newest copy of before an upgrade takes the place of memory.db, which stays beside it under another
    name. The service stays stopped until the older program is there again. Messages that came since are read from
    Slack's history.
    """
    unit = service_here()
    path = (unit.data if unit else load_settings().home.absolute()) / "memory.db"
    if back:
        _go_back(unit, path)
        return
    before = version_of(path)
    if before > SCHEMA:
        require_current(before)
    if unit:
        install(_as_it_is(unit), "")
        control(unit, "daemon-reload")
    with _stopped(unit):
        if 0 < before < SCHEMA:
            copy = folder_beside(path) / f"before-schema-{SCHEMA}-from-{before}-{name_at(SystemClock().now_ms())}"
            _soul("db", "backup", str(copy), "--new-folder")
            say(f"{copy} holds memory.db as it was, checked.")
            _forget_older(copy.parent)
        _soul("db", "migrate")
    say(f"{path} has schema {SCHEMA}" + (" as before." if before == SCHEMA else f"; it had {before}."))
    say(
        "To go back: soul upgrade --back, then the older program."
        if before < SCHEMA
        else "To go back: the older program."
    )


def _go_back(unit: ServiceUnit | None, path: Path) -> None:
    copies = _copies(folder_beside(path))
    if not copies:
        raise StoreError(
            f"no copy of before an upgrade is in {folder_beside(path)}", hint="`soul db restore` takes any other copy"
        )
    now, from_schema = version_of(path), _schemas(copies[-1])[1]
    if now == from_schema:
        raise StoreError(f"{path} has schema {now} already, as before the upgrade", hint="start the older program")
    if unit and is_active(unit):
        control(unit, "stop", unit.path.name)
    say(_soul("db", "restore", str(copies[-1]), "--as-it-was").rstrip())
    say(f"It has schema {from_schema} again. Now the older program: git checkout VERSION, ./scripts/install,")
    say("and start the service, or the daemon.")


@contextmanager
def _stopped(unit: ServiceUnit | None) -> Iterator[None]:
    """Nothing of the service runs inside the block; if it ran, it is started after it, unless something failed."""
    if unit is None or not is_active(unit):
        yield
        return
    control(unit, "stop", unit.path.name)
    try:
        yield
    except DaemonError as error:
        error.hint = f"{error.hint}; the service is stopped, memory.db is as it was".removeprefix("; ")
        raise
    control(unit, "start", unit.path.name)
    say("The service runs.")


def _as_it_is(unit: ServiceUnit) -> list[str]:
    """What scripts/install takes to write the same unit anew. Raises ConfigError where the program is another's."""
    if unit.program and Path(unit.program).parents[2] != checkout():
        raise ConfigError(
            f"the service in {unit.path} runs the program {unit.program}, not this one",
            hint=f"type {unit.program} upgrade; or ./scripts/install here first, which makes it run this one",
        )
    return ["--system"] if unit.of_the_system else ["--data", str(unit.data)]


def _soul(*arguments: str) -> str:
    """Run another command in a process of its own, which acts as the service's account. Raises StoreError."""
    command = [sys.executable, "-m", "daemon", *arguments]
    try:
        done = subprocess.run(  # noqa: S603  # this program, without a shell
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_STEP_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StoreError(f"soul {' '.join(arguments[:2])} did not end well: {type(error).__name__}") from None
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line and not line.startswith("Of the service")]
        raise StoreError(" ".join(said[:1]) or f"soul {' '.join(arguments[:2])} failed", hint=" ".join(said[1:2]))
    return done.stdout


def _copies(folder: Path) -> list[Path]:
    """The copies of before upgrades, oldest first."""
    found = [path for path in folder.glob("before-schema-*.db") if _COPY.fullmatch(path.name)]
    return sorted(found, key=lambda path: (_schemas(path), path.name))


def _schemas(copy: Path) -> tuple[int, int]:
    """To which schema the upgrade led, and from which."""
    found = _COPY.fullmatch(copy.name)
    assert found is not None  # it was found by this name
    return int(found[1]), int(found[2])


def _forget_older(folder: Path) -> None:
    for copy in _copies(folder)[:-_KEPT]:
        copy.unlink(missing_ok=True)
