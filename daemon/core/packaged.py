"""Reads the tables that come with the package."""

import tomllib
from pathlib import Path
from typing import Any, Final

_DAEMON: Final = Path(__file__).parents[1]


def packaged_table(path: str) -> dict[str, Any]:
    """Return a TOML file of the package by its path below `daemon/`, such as `core/sentences.toml`."""
    return tomllib.loads((_DAEMON / path).read_text(encoding="utf-8"))
