"""The installed unit under a real manager of an ordinary user: readiness, watchdog, credentials, walls, exit codes."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.systemd.conftest import REPOSITORY, Checkout

PYTHON = "/usr/bin/python3"  # one that an ordinary user can run
ORDINARY = 65534
HERE = Path(__file__).parent


def _obstacle() -> str:
    """Why no real service manager can run here; empty where one can."""
    if os.geteuid() != 0:
        return "needs root"
    missing = [tool for tool in ("unshare", "setpriv", "systemctl") if shutil.which(tool) is None]
    if missing or not Path("/lib/systemd/systemd").exists():
        return f"needs {', '.join(missing) or 'systemd'}"
    new_enough = [PYTHON, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
    if not Path(PYTHON).exists() or subprocess.run(new_enough, check=False).returncode != 0:
        return f"needs Python 3.11 at {PYTHON}"
    return ""


@pytest.fixture
def installed(checkout: Checkout) -> Checkout:
    """An installation for an ordinary user, with one token and short timeouts."""
    if obstacle := _obstacle():
        pytest.skip(f"a real service manager {obstacle}")
    (checkout.code / "daemon").mkdir()
    shutil.copy(REPOSITORY / "daemon" / "__init__.py", checkout.code / "daemon")
    shutil.copytree(REPOSITORY / "daemon" / "core", checkout.code / "daemon" / "core")
    program = checkout.code / ".venv/bin/soul"
    program.write_text(f"#!{PYTHON}\n" + (HERE / "tiny_daemon.py").read_text())
    python = checkout.code / ".venv/bin/python"
    python.unlink()
    python.symlink_to(PYTHON)
    assert checkout.install("--tokens", "-", stdin="SLACK_BOT_TOKEN=xoxb-1\n").returncode == 0
    unit = checkout.unit.read_text().replace("WatchdogSec=60", "WatchdogSec=5").replace("RestartSec=5", "RestartSec=0")
    checkout.unit.write_text(unit)
    for path in (checkout.home, *checkout.home.rglob("*")):
        os.chown(path, ORDINARY, ORDINARY)
    return checkout


@pytest.mark.slow
def test_the_installed_unit_lives_and_dies_as_promised(installed: Checkout) -> None:
    done = subprocess.run(
        ["sh", HERE / "real_manager.sh", installed.home, str(ORDINARY)],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(f"a real service manager can't run here: {done.stdout.strip()}")
    assert done.stdout.splitlines() == [
        "start=0",
        "StatusText=connected",
        "NRestarts=1",
        "ActiveState=active",
        "stop=0",
        "ActiveState=inactive",
        "misconfigured=1",
        "ActiveState=failed",
        "ExecMainStatus=78 NRestarts=0",
    ], done.stderr
    first, second, last = map(json.loads, (installed.data / "log").read_text().splitlines())
    assert first == second
    assert first["uid"] == ORDINARY
    assert first["closed"], "other programs of the account can't look into the process"
    assert first["credentials"]["slack-bot-token"] == "xoxb-1\n"
    assert {value for name, value in first["credentials"].items() if name != "slack-bot-token"} == {"\n"}
    assert (first["writable"], first["homes"], first["manager_reachable"]) == ([], [], False)
    assert last == {"stopped": True}
