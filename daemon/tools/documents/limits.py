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
"""Bytes of address space, Python and its packages among them (about 100 MB)."""
CPU_SECONDS = 60
"""Seconds of work on one document."""
WALL_SECONDS = 180
"""Seconds until it ends in any case, on a machine that has no time for it."""
_GRACE = 5  # seconds to say that its time is up
_MOST_OF_IT = 0.6
_PATIENT = 10  # as `nice` counts
_KILLED_FIRST = "900"  # of 1000: where memory runs out, the kernel ends this process first


class TimeIsUp(BaseException):
    """CPU_SECONDS or WALL_SECONDS are over. No Exception, so that no package swallows it."""


def restrain() -> None:
    """Bound memory and time, and allow neither files to be written nor processes to be started.

    Raises OSError or ValueError on Linux when a limit can't be set; elsewhere not every limit is known.
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
    """From here on no file and no socket can be opened; what is open stays so."""
    _limit(resource.RLIMIT_NOFILE, 0)


class MemoryUse:
    """How much of MEMORY this process has used; made before nothing can be opened any more."""

    def __init__(self) -> None:
        self._status: TextIO | None = None
        with suppress(OSError):  # only Linux has it
            self._status = Path("/proc/self/status").open(encoding="ascii", errors="replace")  # noqa: SIM115  # for good

    def was_short(self) -> bool:
        """Whether most of it was used at some time: libxml2 calls it an unknown error when it gets no more."""
        if self._status is None:
            return False
        self._status.seek(0)
        peaks = (int(line.split()[1]) for line in self._status if line.startswith("VmPeak:"))
        return 1024 * next(peaks, 0) > _MOST_OF_IT * MEMORY


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    for one in (signal.SIGXCPU, signal.SIGALRM):
        signal.signal(one, signal.SIG_IGN)  # once is enough; the kernel ends it after the grace
    raise TimeIsUp


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    try:
        resource.setrlimit(kind, (soft, soft if hard is None else hard))
    except (OSError, ValueError):
        if sys.platform == "linux":
            raise
