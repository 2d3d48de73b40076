"""A program that the daemon starts can't read the daemon's keys: not in its environment, not in its memory."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from daemon.core import secrecy
from daemon.core.config import Settings, forget_secrets
from daemon.core.config.sources import environment_name
from tests.fakes import TIMEOUT

ORDINARY = 65534
SPY = """
import os
for file in ("environ", "mem", "maps"):
    try:
        open(f"/proc/{os.getppid()}/{file}", "rb").close()
        print(file, "open")
    except PermissionError:
        print(file, "closed")
"""
DAEMON = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
import secrecy
if sys.argv[2] == "closed":
    assert secrecy.close_process()
subprocess.run([sys.executable, "-c", sys.argv[3]], check=True)
"""


def _python() -> str:
    """A Python that an ordinary user can run."""
    return "/usr/bin/python3" if os.geteuid() == 0 else sys.executable


@pytest.mark.skipif(
    sys.platform != "linux" or not Path(_python()).exists(), reason="needs Linux and a Python for everybody"
)
@pytest.mark.parametrize("way", ["open", "closed"])
def test_a_program_of_the_same_account_reads_nothing_of_a_closed_process(way: str, tmp_path: Path) -> None:
    """The open one shows that the closed one is the reason."""
    tmp_path.chmod(0o755)
    place = Path("/tmp") / f"soul-secrecy-{os.getpid()}-{way}"  # other accounts can't enter pytest's own folder
    place.mkdir(mode=0o755)
    try:
        shutil.copy(secrecy.__file__, place / "secrecy.py")
        account = ORDINARY if os.geteuid() == 0 else None
        seen = subprocess.run(
            [_python(), "-B", "-c", DAEMON, place, way, SPY],
            cwd="/",
            env={"SLACK_BOT_TOKEN": "xoxb-1"},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=True,
            user=account,
            group=account,
            extra_groups=[] if account else None,
        )
    finally:
        shutil.rmtree(place)
    assert set(seen.stdout.splitlines()) == {f"{file} {way}" for file in ("environ", "mem", "maps")}


def test_every_secret_leaves_the_environment_and_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets = [
        environment_name(name, field) for name, field in Settings.model_fields.items() if "SecretStr" in repr(field)
    ]
    assert len(secrets) >= 8
    for name in secrets:
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("slack_bot_token", "y")
    monkeypatch.setenv("SOUL_NAME", "tess")
    forget_secrets()
    assert not {"slack_bot_token", *secrets} & os.environ.keys()
    assert os.environ["SOUL_NAME"] == "tess"
