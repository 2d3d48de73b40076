"""The example package is installed by pip, as its README says, and a daemon uses what it brings."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.journeys.processes import started
from tests.journeys.souls import write_soul

ROOT = Path(__file__).parents[2]
_NAMED = """
[extensions]
actions = ["count"]
processes = ["standup"]
steps = ["tide"]
channels = ["lines"]
"""


def _install(folder: Path) -> Path:
    """Install the example with pip, from what is here alone; gives where it is."""
    source, site = folder / "soul-extras", folder / "site"
    shutil.copytree(ROOT / "examples" / "soul-extras", source)  # a build leaves files beside the sources
    offline = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", "--quiet", *offline, "--target", str(site), str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr
    return site


async def _until(holds: Callable[[], bool]) -> None:
    """Look into a folder until something holds; a folder has no events to wait on."""
    async with asyncio.timeout(TIMEOUT):
        while not holds():  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_what_pip_installs_is_named_by_the_doctor_and_answers(tmp_path: Path) -> None:
    site = await asyncio.to_thread(_install, tmp_path)
    home = tmp_path / "home"
    write_soul(home, more=_NAMED)
    settings = {
        "PYTHONPATH": os.pathsep.join((str(site), str(ROOT))),
        "SOUL_HOME": str(home),
        "SOUL_NAME": "tess",
        "SOUL_PERSONA_MODEL": "extension/parrot/grey",
        "SOUL_EMBEDDER": "none",
        "SOUL_WORKSPACE_PORT": "0",
    }
    async with started(tmp_path, "doctor", "--offline", "--json", **settings) as doctor:
        await doctor.until("]")
    found = "".join(doctor.lines)
    said = [one["found"] for one in json.loads(found[found.index("[") :])]
    package = "(soul-extras 1.1.0)"
    assert f"Tess is extended by count {package}, standup {package}, tide {package}" in said
    assert f"strangers reach Tess on the channel lines {package}" in said
    assert "the provider parrot is soul-extras 1.1.0" in said
    waiting = home / "channels" / "tess" / "lines" / "in" / "ada"
    async with started(tmp_path, "run", **settings) as daemon:
        await daemon.until("Connected.")
        await _until(waiting.parent.exists)
        waiting.mkdir()
        (home / "1.txt").write_text("Polly wants a cracker")
        (home / "1.txt").rename(waiting / "1.txt")
        answers = waiting.parents[1] / "out" / "ada"
        await _until(lambda: any(answers.glob("*.txt")))
    assert "Polly wants a cracker" in next(answers.glob("*.txt")).read_text()
