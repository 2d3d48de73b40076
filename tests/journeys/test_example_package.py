"""The example package is installed by pip, as its README says, and the doctor loads what it brings."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.journeys.processes import started
from tests.journeys.souls import write_soul

ROOT = Path(__file__).parents[2]
_NAMED = """
[extensions]
actions = ["count"]
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


@pytest.mark.slow
async def test_what_pip_installs_is_named_by_the_doctor(tmp_path: Path) -> None:
    site = await asyncio.to_thread(_install, tmp_path)
    home = tmp_path / "home"
    write_soul(home, more=_NAMED)
    settings = {
        "PYTHONPATH": os.pathsep.join((str(site), str(ROOT))),
        "SOUL_HOME": str(home),
        "SOUL_NAME": "tess",
        "SOUL_PERSONA_MODEL": "extension/parrot/grey",
        "SOUL_EMBEDDER": "none",
    }
    async with started(tmp_path, "doctor", "--offline", "--json", **settings) as doctor:
        await doctor.until("]")
    found = "".join(doctor.lines)
    said = [one["found"] for one in json.loads(found[found.index("[") :])]
    package = "(soul-extras 1.2.0)"
    assert f"Tess is extended by count {package}" in said
    assert "the provider parrot is soul-extras 1.2.0" in said
