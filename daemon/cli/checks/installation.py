"""Checks the installed packages: no file that Python runs at each start without belonging to one, and no namesake."""

import importlib.metadata
import site
import sys
from collections.abc import Sequence
from pathlib import Path

import daemon
from daemon.cli.checks.finding import Finding, ok, warn


def start_files(folders: Sequence[str] | None = None) -> Finding:
    """Whether each `.pth` file (Python runs what it holds at each start) belongs to an installed package."""
    places = [Path(folder) for folder in (site.getsitepackages() if folders is None else folders)]
    there = {path.resolve() for place in places for path in place.glob("*.pth")}
    known = {
        Path(str(one.locate_file(file))).resolve()
        for one in importlib.metadata.distributions(path=[*map(str, places), *sys.path])
        if ".pth"
        in (one.read_text("RECORD") or one.read_text("installed-files.txt") or "")  # most have none, and long lists
        for file in one.files or ()
        if file.suffix == ".pth"
    }
    if unknown := sorted(map(str, there - known)):
        fix = "find out where it comes from; if in doubt, delete .venv and start again: the scripts set it up anew"
        return warn("packages", f"Python runs {', '.join(unknown)} at each start, which is part of no package", fix)
    return ok("packages", "nothing unknown runs when Python starts")


def namesake(folders: Sequence[str] | None = None) -> Finding:
    """Whether another package called `daemon`, such as python-daemon's, is where Python looks for ours."""
    places = [Path(folder) for folder in (sys.path if folders is None else folders)]
    ours = Path(daemon.__file__).parent
    found = [place / name for place in places for name in ("daemon/__init__.py", "daemon.py")]
    others = {str(path) for path in found if path.is_file() and path.parent.resolve() != ours.resolve()}
    others |= {
        f"the package {one.name}"
        for one in importlib.metadata.distributions(path=[*map(str, places)])
        if "daemon" in (one.read_text("top_level.txt") or "").split() and one.name != "soul-daemon"
    }
    if others:
        fix = "keep the daemon in a virtual environment of its own, as the scripts do, or uninstall the other package"
        return warn("name", f"{', '.join(sorted(others))} bears the name `daemon` too: either hides the other", fix)
    return ok("name", "no other package is called daemon")
