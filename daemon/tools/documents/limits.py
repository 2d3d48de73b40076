"""The limits of the process that reads a document; it sets them for itself before it looks at the first byte.

They need no rights. A process that may open nothing has no network either: every socket is a file handle.
"""

import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TextIO

MEMORY = 512 << 20
"""Bytes of address space, including Python and its packages (about 100 MB)."""
CPU_SECONDS = 60
"""Seconds of CPU time for one document."""
WALL_SECONDS = 180
"""Seconds until the process ends in any case, on an overloaded machine."""
_GRACE = 5  # seconds to report that the time is up
_MOST_OF_IT = 0.6
_PATIENT = 10  # as `nice` counts
_KILLED_FIRST = "900"  # of 1000: without free memory, the kernel ends this process first


class TimeIsUp(BaseException):
    """CPU_SECONDS or WALL_SECONDS are over. It is no Exception, which a package could swallow."""


def restrain() -> None:
    """Bound memory and time, and forbid writing files and starting processes.

    Raises OSError or ValueError on Linux if a limit can't be set. Other systems lack some limits.
    """
    with suppress(OSError):  # a service may forbid it
        os.nice(_PATIENT)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST, encoding="ascii")
    for number in (signal.SIGXCPU, signal.SIGALRM):
        signal.signal(number, _stop)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    _limit(resource.RLIMIT_AS, MEMORY)
    _limit(resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + _GRACE)
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NPROC):
        _limit(kind, 0)


def open_nothing() -> None:
    """Forbid opening files and sockets from now on. Open ones stay open."""
    _limit(resource.RLIMIT_NOFILE, 0)


class MemoryUse:
    """The part of MEMORY that this process has used. Create it before `open_nothing`."""

    def __init__(self) -> None:
        self._status: TextIO | None = None
        with suppress(OSError):  # only Linux has it
            self._status = Path("/proc/self/status").open(encoding="ascii", errors="replace")  # noqa: SIM115  # for good

    def was_short(self) -> bool:
        """Return True if most memory was used at some time. libxml2 reports a lack of memory as an unknown error."""
        if self._status is None:
            return False
        self._status.seek(0)
        peaks = (int(line.split()[1]) for line in self._status if line.startswith("VmPeak:"))
        return 1024 * next(peaks, 0) > _MOST_OF_IT * MEMORY


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    for one in (signal.SIGXCPU, signal.SIGALRM):
        signal.signal(one, signal.SIG_IGN)  # one signal is enough; the kernel ends the process after the grace
    raise TimeIsUp


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    try:
        resource.setrlimit(kind, (soft, soft if hard is None else hard))
    except (OSError, ValueError):
        if sys.platform == "linux":
            raise
