"""`soul sessions hooks`: how Claude Code on this machine gets the plugin, and whether its hooks reach the daemon."""

import json
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

import click

from daemon.cli.output import say
from daemon.core.errors import ConfigError

SCRIPT: Final = "session_event.py"
_LOOK_S: Final = 10.0


@click.command("hooks")
def hooks_command() -> None:
    """Show the commands that install the plugin of Claude Code, and whether its hooks on this machine have a key.

    Exit code 1 if the hooks send nothing.
    """
    marketplace = script_path().parents[1]
    here = (marketplace / ".claude-plugin" / "marketplace.json").is_file()
    say(f"claude plugin marketplace add {marketplace if here else 'ADDRESS-OF-THE-REPOSITORY'}")
    say("claude plugin install soul@soul")
    found = _asked_of_script()
    say(f"daemon: {found['url']}")
    say(f"key: {'there' if found['key'] else 'none'}")
    say(f"events that wait: {found['kept']}; given up because there were too many: {found['dropped']}")
    if found["fault"]:
        say(f"nothing is sent: {found['fault']}; see docs/SESSIONS.md")
        raise click.exceptions.Exit(1)


def script_path() -> Path:
    """The hook script of the checkout, or of the installed package. Raises ConfigError."""
    beside = Path(__file__).resolve().parents[2] / "hooks" / SCRIPT
    if beside.is_file():
        return beside
    try:
        files = metadata.files("soul-daemon") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == SCRIPT:
            return Path(str(file.locate())).resolve()
    raise ConfigError(f"{SCRIPT} is not installed", hint="install the package again")


def _asked_of_script() -> dict[str, object]:
    """What the hook script says of its settings and of what waits. Raises ConfigError."""
    try:
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", str(script_path()), "--status"],
            capture_output=True,
            check=False,
            timeout=_LOOK_S,
        )
        found: dict[str, object] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the hook script does not run: {error}", hint="install the package again") from error
    return found
