"""Keeps other programs of the same account out of this process: its memory and its environment hold keys."""

import ctypes
import sys

_PR_SET_DUMPABLE = 4


def close_process() -> bool:
    """Make `/proc` of this process and its memory the superuser's (prctl(2), PR_SET_DUMPABLE); says whether it worked.

    Programs that it starts can be looked into as usual. Only Linux knows this.
    """
    if sys.platform != "linux":
        return False
    return int(ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)) == 0
