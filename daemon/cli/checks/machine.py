"""Checks of the machine: Python, its packages, the settings, the data folder and the HTTP API."""

import importlib.metadata
import os
import shutil
import site
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import daemon
from daemon.cli.checks import Finding, Premises, check, fail, named, ok, warn
from daemon.core.config import unknown_settings
from daemon.core.http import is_loopback
from daemon.core.settings_place import HERE, settings_place
from daemon.memory.database.copies import folder_beside

_LEAST_PYTHON: Final = (3, 11)
_NEEDED: Final = 100 * 2**20  # bytes of free space; with less the daemon can't work
_COMFORTABLE: Final = 2**30
_MOUNTS: Final = Path("/proc/self/mounts")
_NOT_ONE_HOST: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "overlay", "smb3", "smbfs", "virtiofs"}
)


def without_settings() -> list[Finding]:
    """Return the findings that need no settings."""
    checks = {"python": python_version, "packages": start_files, "name": namesake}
    return [named(name, look()) for name, look in checks.items()]


def python_version() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _LEAST_PYTHON:
        return fail(f"Python {version} is too old", "install Python 3.11 or later and reinstall the daemon")
    return ok(f"Python {version}")


def start_files(folders: Sequence[str] | None = None) -> Finding:
    """Check that each `.pth` file, which Python runs at each start, belongs to an installed package."""
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
        return warn(f"Python runs {', '.join(unknown)} at each start, which is part of no package", fix)
    return ok("nothing unknown runs when Python starts")


def namesake(folders: Sequence[str] | None = None) -> Finding:
    """Check that Python's path holds no second package called `daemon`, such as python-daemon's."""
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
        return warn(f"{', '.join(sorted(others))} bears the name `daemon` too: either hides the other", fix)
    return ok("no other package is called daemon")


@check("settings")
def settings_in_force(at: Premises) -> Iterator[Finding]:
    """Report every unknown variable, and a log that shows thoughts."""
    notes = unknown_settings()
    for note in notes:
        yield warn(note, "correct or remove it")
    shows_thoughts = at.settings.effective_log_level == "debug"
    if shows_thoughts:
        yield warn("the log shows private thoughts", "remove SOUL_DEBUG and SOUL_LOG_LEVEL=debug")
    if not notes and not shows_thoughts:
        yield ok(f"{len(at.settings.model_fields_set)} set, all others at their defaults")


@check("service")
def whose_settings(_: Premises) -> Iterator[Finding]:
    """Report whose settings the checks use, and the service's keys that this account may not read."""
    place = settings_place()
    if place.unread:
        found = f"{place.folder}; its {', '.join(place.unread)} may be read by root alone, so they count as not set"
        yield warn(found, "run soul doctor with sudo")
    elif place is not HERE:
        yield ok(f"its settings, and its data in {place.folder}")


@check("data folder", quick=True)
def data_folder(at: Premises) -> Finding:
    """Check that the folder exists or can be created, and belongs to us alone."""
    home = at.home
    if not home.exists():
        may_make = os.access(_existing(home), os.W_OK | os.X_OK)
        missing = fail(f"{home} is missing and can't be created", f"sudo install -d -m 700 {home}")
        return ok(f"{home} is missing; `soul run` creates it") if may_make else missing
    return _ownership(home) if home.is_dir() else fail(f"{home} is not a folder", "set SOUL_HOME to a folder")


def _existing(folder: Path) -> Path:
    return next(one for one in (folder, *folder.parents) if one.exists())


def _ownership(home: Path) -> Finding:
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return fail(f"{home} is not ours to read and write", f"sudo chown {os.getuid()} {home}")
    found = home.stat()
    if found.st_uid not in (os.getuid(), 0) and os.getuid() != 0:
        return warn(f"{home} belongs to another user (uid {found.st_uid})", f"sudo chown {os.getuid()} {home}")
    if found.st_mode & stat.S_IWOTH:
        return warn(f"every user of this machine may write into {home}", f"chmod o-w {home}")
    return ok(str(home))


@check("privacy", quick=True)
def privacy(at: Premises) -> Iterator[Finding]:
    """Report files with users' words or keys that other users of the machine may read."""
    backups, servers = folder_beside(at.path), at.settings.mcp_servers
    private = {at.path: f"chmod 600 {at.path}*", backups: f"chmod -R go= {backups}"}
    for file in (settings_place().dotenv.absolute(), *([servers.absolute()] if servers is not None else [])):
        private[file] = f"chmod 600 {file}"
    for one, fix in private.items() if at.home.is_dir() else ():
        if one.exists() and one.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            yield warn(f"other users of this machine may read {one}", fix)


@check("file system", quick=True)
def local_disk(at: Premises) -> list[Finding]:
    return [file_system(at.home)] if at.home.is_dir() else []


def file_system(folder: Path, mounts: Path = _MOUNTS) -> Finding:
    """Check for a local disk: SQLite's locks are reliable only there."""
    kind = _kind_of(folder.resolve(), mounts)
    if not kind:
        return ok("its kind is unknown")
    if kind in _NOT_ONE_HOST or kind.startswith("fuse"):
        found = f"{folder} is on {kind}, where a database can lose committed data"
        return warn(found, "set SOUL_HOME to a folder on a local disk (in a container: a mounted volume)")
    return ok(kind)


def _kind_of(folder: Path, mounts: Path) -> str:
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found = [line.split(" ") for line in lines]
    points = [(fields[1].replace("\\040", " "), fields[2]) for fields in found if len(fields) > 2]  # noqa: PLR2004  # device, point, kind
    above = [(len(point), order, kind) for order, (point, kind) in enumerate(points) if folder.is_relative_to(point)]
    return max(above)[2] if above else ""


@check("disk", quick=True)
def disk(at: Premises) -> list[Finding]:
    there = _existing(at.home)
    return [free_space(there)] if there.is_dir() else []


def free_space(folder: Path, needed: int = _NEEDED, comfortable: int = _COMFORTABLE) -> Finding:
    """Check the free space on the disk; limits in bytes."""
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB free"
    fix = f"free space on the disk that holds {folder}"
    if free < needed:
        return fail(found, fix)
    return warn(found, fix) if free < comfortable else ok(found)


@check("HTTP API", quick=True)
def http_api(at: Premises) -> Iterator[Finding]:
    """Check that keys and tokens don't reach the HTTP API unencrypted."""
    host = at.settings.http_host
    if at.settings.http and not is_loopback(host):
        fix = (
            "set SOUL_HTTP_HOST=127.0.0.1, serve it over https by a proxy, and set SOUL_HTTP_NAMES to the proxy's name"
        )
        yield warn(f"other machines reach it at {host} in clear text, with their keys", fix)
