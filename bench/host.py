"""The machine, and the memory and processor time of a process (Linux: /proc)."""

import os
import platform
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from daemon.memory.database.sqlite import sqlite3

_PACKAGES: Final = ("slack-bolt", "slack-sdk", "aiohttp", "aiosqlite", "pydantic")
_MIB: Final = 1024.0


def resident_mib(pid: int) -> float:
    """Resident memory in MiB; NaN where there is no /proc."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return float("nan")
    return next((int(line.split()[1]) / _MIB for line in lines if line.startswith("VmRSS:")), float("nan"))


def cpu_seconds(pid: int) -> float:
    """Processor time used so far, in seconds; NaN where there is no /proc."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except OSError:
        return float("nan")
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def described() -> dict[str, str]:
    """Date, cores and versions, to stand beside the figures."""
    return {
        "date": datetime.now(UTC).date().isoformat(),  # noqa: TID251  # the date of a report, not the time of a record
        "system": f"{platform.system()} {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        "python": sys.version.split()[0],
        "sqlite": sqlite3.sqlite_version,
        **{name: version(name) for name in _PACKAGES},
    }
