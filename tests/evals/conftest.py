"""Every test here works in an empty folder, with no setting of a developer's own and so with no key of theirs."""

import os
import tempfile
from pathlib import Path

import pytest

from daemon.core.config import Settings
from daemon.core.config.sources import environment_name


@pytest.fixture(autouse=True)
def _no_settings_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = {environment_name(name, field) for name, field in Settings.model_fields.items()}
    for name in names & os.environ.keys():
        monkeypatch.delenv(name)
