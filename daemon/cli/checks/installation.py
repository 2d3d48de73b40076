"""Checks the installed packages: no file that Python runs at each start may be there without belonging to one."""

import importlib.metadata
import site
import sys
from collections.abc import Sequence
from pathlib import Path

from daemon.cli.checks.finding import Finding, ok, warn


def start_files(folders: Sequence[str] | None = None) -> Finding:
    """Whether each `.pth` file (Python runs what it holds at each start) belongs to an installed package."""
    places = [Path(folder) for folder in (site.getsitepackages() if folders is None else folders)]
    there = {path.resolve() for place in places for path in place.glob("*.pth")}
    known = {
        Path(str(one.locate_file(file))).resolve()
        for one in importlib.metadata.distributions(path=[*map(str, places), *sys.path])
        for file in one.files or ()
        if file.suffix == ".pth"
    }
    if unknown := sorted(map(str, there - known)):
        fix = "find out where it comes from; if in doubt, delete .venv and start again: the scripts set it up anew"
        return warn("packages", f"Python runs {', '.join(unknown)} at each start, which is part of no package", fix)
    return ok("packages", "nothing unknown runs when Python starts")
