"""The installed service: its systemd unit, installation, control, journal, and settings."""

import datetime as dt
import json
import os
import pwd
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import click
from dotenv import dotenv_values

import daemon
from daemon.channels.terminal import printable
from daemon.core.config import environment
from daemon.core.errors import ConfigError
from daemon.core.settings_place import SettingsPlace
from daemon.core.telemetry import Severity
from daemon.core.value import Value

SYSTEM_UNITS: Final = (Path("/etc/systemd/system/soul.service"), Path("/usr/lib/systemd/system/soul.service"))
_NAME: Final = "soul.service"


def user_unit() -> Path:
    """Return the path of the user's own unit, which may not exist."""
    variables = environment()
    config = Path(variables.get("XDG_CONFIG_HOME") or Path(variables.get("HOME", "/")) / ".config")
    return config / "systemd/user" / _NAME


def installed_units() -> tuple["ServiceUnit", ...]:
    """Return the existing units: a user's, then the server's."""
    here = [path for path in (user_unit(), *SYSTEM_UNITS) if os.access(path, os.R_OK)]
    return tuple(map(ServiceUnit, here))


class ServiceUnit:
    """The lines of a unit and of the files in its `.d` folder. Later lines win."""

    def __init__(self, path: Path) -> None:
        self.path = path
        files = [path, *sorted(path.with_name(f"{path.name}.d").glob("*.conf"))]
        text = "\n".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
        self._pairs = re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)

    @property
    def of_the_system(self) -> bool:
        return self.path != user_unit()

    @property
    def account(self) -> str:
        return self.last("User") or "root"

    @property
    def program(self) -> str:
        return next(iter(shlex.split(self.last("ExecStart"))), "")

    @property
    def folder(self) -> Path:
        return Path(self._expanded(self.last("WorkingDirectory") or "/"))

    @property
    def data(self) -> Path:
        return Path(self.variables().get("SOUL_HOME") or self.folder)

    def last(self, name: str) -> str:
        """Return the effective value of a line that may occur once."""
        return next((value.strip() for key, value in reversed(self._pairs) if key == name), "")

    def all(self, *names: str) -> tuple[str, ...]:
        """Return the values of lines that may occur several times. An empty value removes those before it."""
        values: list[str] = []
        for key, value in self._pairs:
            if key in names:
                values = [*values, value.strip()] if value.strip() else []
        return tuple(values)

    def variables(self) -> dict[str, str]:
        """Return the variables of `Environment=` and `EnvironmentFile=`. An unreadable file sets nothing."""
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
        """Return the values of its credentials by name, and the names of those that this account may not read."""
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


_INSTALLING_S: Final = 1_800.0  # it may fetch all packages first
_CONTROL_S: Final = 180.0  # a start waits for Slack
_LONGEST_COMPLAINT: Final = 300


def checkout() -> Path:
    """Return the folder of this program and its scripts. Raises ConfigError if it came as a package alone."""
    folder = Path(daemon.__file__).absolute().parents[1]
    if not (folder / "scripts/install").is_file():
        hint = "clone the repository and run ./scripts/install there, or use the container; see README.md"
        raise ConfigError(f"there is no scripts/install in {folder}: this program came as a package", hint=hint)
    return folder


def install(arguments: Sequence[str], tokens: str) -> str:
    """Run scripts/install with tokens on its standard input. Return its output. Raises ConfigError."""
    command = [str(checkout() / "scripts/install"), *arguments, "--tokens", "-"]
    done = _run(command, _INSTALLING_S, given=tokens)
    if done.returncode:
        raise ConfigError(_complaint(done) or "scripts/install failed", hint="run ./scripts/install to see it all")
    return done.stdout


def control(unit: ServiceUnit, *arguments: str) -> None:
    """Send a command, e.g. to restart, to the service manager of a unit. Raises ConfigError when it refuses."""
    program = shutil.which("systemctl")
    if program is None:
        raise ConfigError("there is no systemctl on this machine", hint="restart the daemon as you started it")
    done = _run([program, *([] if unit.of_the_system else ["--user"]), *arguments], _CONTROL_S)
    if done.returncode:
        typed = " ".join(("systemctl", *([] if unit.of_the_system else ["--user"]), *arguments))
        raise ConfigError(f"{typed} failed: {_complaint(done)}", hint="see `soul logs`")


def is_active(unit: ServiceUnit) -> bool:
    """Return true if the service manager reports that the service runs. False without a service manager."""
    program = shutil.which("systemctl")
    if program is None:
        return False
    asked = [program, *([] if unit.of_the_system else ["--user"]), "is-active", "--quiet", unit.path.name]
    return _run(asked, _CONTROL_S).returncode == 0


def _run(command: list[str], limit_s: float, given: str = "") -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603  # fixed programs and arguments of our own, without a shell
            command, input=given, capture_output=True, text=True, errors="replace", timeout=limit_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"{command[0]} did not end well: {type(error).__name__}", hint="try it by hand") from None


def _complaint(done: subprocess.CompletedProcess[str]) -> str:
    return (done.stderr.strip() or done.stdout.strip())[-_LONGEST_COMPLAINT:]


_WAIT_S: Final = 10.0


class LogEntry(Value):
    """A line of the log: its time (ms), severity and text. `fields` are the pairs of an event."""

    at_ms: int
    severity: Severity
    text: str
    fields: dict[str, str]

    def __str__(self) -> str:
        moment = dt.datetime.fromtimestamp(self.at_ms / 1000, dt.UTC).isoformat(timespec="milliseconds")
        return f"{moment.removesuffix('+00:00')}Z {self.severity.name.lower()} {self.text}"


@contextmanager
def journal_of(unit: ServiceUnit, since_ms: int, *, follow: bool) -> Iterator[Iterator[LogEntry]]:
    """Yield the entries of a service's log since a time, oldest first. With `follow` also those to come.

    Raises ConfigError if there is no journalctl, and if the journal may not be read.
    """
    program = shutil.which("journalctl")
    if program is None:
        raise ConfigError("there is no journalctl on this machine", hint="read the log where systemd writes it")
    where = ["--unit"] if unit.of_the_system else ["--user", "--unit"]
    command = [program, *where, unit.path.name, "--output=json", "--no-pager", f"--since=@{since_ms // 1000}"]
    reader = subprocess.Popen(  # noqa: S603  # a fixed program and bounded arguments, without a shell
        [*command, "--follow", "--no-tail"] if follow else command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
    )
    assert reader.stdout is not None
    assert reader.stderr is not None
    try:
        yield _entries(reader.stdout)
        complaint = reader.stderr.read().strip()
        if reader.wait(_WAIT_S):
            raise ConfigError(f"journalctl: {complaint[:_LONGEST_COMPLAINT]}", hint=f"sudo {unit.program} logs")
    finally:
        reader.stdout.close()  # what still writes ends by that, even if it may not be signalled
        reader.stderr.close()
        _end(reader)


def _end(reader: subprocess.Popen[str]) -> None:
    if reader.poll() is None:
        try:
            reader.terminate()
            reader.wait(_WAIT_S)
        except (PermissionError, subprocess.TimeoutExpired):
            return  # root's program, after this process became the service's account: its next line ends it


def _entries(lines: Iterator[str]) -> Iterator[LogEntry]:
    for line in lines:
        try:
            found = json.loads(line)
            text, at_ms = _text(found["MESSAGE"]), int(found["__REALTIME_TIMESTAMP"]) // 1000
            severity = Severity(min(max(int(found.get("PRIORITY", 6)), Severity.ERROR), Severity.DEBUG))
        except (ValueError, KeyError, TypeError):
            continue  # an entry without words
        yield LogEntry(at_ms, severity, text, fields_in(text))


def _text(message: object) -> str:
    """Decode a message: the journal gives bytes as numbers if they are no plain text."""
    return bytes(message).decode("utf-8", "replace") if isinstance(message, list) else str(message)


def fields_in(line: str) -> dict[str, str]:
    """Return the `key=value` pairs of an event's line. Empty for any other line."""
    found, rest = dict[str, str](), line
    while rest:
        name, equals, rest = rest.partition("=")
        if not equals or " " in name:
            break
        value, rest = _value(rest)
        found[name] = value
    return found if "event" in found else {}


def _value(text: str) -> tuple[str, str]:
    if not text.startswith('"'):
        value, _, rest = text.partition(" ")
        return value, rest
    value, at = "", 1
    while at < len(text) and text[at] != '"':
        at += text[at] == "\\"
        value += text[at : at + 1]
        at += 1
    return value, text[at + 2 :]


def service_here() -> ServiceUnit | None:
    """Return the installed service for a command in this folder. None if the folder or SOUL_HOME has its own data.

    Raises ConfigError if there are two.
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
    """Return the settings of the command's service, named on stderr; None without one.

    Root becomes the service's account: no file of the service ends up as root's. Raises ConfigError if there are two
    services, and if this account may not read the data.
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
    return ConfigError(
        f"the service in {unit.path} has its data in {unit.data}, which the account {unit.account} alone may read",
        hint=f"sudo {unit.program} {command or '…'}",
    )


def _same(one: Path, other: Path) -> bool:
    return one.absolute() == other or os.path.realpath(one) == os.path.realpath(other)


def _become(account: str) -> None:
    """Take over an account's rights for good. Raises ConfigError if there is no such account."""
    try:
        found = pwd.getpwnam(account)
    except KeyError:
        raise ConfigError(f"the service runs as {account}, which is no account here", hint="scripts/install") from None
    if found.pw_uid == 0:
        return
    os.initgroups(account, found.pw_gid)
    os.setgid(found.pw_gid)
    os.setuid(found.pw_uid)
