"""Checks the machine: Python and the data folder."""

import os
import shutil
import stat
import sys
from pathlib import Path
from typing import Final

from daemon.cli.checks.finding import Finding, fail, ok, warn
from daemon.core.config import Settings
from daemon.core.network import is_loopback
from daemon.core.settings_place import settings_place
from daemon.memory.database.copies import folder_beside

_LEAST_PYTHON: Final = (3, 11)
_NEEDED: Final = 100 * 2**20  # bytes of free space; with less the daemon can't work
_COMFORTABLE: Final = 2**30
_MOUNTS: Final = Path("/proc/self/mounts")
_NOT_ONE_HOST: Final = frozenset(
    {"9p", "afs", "ceph", "cifs", "glusterfs", "lustre", "ncpfs", "nfs", "nfs4", "overlay", "smb3", "smbfs", "virtiofs"}
)


def python_version() -> Finding:
    """The version of Python."""
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < _LEAST_PYTHON:
        return fail("python", f"Python {version} is too old", "install Python 3.11 or later and reinstall the daemon")
    return ok("python", f"Python {version}")


def data_folder(settings: Settings) -> list[Finding]:
    """Whether the folder exists or can be created, belongs to us alone, and has free space."""
    home = settings.home.absolute()
    if not home.exists():
        above = next(folder for folder in home.parents if folder.exists())
        if not os.access(above, os.W_OK | os.X_OK):
            return [fail("data folder", f"{home} is missing and can't be created", f"sudo install -d -m 700 {home}")]
        return [ok("data folder", f"{home} is missing; `soul run` creates it"), free_space(above)]
    if not home.is_dir():
        return [fail("data folder", f"{home} is not a folder", "set SOUL_HOME to a folder")]
    return [_ownership(home), *_privacy(settings), file_system(home), free_space(home)]


def _ownership(home: Path) -> Finding:
    if not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        return fail("data folder", f"{home} is not ours to read and write", f"sudo chown {os.getuid()} {home}")
    found = home.stat()
    if found.st_uid not in (os.getuid(), 0) and os.getuid() != 0:
        fix = f"sudo chown {os.getuid()} {home}"
        return warn("data folder", f"{home} belongs to another user (uid {found.st_uid})", fix)
    if found.st_mode & stat.S_IWOTH:
        return warn("data folder", f"every user of this machine may write into {home}", f"chmod o-w {home}")
    return ok("data folder", str(home))


def _privacy(settings: Settings) -> list[Finding]:
    """Files with users' words or keys: other users of the machine must not read them, nor write what is read."""
    path = settings.database_path.absolute()
    private = [(path, f"chmod 600 {path}*"), (folder_beside(path), f"chmod -R go= {folder_beside(path)}")]
    files = [
        settings_place().dotenv.absolute(),
        *([settings.mcp_servers.absolute()] if settings.mcp_servers is not None else []),
    ]
    private += [(file, f"chmod 600 {file}") for file in files]
    return [
        warn("privacy", f"other users of this machine may read {one}", fix)
        for one, fix in private
        if one.exists() and one.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    ]


def file_system(folder: Path, mounts: Path = _MOUNTS) -> Finding:
    """SQLite's locks are reliable only on local disks."""
    kind = _kind_of(folder.resolve(), mounts)
    if not kind:
        return ok("file system", "its kind is unknown")
    if kind in _NOT_ONE_HOST or kind.startswith("fuse"):
        found = f"{folder} is on {kind}, where a database can lose committed data"
        return warn(
            "file system", found, "set SOUL_HOME to a folder on a local disk (in a container: a mounted volume)"
        )
    return ok("file system", kind)


def _kind_of(folder: Path, mounts: Path) -> str:
    """The type of the file system that holds a folder; empty when unknown."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found = [line.split(" ") for line in lines]
    points = [(fields[1].replace("\\040", " "), fields[2]) for fields in found if len(fields) > 2]  # noqa: PLR2004  # device, point, kind
    above = [(len(point), order, kind) for order, (point, kind) in enumerate(points) if folder.is_relative_to(point)]
    return max(above)[2] if above else ""


def free_space(folder: Path, needed: int = _NEEDED, comfortable: int = _COMFORTABLE) -> Finding:
    """Free space on the disk; limits in bytes."""
    free = shutil.disk_usage(folder).free
    found = f"{free / 2**30:.1f} GiB free"
    fix = f"free space on the disk that holds {folder}"
    if free < needed:
        return fail("disk", found, fix)
    return warn("disk", found, fix) if free < comfortable else ok("disk", found)


def http_api(settings: Settings) -> list[Finding]:
    """Whether keys and tokens reach the HTTP API unencrypted."""
    if not settings.http or is_loopback(settings.http_host):
        return []
    fix = "set SOUL_HTTP_HOST=127.0.0.1, serve it over https by a proxy, and set SOUL_HTTP_NAMES to the proxy's name"
    return [warn("HTTP API", f"other machines reach it at {settings.http_host} in clear text, with their keys", fix)]
