"""What is imported stays out of full garbage collections, in the process of the daemon alone."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_DAEMON = """
import asyncio, gc, sys
from pydantic import SecretStr
from daemon.cli import run
from daemon.llm.providers import AnthropicMessages
from daemon.llm.endpoint import Endpoint
from daemon.llm.answers import Vendor

async def run_daemon(settings, announce, doctor):
    began = len(gc.get_objects())
    adapter = AnthropicMessages(Endpoint(Vendor.ANTHROPIC, "http://127.0.0.1:9", SecretStr("key"), "", ""))
    client = await asyncio.to_thread(adapter._prepare)
    print(began, len(gc.get_objects()), "anthropic" in sys.modules)
    await client.close()

run.run_daemon, run.close_process = run_daemon, lambda: None
run.run_command.main([], standalone_mode=False)
"""
_CONNECTED = """
import asyncio, gc, os, signal, sys
from daemon.app import run_daemon
from daemon.core import concurrency as long_lived
from daemon.core.config import load_settings

def announce(line):
    if line.startswith("Connected"):
        print(len(gc.get_objects()), sys.getswitchinterval(), "slack_bolt" in sys.modules)
        os.kill(os.getpid(), signal.SIGTERM)

long_lived.begin()
asyncio.run(run_daemon(load_settings(), announce))
"""
_SHORT = 0.001  # seconds for which a thread keeps Python's lock from others
_A_FEW = 10_000  # objects; the modules are ten times as many, and so are those of the SDK


def _printed(program: str, home: Path) -> list[str]:
    """What a Python of its own prints, in an empty folder and without any setting."""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=home,
        env={"PYTHONPATH": str(ROOT), "SOUL_HOME": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.split()


@pytest.mark.slow
def test_a_full_collection_of_the_daemon_leaves_its_modules_and_the_sdk_alone(tmp_path: Path) -> None:
    began, with_sdk, imported = _printed(_DAEMON, tmp_path)
    assert imported == "True"
    assert int(began) < _A_FEW
    assert int(with_sdk) < _A_FEW
    (tmp_path / ".env").write_text("", encoding="utf-8")
    objects, lock, imported = _printed(_CONNECTED, tmp_path)[-3:]
    assert imported == "True"
    assert int(objects) < _A_FEW
    assert float(lock) <= _SHORT
