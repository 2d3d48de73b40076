"""Commands in a folder without settings find the installed service and its data."""

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from daemon.cli.installing import ServiceUnit
from daemon.core.config import load_settings
from tests.cli.conftest import call
from tests.cli.services import install
from tests.fakes import TIMEOUT
from tests.systemd.conftest import REPOSITORY

PYTHON = {"PYTHONPATH": os.pathsep.join([str(REPOSITORY), *filter(None, sys.path)]), "PYTHONDONTWRITEBYTECODE": "1"}
COMMANDS = (
    *(
        "status",
        "doctor --offline",
        "queue inbox list",
        "queue outbox list",
        "queue jobs list",
        "memory people list",
        "memory stats",
    ),
    *("settings", "memory verify", "sessions keys list", "schedule list", "approvals list", "tools list", "db check"),
    "memory runs",
)


@pytest.fixture
def unit(tmp_path: Path) -> ServiceUnit:
    """The service of a person."""
    return install(tmp_path / "config/systemd/user/soul.service", tmp_path / "data", tmp_path / "credentials")


def test_every_command_finds_the_service_from_another_folder(unit: ServiceUnit) -> None:
    for command in COMMANDS:
        done = call(*command.split())
        assert f"Of the service in {unit.path}; its data is in {unit.data}." in done.stderr, command
        assert (done.exit_code, "canary" in done.output) == (0, False), done.output
    for of_its_own in ("manifest", "status --help"):
        assert "Of the service" not in call(*of_its_own.split()).output
    assert list(Path.cwd().iterdir()) == []


def test_the_doctor_sees_the_services_tokens_and_its_env(unit: ServiceUnit, monkeypatch: pytest.MonkeyPatch) -> None:
    (unit.data / ".env").write_text("SOUL_LIBRARY=papers\nSOUL_NAME=plain\n")
    (unit.data / ".env").chmod(0o600)
    (unit.data / "papers").mkdir()
    (unit.path.parent / "soul.service.d").mkdir()
    (unit.path.parent / "soul.service.d/more.conf").write_text(
        f'[Service]\nEnvironment="SOUL_MAX_CYCLES=7" SOUL_LOG_LEVEL=verbose\nEnvironmentFile=-{unit.data}/more\n'
    )
    (unit.data / "more").write_text("SOUL_MAX_CYCLES=8\n")
    said = call("doctor", "--offline").stdout
    assert "a bot token and an app-level token are set" in said
    assert f"library: {unit.data}/papers" in said
    shown = call("settings").stdout
    assert [line.split()[1] for line in shown.splitlines() if line.startswith(("SOUL_MAX_CYCLES ", "SOUL_NAME "))] == [
        "plain",
        "8",
    ]
    assert "SOUL_MAX_CYCLES" not in os.environ
    assert load_settings().max_cycles != 8
    with monkeypatch.context() as patch:
        patch.setenv("SOUL_HOME", str(unit.data))
        assert "a bot token and an app-level token are set" in call("doctor", "--offline").stdout
    monkeypatch.chdir(unit.data)
    assert "a bot token and an app-level token are set" in call("doctor", "--offline").stdout


def test_a_folder_or_a_variable_that_names_its_own_home_is_left_alone_and_a_torn_unit_harms_nothing(
    unit: ServiceUnit, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (unit.data / "memory.db").unlink()
    assert "start the daemon with `systemctl --user start soul`" in call("status").stderr
    (home / ".env").write_text("")
    assert "start the daemon with `soul run`" in call("status").stderr
    (home / ".env").unlink()
    with monkeypatch.context() as patch:
        patch.setenv("SOUL_HOME", str(home))
        assert f"there is no {home}/memory.db yet" in call("status").stderr
    unit.path.write_text("[Service]\nEnvironment='open\nExecStart=\nEnvironmentFile=/nowhere\nLoadCredential=x\n\x00=")
    done = call("status")
    assert "there is no /memory.db yet" in done.stderr
    assert done.exit_code == 70


def test_of_two_services_none_is_guessed(unit: ServiceUnit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = install(tmp_path / "etc/soul.service", tmp_path / "var", tmp_path / "secret")
    done = call("status")
    assert done.exit_code == 78
    assert all(str(path) in done.stderr for path in (unit.path, unit.data, other.path, other.data))
    assert f"SOUL_HOME={unit.data} soul …" in done.stderr
    monkeypatch.setenv("SOUL_HOME", str(unit.data))
    assert call("status").exit_code == 0


@pytest.fixture
def server() -> Iterator[tuple[Path, ServiceUnit]]:
    """The service of a server, in a folder that other accounts can enter, of the account daemon."""
    root = Path(tempfile.mkdtemp(prefix="soul-"))
    root.chmod(0o755)
    unit = install(root / "etc/soul.service", root / "var", root / "secret", "[Service]", "User=daemon", "")
    for path in (unit.data, *unit.data.iterdir()):
        shutil.chown(path, "daemon")
    yield root, unit
    shutil.rmtree(root)


def _as(account: str, root: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run `soul` as an account, with the machine's unit below a root of its own."""
    code = (
        "import sys; from pathlib import Path; import daemon.cli.installing as unit\n"
        f"unit.SYSTEM_UNITS = (Path({str(root)!r}) / 'etc/soul.service',)\n"
        f"sys.argv[1:] = {command.split()!r}\n"
        "from daemon.cli import main; main()"
    )
    empty = root / f"empty-{account}"
    empty.mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=empty,
        env={**PYTHON, "HOME": "/nonexistent"},
        user=account,
        group=pwd.getpwnam(account).pw_gid,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )


def _others_may_run_it() -> bool:
    """Whether this is root, whose Python and checkout other accounts can use."""
    if os.geteuid() != 0:
        return False
    code = "import click, pydantic_settings, ssl, daemon"
    try:
        command = [sys.executable, "-c", code]
        return subprocess.run(command, user="daemon", env=PYTHON, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


others = pytest.mark.skipif(not _others_may_run_it(), reason="needs root, and code that other accounts can read")


@pytest.mark.slow
@others
def test_root_acts_as_the_services_account(server: tuple[Path, ServiceUnit]) -> None:
    root, unit = server
    done = _as("root", root, "db backup")
    assert (done.returncode, "Of the service" in done.stderr) == (0, True), done.stderr
    [copy] = (unit.data / "backups").iterdir()
    assert copy.owner() == "daemon"
    assert "a bot token and an app-level token are set" in _as("root", root, "doctor --offline").stdout


@pytest.mark.slow
@others
def test_another_account_reads_what_to_type_or_which_keys_it_does_not_see(server: tuple[Path, ServiceUnit]) -> None:
    root, unit = server
    done = _as("bin", root, "status")
    assert done.returncode == 78
    assert f"its data in {unit.data}, which the account daemon alone may read" in done.stderr
    assert f"sudo {REPOSITORY}/.venv/bin/soul …" in done.stderr
    done = _as("daemon", root, "doctor --offline")
    assert "its slack-bot-token, slack-app-token" in done.stdout
    assert "run soul doctor with sudo" in done.stdout
    assert unit.path.is_file()
