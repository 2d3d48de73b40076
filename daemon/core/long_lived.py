"""Spares the event loop full garbage collections of what stays for good.

The modules of the daemon are 100,000 objects, those of one vendor's SDK as many again. A collection that goes through
them all holds every thread for a tenth of a second, again and again, and finds nothing there.
"""

import gc

_begun = False


def begin() -> None:
    """In the process of the daemon, which has imported its modules by now: later collections leave them alone."""
    global _begun  # noqa: PLW0603 - the collector is the process's, too
    _begun = True
    gc.collect()
    gc.freeze()


def imported() -> None:
    """More was imported that stays; safe from any thread. Other processes, such as commands, go on as they are."""
    if _begun:
        gc.freeze()
