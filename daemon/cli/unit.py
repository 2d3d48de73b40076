"""Reads a systemd unit of the daemon, as `scripts/install` writes it, with the files that an admin put beside it."""

import os
import re
import shlex
from pathlib import Path
from typing import Final

from dotenv import dotenv_values

from daemon.core.config import environment

SYSTEM_UNITS: Final = (Path("/etc/systemd/system/soul.service"), Path("/usr/lib/systemd/system/soul.service"))
_NAME: Final = "soul.service"


def user_unit() -> Path:
    """Where the unit of the person is whose service manager runs the daemon, whether it is there or not."""
    variables = environment()
    config = Path(variables.get("XDG_CONFIG_HOME") or Path(variables.get("HOME", "/")) / ".config")
    return config / "systemd/user" / _NAME


def installed_units() -> tuple["ServiceUnit", ...]:
    """The units that are there: a person's, then the server's."""
    here = [path for path in (user_unit(), *SYSTEM_UNITS) if os.access(path, os.R_OK)]
    return tuple(map(ServiceUnit, here))


class ServiceUnit:
    """The lines of a unit and of the files in its `.d` folder; later lines win."""

    def __init__(self, path: Path) -> None:
        self.path = path
        files = [path, *sorted(path.with_name(f"{path.name}.d").glob("*.conf"))]
        text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
        self._pairs = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)

    @property
    def of_the_system(self) -> bool:
        """Whether the machine's service manager runs it rather than a person's."""
        return self.path != user_unit()

    @property
    def account(self) -> str:
        """The name of the account that a service of the system runs under."""
        return self.last("User") or "root"

    @property
    def program(self) -> str:
        """The full path of `soul` in the installation that the service runs; empty if the unit names none."""
        return next(iter(shlex.split(self.last("ExecStart"))), "")

    @property
    def folder(self) -> Path:
        """The working directory, which holds `.env`."""
        return Path(self._expanded(self.last("WorkingDirectory") or "/"))

    @property
    def data(self) -> Path:
        """The data folder."""
        return Path(self.variables().get("SOUL_HOME") or self.folder)

    def last(self, name: str) -> str:
        """The value that counts of a line that may stand there once."""
        return next((value.strip() for key, value in reversed(self._pairs) if key == name), "")

    def all(self, *names: str) -> tuple[str, ...]:
        """The values of lines that may stand there several times; an empty one takes back those before it."""
        values: list[str] = []
        for key, value in self._pairs:
            if key in names:
                values = [*values, value.strip()] if value.strip() else []
        return tuple(values)

    def variables(self) -> dict[str, str]:
        """What `Environment=` and the files of `EnvironmentFile=` set; a file that can't be read sets nothing."""
        found: dict[str, str] = {}
        for line in self.all("Environment"):
            for one in _words(line):
                name, equals, value = one.partition("=")
                if equals:
                    found[name] = self._expanded(value)
        for line in self.all("EnvironmentFile"):
            path = Path(self._expanded(line.removeprefix("-")))
            if os.access(path, os.R_OK):
                found |= {name: value or "" for name, value in dotenv_values(path, interpolate=False).items()}
        return found

    def credentials(self) -> tuple[dict[str, str], tuple[str, ...]]:
        """The values of its credentials by name, and the names of those that this account may not read."""
        values, unread = dict[str, str](), list[str]()
        for line in self.all("LoadCredential"):
            name, _, place = line.partition(":")
            path = Path(self._expanded(place))
            try:
                values[name] = path.read_text(encoding="utf-8").strip()
            except PermissionError:
                unread.append(name)
            except (OSError, UnicodeDecodeError):
                continue  # not there, or a folder with the keys of tools
        return {name: value for name, value in values.items() if value}, tuple(unread)

    def _expanded(self, text: str) -> str:
        return text.replace("%h", environment().get("HOME", "/")).replace("%%", "%")


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:  # an open quotation mark
        return line.split()
