"""Finds the service that a command is about when it runs in a folder without settings of its own."""

import os
import pwd
from pathlib import Path

import click

from daemon.channels.terminal import printable
from daemon.cli.unit import ServiceUnit, installed_units
from daemon.core.config import environment
from daemon.core.errors import ConfigError
from daemon.core.settings_place import SettingsPlace


def service_here() -> ServiceUnit | None:
    """The installed service that a command in this folder is about; None where the folder or SOUL_HOME is its own.

    Raises ConfigError where there are two.
    """
    variables, here = environment(), Path.cwd()
    if "CREDENTIALS_DIRECTORY" in variables:
        return None  # a service manager started this process, and gave it its own
    units = installed_units()
    named = variables.get("SOUL_HOME", "")
    if named or (here / ".env").exists() or (here / "memory.db").exists():
        data = Path(named).expanduser().absolute() if named else here
        return next((unit for unit in units if _same(unit.data, data)), None)
    if len({unit.data for unit in units}) > 1:
        both = " and ".join(f"{unit.path} with its data in {unit.data}" for unit in units)
        raise ConfigError(
            f"several services are installed: {both}", hint=f"say which: SOUL_HOME={units[0].data} soul …"
        )
    return units[0] if units else None


def place_of_service() -> SettingsPlace | None:
    """The settings of the service that a command is about, which is said on stderr; None without one.

    The superuser becomes the service's account, so that no file of the service ends up as root's. Raises ConfigError
    where there are two services, and where this account may not read the data.
    """
    unit = service_here()
    if unit is None:
        return None
    values, unread = unit.credentials()
    variables = {"SOUL_HOME": str(unit.data)} | unit.variables()
    if os.geteuid() == 0 and unit.of_the_system:
        _become(unit.account)
    elif unit.data.is_dir() and not os.access(unit.data, os.R_OK | os.W_OK | os.X_OK):
        raise not_allowed(unit, "")
    click.echo(printable(f"Of the service in {unit.path}; its data is in {unit.data}."), err=True)
    start = " ".join(("systemctl", *([] if unit.of_the_system else ["--user"]), "start soul"))
    return SettingsPlace(unit.folder, variables, values, unread, start)


def not_allowed(unit: ServiceUnit, command: str) -> ConfigError:
    """The error for an account that may not act on a service."""
    return ConfigError(
        f"the service in {unit.path} has its data in {unit.data}, which the account {unit.account} alone may read",
        hint=f"sudo {unit.program} {command or '…'}",
    )


def _same(one: Path, other: Path) -> bool:
    return one.absolute() == other or os.path.realpath(one) == os.path.realpath(other)


def _become(account: str) -> None:
    """Take over an account's rights for good. Raises ConfigError where there is no such account."""
    try:
        found = pwd.getpwnam(account)
    except KeyError:
        raise ConfigError(f"the service runs as {account}, which is no account here", hint="scripts/install") from None
    if found.pw_uid == 0:
        return
    os.initgroups(account, found.pw_gid)
    os.setgid(found.pw_gid)
    os.setuid(found.pw_uid)
