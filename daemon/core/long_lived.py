"""Keeps the event loop of the daemon's process from waiting for other threads.

The modules of the daemon are 100,000 objects, those of one vendor's SDK as many again. A full garbage collection that
goes through them all holds every thread for a tenth of a second, again and again, and finds nothing there. And a thread
that computes gives Python's lock away after 5 ms, if left as it is: a read of memory.db, which waits for the lock after
each row, then takes ten times as long as by itself.
"""

import gc
import sys
from typing import Final

_LOCK_S: Final = 0.001  # seconds that one thread may keep Python's lock while others wait for it

_begun = False


def begin() -> None:
    """In the process of the daemon, which has imported most of its modules by now."""
    global _begun  # noqa: PLW0603 - collector and lock are the process's, too
    _begun = True
    sys.setswitchinterval(_LOCK_S)
    gc.freeze()


def imported() -> None:
    """More was imported that stays; safe from any thread. Other processes, such as commands, go on as they are."""
    if _begun:
        gc.freeze()
