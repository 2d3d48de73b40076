"""What can an admin type? The command line `soul`, one module per subcommand, imported when it is called."""

import gc
import io
import logging
import os
import sys
import threading
from contextlib import suppress


def main() -> None:
    """Run the command of the arguments and exit with its code. New files are readable by the owner alone."""
    os.umask(0o077)
    os.environ["PYDANTIC_DISABLE_PLUGINS"] = "1"  # noqa: TID251  # else it reads the metadata of every package
    gc.set_threshold(50_000, 20, 100)
    gc.disable()  # imports make many objects and no garbage; on again as the command begins
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode shows \u2026 instead of failing
    from daemon.cli.commands import soul

    try:
        soul.main(prog_name="soul")
    except SystemExit as ended:
        if isinstance(ended.code, int) and any(thread.daemon for thread in threading.enumerate()):
            _leave(ended.code)
        raise


def _leave(code: int) -> None:
    """End the process at once: Python aborts (SIGABRT) if a thread is in native code while the interpreter is freed."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # the reader is gone, or the disk is full
            stream.flush()
    os._exit(code)
