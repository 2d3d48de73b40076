"""What can an admin type? The command line `soul`, one module per subcommand, imported when it is called."""

import io
import os
import sys


def main() -> None:
    """Run the command that the arguments name and exit with its code; only the owner may read the files it makes."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal without Unicode shows \u2026 instead of failing
    from daemon.cli.commands import soul

    soul.main(prog_name="soul")
