"""The installed unit under a real manager of an ordinary user: readiness, watchdog, credentials, walls, exit codes."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import msgspec
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
    if not Path(PYTHON).exists() or _version_of(PYTHON) != sys.version_info[:2]:
        return f"needs the Python of {sys.executable} at {PYTHON}, too"
    return ""


@pytest.fixture
def installed(checkout: Checkout) -> Checkout:
    """An installation for an ordinary user, with one token and short timeouts."""
    if obstacle := _obstacle():
        pytest.skip(f"a real service manager {obstacle}")
    (checkout.code / "daemon").mkdir()
    shutil.copy(REPOSITORY / "daemon" / "__init__.py", checkout.code / "daemon")
    shutil.copytree(REPOSITORY / "daemon" / "core", checkout.code / "daemon" / "core")
    shutil.copytree(Path(msgspec.__file__).parent, checkout.code / "msgspec")  # all that the values of core need
    shutil.copy(HERE / "real_manager.sh", checkout.code)  # the ordinary user may have no way into this checkout
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


@pytest.fixture
def with_packages(installed: Checkout) -> Checkout:
    """The same with the whole daemon, and a virtual environment that has this one's packages."""
    packages = Path(click.__file__).parents[1]
    if {"home", "root", "tmp"} & set(packages.parts[1:2]):
        pytest.skip(f"the unit sees nothing of {packages}")
    environment = installed.code / ".venv"
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\ninclude-system-site-packages = false\n")
    (environment / "lib" / packages.parent.name).mkdir(parents=True)
    (environment / "lib" / packages.parent.name / "site-packages").symlink_to(packages)
    shutil.copytree(REPOSITORY / "daemon", installed.code / "daemon", dirs_exist_ok=True)
    program = environment / "bin/soul"
    program.write_text(program.read_text().replace(f"#!{PYTHON}", f"#!{environment}/bin/python"))
    (installed.data / "vectors").touch()
    for path in (installed.code, *installed.code.rglob("*")):
        if not path.is_symlink():
            os.chown(path, ORDINARY, ORDINARY)
    return installed


def _version_of(python: str) -> tuple[int, ...]:
    said = subprocess.run(
        [python, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True, check=True
    )
    return tuple(map(int, said.stdout.split()))


def _run(checkout: Checkout) -> tuple[list[str], list[dict[str, Any]]]:
    """What a real manager says, and what the program logs under it."""
    done = subprocess.run(
        ["sh", checkout.code / "real_manager.sh", checkout.home, str(ORDINARY)],
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(f"a real service manager can't run here: {done.stdout.strip()}")
    assert "start=0" in done.stdout, done.stderr
    return done.stdout.splitlines(), [json.loads(line) for line in (checkout.data / "log").read_text().splitlines()]


@pytest.mark.slow
def test_the_embedder_and_chroma_work_behind_the_walls_of_the_unit(with_packages: Checkout) -> None:
    assert {"length": 384, "found": [7]} in _run(with_packages)[1]


@pytest.mark.slow
def test_the_installed_unit_lives_and_dies_as_promised(installed: Checkout) -> None:
    said, (first, second, last) = _run(installed)
    assert said == [
        "start=0",
        "StatusText=connected",
        "NRestarts=1",
        "ActiveState=active",
        "stop=0",
        "ActiveState=inactive",
        "misconfigured=1",
        "ActiveState=failed",
        "ExecMainStatus=78 NRestarts=0",
    ]
    assert first == second
    assert first["uid"] == ORDINARY
    assert first["closed"], "other programs of the account can't look into the process"
    assert first["credentials"]["slack-bot-token"] == "xoxb-1\n"
    assert {value for name, value in first["credentials"].items() if name != "slack-bot-token"} == {"\n"}
    assert (first["writable"], first["homes"], first["manager_reachable"]) == ([], [], False)
    assert last == {"stopped": True}
