"""The command line `soul`: one file for each subcommand, imported when it is called."""

import io
import os
import sys


def main() -> None:
    """Run the command that the arguments name and exit with its code; everything made by it is its owner's alone."""
    os.umask(0o077)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a poor terminal shows \u2026 instead of stopping us
    from daemon.cli.commands import soul

    soul.main(prog_name="soul")
