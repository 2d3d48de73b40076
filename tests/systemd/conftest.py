"""A checkout whose virtual environment is already there, so that scripts/install runs without the network."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp

import pytest

from daemon.core.value import Value
from tests.fakes import TIMEOUT

REPOSITORY = Path(__file__).parents[2]


class Checkout(Value):
    """A copy of what the installer needs, and a home of its own beside it."""

    code: Path
    home: Path

    @property
    def unit(self) -> Path:
        return self.home / ".config/systemd/user/soul.service"

    @property
    def credentials(self) -> Path:
        return self.home / ".config/soul/credentials"

    @property
    def data(self) -> Path:
        return self.home / ".local/share/soul"

    def install(self, *arguments: str, stdin: str = "", destdir: str = "") -> subprocess.CompletedProcess[str]:
        """Run scripts/install from another folder, as admins do."""
        variables = {"HOME": str(self.home), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "PYTHON": sys.executable}
        return subprocess.run(
            [self.code / "scripts/install", *arguments],
            input=stdin,
            env=variables | ({"DESTDIR": destdir} if destdir else {}),
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )


@pytest.fixture
def checkout() -> Iterator[Checkout]:
    """Under /tmp rather than pytest's own folder, which other accounts can't enter."""
    root = Path(mkdtemp(prefix="soul-"))
    root.chmod(0o755)
    code, home = root / "code", root / "home"
    home.mkdir()
    for folder in ("scripts", "systemd", "locks"):
        shutil.copytree(REPOSITORY / folder, code / folder)
    shutil.copy(REPOSITORY / "pyproject.toml", code)
    named = (REPOSITORY / "pyproject.toml", *sorted((REPOSITORY / "locks").glob("*.txt")))
    pinned = b"".join(path.read_bytes() for path in named)
    programs = code / ".venv/bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)
    (programs / "soul").write_text("#!/bin/sh\n")
    (programs / "soul").chmod(0o755)
    (code / ".venv/.installed-run").write_text(f"{hashlib.sha256(pinned).hexdigest()}  -\n")
    yield Checkout(code, home)
    shutil.rmtree(root)
