"""./scripts/test says with its exit status what its parts found."""

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

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


def test_the_whole_is_green_when_every_part_is_and_fails_with_any(tmp_path: Path) -> None:
    for failing in (None, *PARTS):
        folder = tmp_path / str(failing)
        folder.mkdir()
        assert (_exit_status(folder, failing) == 0) is (failing is None), failing


def test_release_notes_are_the_section_of_one_version(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts/release_notes", tmp_path / "scripts")
    changelog = "# Changelog\n\n## Unreleased\n\n## [0.2.0] - 2026-11-30\n\n### Added\n\n- a\n\n## 0.1.0\n\n- first\n"
    (tmp_path / "CHANGELOG.md").write_text(changelog)

    def notes(*version: str) -> tuple[int, str, str]:
        command = [str(tmp_path / "scripts/release_notes"), *version]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
        return done.returncode, done.stdout, done.stderr

    assert notes("0.2.0") == (0, "### Added\n\n- a\n", "")
    assert notes("0.1.0") == (0, "- first\n", "")
    assert notes() == (1, "", "CHANGELOG.md says nothing of 'Unreleased'\n")
    assert notes("0.2") == (1, "", "CHANGELOG.md says nothing of '0.2'\n")
