"""./scripts/test says with its exit status what its parts found."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT

ROOT = Path(__file__).parents[1]
PARTS = ("ruff", "mypy", "lint-imports", "pytest")


def _exit_status(folder: Path, failing: str | None) -> int:
    """Of scripts/test in a checkout where every part is a program that ends at once."""
    (folder / "scripts").mkdir()
    for script in ("_venv", "test"):
        shutil.copy(ROOT / "scripts" / script, folder / "scripts" / script)
    shutil.copy(ROOT / "pyproject.toml", folder)
    shutil.copytree(ROOT / "locks", folder / "locks")
    named = (ROOT / "pyproject.toml", *sorted((ROOT / "locks").glob("*.txt")))
    pinned = b"".join(path.read_bytes() for path in named)
    binaries = folder / ".venv" / "bin"
    binaries.mkdir(parents=True)
    for name in ("python", *PARTS):
        (binaries / name).write_text(f"#!/bin/sh\nexit {int(name == failing)}\n")
        (binaries / name).chmod(0o755)
    (folder / ".venv" / ".installed-test").write_text(hashlib.sha256(pinned).hexdigest() + "  -\n")
    settings = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [folder / "scripts" / "test"]
    return subprocess.run(command, check=False, env=settings, capture_output=True, timeout=TIMEOUT).returncode


def test_the_whole_is_green_when_every_part_is(tmp_path: Path) -> None:
    assert _exit_status(tmp_path, failing=None) == 0


@pytest.mark.parametrize("part", PARTS)
def test_the_whole_fails_with_any_part(tmp_path: Path, part: str) -> None:
    assert _exit_status(tmp_path, failing=part) != 0
