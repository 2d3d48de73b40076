"""Protection of this process's memory and environment, which hold keys, from other programs of its account."""

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def close_process() -> bool:
    """Hide `/proc` and the memory of this process from all users but root (prctl(2), PR_SET_DUMPABLE).

    Return true if that worked; only Linux can. Programs started by this process are not hidden.
    """
    if sys.platform != "linux":
        return False
    return int(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)) == 0
