"""Runs the programs that install and steer the service: scripts/install of this checkout, and systemctl."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import daemon
from daemon.cli.unit import ServiceUnit
from daemon.core.errors import ConfigError

_INSTALLING_S: Final = 1_800.0  # it may fetch all packages first
_CONTROL_S: Final = 180.0  # a start waits for Slack
_LONGEST_COMPLAINT: Final = 300


def checkout() -> Path:
    """The folder that holds this program with its scripts. Raises ConfigError where it came as a package alone."""
    folder = Path(daemon.__file__).absolute().parents[1]
    if not (folder / "scripts/install").is_file():
        hint = "clone the repository and run ./scripts/install there, or use the container; see README.md"
        raise ConfigError(f"there is no scripts/install in {folder}: this program came as a package", hint=hint)
    return folder


def install(arguments: Sequence[str], tokens: str) -> str:
    """Run scripts/install with tokens on its standard input; gives what it says. Raises ConfigError."""
    command = [str(checkout() / "scripts/install"), *arguments, "--tokens", "-"]
    done = _run(command, _INSTALLING_S, given=tokens)
    if done.returncode:
        raise ConfigError(_complaint(done) or "scripts/install failed", hint="run ./scripts/install to see it all")
    return done.stdout


def control(unit: ServiceUnit, *arguments: str) -> None:
    """Ask the service manager that runs a unit, e.g. to restart it. Raises ConfigError when it refuses."""
    program = shutil.which("systemctl")
    if program is None:
        raise ConfigError("there is no systemctl on this machine", hint="restart the daemon as you started it")
    done = _run([program, *([] if unit.of_the_system else ["--user"]), *arguments], _CONTROL_S)
    if done.returncode:
        typed = " ".join(("systemctl", *([] if unit.of_the_system else ["--user"]), *arguments))
        raise ConfigError(f"{typed} failed: {_complaint(done)}", hint="see `soul logs`")


def is_active(unit: ServiceUnit) -> bool:
    """Whether the service manager says that the service runs; where there is none it doesn't."""
    program = shutil.which("systemctl")
    if program is None:
        return False
    asked = [program, *([] if unit.of_the_system else ["--user"]), "is-active", "--quiet", unit.path.name]
    return _run(asked, _CONTROL_S).returncode == 0


def _run(command: list[str], limit_s: float, given: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603  # fixed programs and arguments of our own, without a shell
            command, input=given, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{command[0]} did not end well: {type(error).__name__}", hint="try it by hand") from None


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip() or done.stdout.strip())[-_LONGEST_COMPLAINT:]
