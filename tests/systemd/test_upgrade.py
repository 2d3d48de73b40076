"""`soul upgrade` to a program with a newer schema: there, back, and with the service in between."""

import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from daemon.memory.database import sqlite
from daemon.memory.database.schema import SCHEMA
from tests.fakes import TIMEOUT
from tests.systemd.conftest import REPOSITORY, Checkout

pytestmark = pytest.mark.slow
NEXT = SCHEMA + 1
_SYSTEMCTL = """#!/bin/sh
echo "$@" >>{home}/asked
case "$*" in
  *is-active*) [ -e {home}/running ] ;;
  *stop*) rm -f {home}/running ;;
  *start*) [ ! -e {home}/refuses ] || {{ echo 'Job for soul.service failed.' >&2; exit 1; }}; touch {home}/running ;;
esac
"""


class UpgradedAccount:
    """An account with an installed service of the newer program, and a memory.db of the schema before."""

    def __init__(self, checkout: Checkout, newer: Path) -> None:
        self.checkout = checkout
        self.path = checkout.data / "memory.db"
        (checkout.code / "daemon").symlink_to(newer / "daemon")
        (checkout.code / "souls").symlink_to(REPOSITORY / "souls")
        programs = checkout.home / "bin"
        programs.mkdir()
        (programs / "systemctl").write_text(_SYSTEMCTL.format(home=checkout.home))
        (programs / "systemctl").chmod(0o755)
        assert checkout.install("--tokens", "-", stdin="SLACK_BOT_TOKEN=xoxb-1-canary\n").returncode == 0
        (checkout.home / "running").touch()

    def soul(self, *arguments: str, older: bool = False) -> subprocess.CompletedProcess[str]:
        """Run the new program, or that of the version before, in the account's home."""
        code = REPOSITORY if older else self.checkout.code
        return subprocess.run(
            [sys.executable, "-P", "-m", "daemon", *arguments],
            env={
                "HOME": str(self.checkout.home),
                "PATH": f"{self.checkout.home}/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "PYTHON": sys.executable,
                "PYTHONPATH": os.pathsep.join([str(code), *filter(None, sys.path)]),
            },
            cwd=self.checkout.home,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )

    def schema(self) -> int:
        """The schema of memory.db."""
        with closing(sqlite.connect(self.path)) as connection:
            return sqlite.schema_version(connection)

    def topics(self) -> list[str]:
        """What a test wrote into the audit log, which both versions have."""
        with closing(sqlite.connect(self.path)) as connection:
            return [str(row[0]) for row in connection.execute("SELECT object FROM audit WHERE act = 'test'")]

    def note(self, what: str) -> None:
        """Write something that is to last."""
        with closing(sqlite.connect(self.path)) as connection:
            connection.execute("INSERT INTO audit (actor, act, object, done_ms) VALUES ('ada', 'test', ?, 1)", (what,))

    def asked(self) -> list[str]:
        """What systemctl was asked, without the questions whether it runs."""
        lines = (self.checkout.home / "asked").read_text().splitlines()
        return [line.removeprefix("--user ") for line in lines if "is-active" not in line]


@pytest.fixture(scope="module")
def newer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the next schema: this one with one more step."""
    root = tmp_path_factory.mktemp("newer")
    shutil.copytree(REPOSITORY / "daemon", root / "daemon", ignore=shutil.ignore_patterns("minilm", "__pycache__"))
    steps = root / "daemon/memory/database/steps"
    steps.mkdir(exist_ok=True)
    (steps / f"{NEXT:04d}_one_more.sql").write_text("ALTER TABLE audit ADD COLUMN more TEXT NOT NULL DEFAULT '';\n")
    return root


@pytest.fixture
def machine(checkout: Checkout, newer: Path) -> UpgradedAccount:
    """A service of the version before, which has remembered something."""
    made = UpgradedAccount(checkout, newer)
    done = made.soul("db", "migrate", older=True)
    assert (done.returncode, made.schema()) == (0, SCHEMA), done.stderr
    made.note("before")
    return made


def test_there_and_back_with_the_version_before(machine: UpgradedAccount) -> None:
    done = machine.soul("upgrade")
    assert done.returncode == 0, done.stderr
    assert (machine.schema(), machine.topics()) == (NEXT, ["before"])
    assert machine.asked() == ["daemon-reload", "stop soul.service", "start soul.service"]
    assert (machine.checkout.credentials / "slack-bot-token").read_text() == "xoxb-1-canary\n"
    [copy] = machine.checkout.data.glob(f"backups/before-schema-{NEXT}-from-{SCHEMA}-*.db")
    assert str(copy) in done.stdout
    machine.note("after")

    refused = machine.soul("status", older=True)
    assert f"memory.db has schema {NEXT}, this program knows {SCHEMA}" in refused.stderr

    back = machine.soul("upgrade", "--back")
    assert back.returncode == 0, back.stderr
    assert machine.asked()[-1] == "stop soul.service"
    assert (machine.schema(), machine.topics()) == (SCHEMA, ["before"])
    assert "no faults" in machine.soul("db", "check", older=True).stdout
    [aside] = machine.checkout.data.glob("memory-replaced-*.db")
    with closing(sqlite.connect(aside)) as connection:
        assert sqlite.schema_version(connection) == NEXT
    assert machine.soul("upgrade").returncode == 0
    assert machine.schema() == NEXT


def test_an_unknown_file_stops_nothing_and_a_copy_that_cannot_be_made_leaves_the_file(machine: UpgradedAccount) -> None:
    with closing(sqlite.connect(machine.path)) as connection:
        connection.execute("PRAGMA user_version=16")
    done = machine.soul("upgrade")
    assert (done.returncode, "soul memory passport export DIR" in done.stderr) == (78, True)
    with closing(sqlite.connect(machine.path)) as connection:
        connection.execute("PRAGMA user_version=99")
    done = machine.soul("upgrade")
    assert done.returncode == 78
    assert done.stderr.splitlines() == [
        f"memory.db has schema 99, this program knows {NEXT}",
        "update the program; the file is unchanged",
    ]
    assert (machine.asked() if (machine.checkout.home / "asked").exists() else []) == []
    assert machine.schema() == 99
    with closing(sqlite.connect(machine.path)) as connection:
        connection.execute(f"PRAGMA user_version={SCHEMA}")
    (machine.checkout.data / "backups").write_text("in the way")
    done = machine.soul("upgrade")
    assert done.returncode == 70
    assert "the service is stopped, memory.db is as it was" in done.stderr
    assert (machine.schema(), machine.topics()) == (SCHEMA, ["before"])


def test_without_anything_new_the_service_is_started_again_and_nothing_is_copied(machine: UpgradedAccount) -> None:
    assert machine.soul("db", "migrate").returncode == 0
    done = machine.soul("upgrade")
    assert (done.returncode, f"has schema {NEXT} as before" in done.stdout) == (0, True), done.stderr
    assert not list(machine.checkout.data.glob("backups/before-*"))
    assert machine.asked()[-1] == "start soul.service"
    back = machine.soul("upgrade", "--back")
    assert (back.returncode, "no copy of before an upgrade" in back.stderr) == (70, True)


def test_a_service_of_another_checkout_is_left_to_it_and_one_that_does_not_start_is_named(
    machine: UpgradedAccount,
) -> None:
    written = machine.checkout.unit.read_text()
    unit = machine.checkout.unit
    unit.write_text(unit.read_text().replace(f"ExecStart={machine.checkout.code}", "ExecStart=/opt/soul"))
    done = machine.soul("upgrade")
    assert (done.returncode, "runs the program /opt/soul/.venv/bin/soul, not this one" in done.stderr) == (78, True)
    assert machine.schema() == SCHEMA
    machine.checkout.unit.write_text(written)
    (machine.checkout.home / "refuses").touch()
    done = machine.soul("upgrade")
    assert done.returncode == 78
    assert "systemctl --user start soul.service failed: Job for soul.service failed." in done.stderr
    assert "soul logs" in done.stderr
    assert os.access(REPOSITORY / "scripts/upgrade", os.X_OK)


def test_without_a_service_the_file_of_the_folder_is_upgraded(machine: UpgradedAccount) -> None:
    machine.checkout.unit.unlink()
    machine.path.rename(machine.checkout.home / "memory.db")
    done = machine.soul("upgrade")
    assert done.returncode == 0, done.stderr
    assert len(list(machine.checkout.home.glob("backups/before-*"))) == 1
    back = machine.soul("upgrade", "--back")
    assert (back.returncode, f"schema {SCHEMA} again" in back.stdout) == (0, True), back.stderr
