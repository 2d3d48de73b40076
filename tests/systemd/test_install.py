"""The installer really runs, below a home and a root of its own."""

import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.systemd.conftest import REPOSITORY, Checkout

pytestmark = pytest.mark.slow
ENV_FILE = """\
# tokens
SLACK_BOT_TOKEN="xoxb-1-canary"
export SLACK_APP_TOKEN=xapp-1-canary\r
MY_OPENAI_API_KEY=no
GROQ_API_KEY=
"""


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_dry_run_writes_nothing_and_installing_a_unit_without_gaps_and_tokens_for_their_owner_alone(
    checkout: Checkout,
) -> None:
    before = _files(checkout.code)
    done = checkout.install("--dry-run", "--tokens", "-", stdin=ENV_FILE)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"would write: {checkout.unit}" in done.stdout
    assert f"would write: {checkout.credentials}/slack-bot-token" in done.stdout
    assert "systemctl --user enable --now soul" in done.stdout
    assert "canary" not in done.stdout
    assert list(checkout.home.iterdir()) == []
    assert _files(checkout.code) == before
    done = checkout.install("--tokens", "-", stdin=ENV_FILE)
    assert (done.returncode, done.stderr) == (0, "")
    unit = checkout.unit.read_text()
    assert f"ExecStart={checkout.code}/.venv/bin/soul run\n" in unit
    assert not any(word in unit for word in ("@CODE@", "@DATA@", "@PYTHON@", "@CREDENTIALS@", "canary"))
    assert _files(checkout.credentials) == {"slack-bot-token": "xoxb-1-canary\n", "slack-app-token": "xapp-1-canary\n"}
    assert {_mode(path) for path in checkout.credentials.iterdir()} == {0o600}
    assert (_mode(checkout.credentials), _mode(checkout.data), _mode(checkout.unit)) == (0o700, 0o700, 0o644)
    assert "canary" not in done.stdout
    assert "loginctl enable-linger" in done.stdout
    assert _files(checkout.code) == before


def test_installing_again_keeps_tokens_and_takes_changed_ones_and_uninstalling_removes_the_unit_and_nothing_else(
    checkout: Checkout,
) -> None:
    checkout.install("--tokens", "-", stdin=ENV_FILE)
    unit = checkout.unit.read_text()
    (checkout.home / "new.env").write_text("SLACK_BOT_TOKEN=xoxb-2\n")
    assert checkout.install("--tokens", "new.env").returncode == 0
    assert _files(checkout.credentials) == {"slack-bot-token": "xoxb-2\n", "slack-app-token": "xapp-1-canary\n"}
    assert checkout.unit.read_text() == unit
    (checkout.data / "memory.db").write_text("precious")
    assert checkout.install("--uninstall", "--dry-run").returncode == 0
    assert checkout.unit.exists()
    done = checkout.install("--uninstall")
    assert done.returncode == 0
    assert str(checkout.data) in done.stdout
    assert not checkout.unit.exists()
    assert (checkout.data / "memory.db").read_text() == "precious"
    assert len(_files(checkout.credentials)) == 2
    assert checkout.install("--uninstall").returncode == 0


def test_on_a_terminal_it_asks_for_each_token_without_showing_it(checkout: Checkout) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"xoxb-3-canary\nxapp-3-canary\n\n\n\n\n")
    done = subprocess.run(
        [checkout.code / "scripts/install"],
        stdin=theirs,
        env={"HOME": str(checkout.home), "PATH": "/usr/bin:/bin", "PYTHON": sys.executable},
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=True,
    )
    os.close(theirs)
    os.close(ours)
    assert _files(checkout.credentials) == {"slack-bot-token": "xoxb-3-canary\n", "slack-app-token": "xapp-3-canary\n"}
    assert "canary" not in done.stdout + done.stderr
    assert "Not there yet" not in done.stdout


def test_the_server_variant_goes_below_etc(checkout: Checkout, tmp_path: Path) -> None:
    done = checkout.install("--system", "--tokens", "-", stdin=ENV_FILE, destdir=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    unit = (tmp_path / "etc/systemd/system/soul.service").read_text()
    assert "\nUser=soul\n" in unit
    assert "LoadCredential=slack-bot-token:/etc/soul/credentials/slack-bot-token\n" in unit
    assert _mode(tmp_path / "etc/soul/credentials/slack-bot-token") == 0o600
    assert list(checkout.home.iterdir()) == []


def test_unknown_arguments_and_odd_paths_are_refused_data_may_live_elsewhere_and_missing_tokens_are_named(
    checkout: Checkout,
) -> None:
    for argument in ("--frobnicate", "extra"):
        done = checkout.install(argument)
        assert (done.returncode, done.stderr.startswith("Usage: scripts/install")) == (64, True), argument
    assert checkout.install("--help").stdout.startswith("Usage: scripts/install")
    assert os.access(REPOSITORY / "scripts/install", os.X_OK)
    done = checkout.install("--data", "/tmp/two words%h")
    assert done.returncode == 78
    assert "/tmp/two words%h" in done.stderr
    assert not checkout.unit.exists()
    done = checkout.install("--data", "elsewhere")
    assert done.returncode == 0
    assert f"WorkingDirectory={checkout.home}/elsewhere\n" in checkout.unit.read_text()
    assert (checkout.home / "elsewhere").is_dir()
    assert f"Not there yet, in {checkout.credentials}: slack-bot-token slack-app-token." in done.stdout


def test_tools_get_a_file_of_their_own_that_is_never_overwritten(checkout: Checkout) -> None:
    assert checkout.install().returncode == 0
    conf = checkout.unit.with_name("soul.service.d") / "tools.conf"
    assert not conf.exists()
    assert checkout.install("--tools").returncode == 0
    text = conf.read_text()
    assert "\nMemoryDenyWriteExecute=no\n" in text
    assert f"\nLoadCredential=tools:{checkout.credentials}/tools\n" in text
    assert "#BindReadOnlyPaths=" in text
    assert (_mode(checkout.credentials / "tools"), "@" in text) == (0o700, False)
    conf.write_text("mine")
    assert f"kept {conf}" in checkout.install("--tools").stdout
    assert conf.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, whose files are nobody else's")
def test_the_server_variant_refuses_code_that_others_could_change(checkout: Checkout) -> None:
    program = checkout.code / "scripts/run"
    complaint = f"{program} could be changed by others than root"
    checkout.code.chmod(0o755)
    for path in checkout.code.rglob("*"):
        path.chmod(path.stat().st_mode & ~0o022) if not path.is_symlink() else None
    sound = program.stat().st_mode
    assert complaint not in checkout.install("--system", "--dry-run").stderr
    for mode, owner in ((0o757, -1), (sound, 65534)):
        program.chmod(mode)
        os.chown(program, owner, -1)
        done = checkout.install("--system", "--dry-run")
        assert (done.returncode, complaint in done.stderr) == (78, True), (mode, owner)
