"""`soul hooks`: joins the sessions of Claude Code on this machine to the soul, for people without its plugin."""

import json
import os
import secrets
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Final

import click

from daemon.cli.output import say
from daemon.cli.settings_json import NotJson, items, members, parsed, with_part, without_part
from daemon.core.errors import ConfigError

SCRIPT: Final = "session_event.py"
EVENTS: Final = (
    *("SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "Notification", "CwdChanged", "PostCompact"),
    "SessionEnd",
)
_NEW: Final = "{\t}\n"  # a file that was not there; in this form it holds nothing of others
_LIMIT_S: Final = 5
_LOOK_S: Final = 10.0

settings_option = click.option(
    "--settings",
    "path",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("~/.claude/settings.json"),
    show_default=True,
    help="The settings of Claude Code.",
)


@click.group("hooks")
def command() -> None:
    """Join the sessions of Claude Code on this machine to the soul: put its hooks into Claude Code's settings."""


@command.command("install")
@settings_option
def install(path: Path) -> None:
    """Put the hooks in; all else in the file stays as it is."""
    path, text = _read(path)
    wanted = _group()
    if text is not None and all(_ours(text).get(event) == [wanted] for event in EVENTS):
        say(f"The hooks are in {path} already.")
        return
    _write(path, _installed(_NEW if text is None else _removed(text), wanted))
    say(f"The hooks are in {path}: sessions that begin from now on join the soul, once there is a key.")


@command.command("uninstall")
@settings_option
def uninstall(path: Path) -> None:
    """Take out what `install` put in, and nothing else."""
    path, text = _read(path)
    if text is None or not _ours(text):
        say(f"There are no hooks of the soul in {path}.")
        return
    left = _removed(text)
    if left == _NEW:
        path.unlink()
    else:
        _write(path, left)
    say(f"The hooks are no longer in {path}.")


@command.command("status")
@settings_option
def status(path: Path) -> None:
    """Show whether the hooks are in, where they report to, and how many events wait to be sent.

    Exit code 1 if something is missing.
    """
    path, text = _read(path)
    there = sorted(_ours(text)) if text is not None else []
    found = _asked_of_script()
    say(f"hooks in {path}: {len(there)} of {len(EVENTS)}")
    say(f"daemon: {found['url']}")
    say(f"key: {'there' if found['key'] else 'none'}")
    say(f"events that wait: {found['kept']}; given up because there were too many: {found['dropped']}")
    if found["fault"]:
        say(f"nothing is sent: {found['fault']}; see docs/SESSIONS.md")
    if len(there) < len(EVENTS):
        say("run `soul hooks install`, unless the plugin is installed")
    if found["fault"] or len(there) < len(EVENTS):
        raise click.exceptions.Exit(1)


def script_path() -> Path:
    """The hook script: beside the package, or where it was installed. Raises ConfigError."""
    beside = Path(__file__).resolve().parents[2] / "hooks" / SCRIPT
    if beside.is_file():
        return beside
    try:
        files = metadata.files("soul-daemon") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name == SCRIPT:
            return Path(str(file.locate())).resolve()
    raise ConfigError(f"{SCRIPT} is not installed", hint="install the package again")


def _group() -> dict[str, object]:
    """The group that stands under each event, as Claude Code asks for it."""
    entry = {
        "type": "command",
        "command": sys.executable,
        "args": ["-I", "-S", str(script_path())],
        "timeout": _LIMIT_S,
    }
    return {"hooks": [entry]}


def _is_ours(group: object) -> bool:
    """Whether a group is one that `install` made, here or from another place."""
    if not isinstance(group, dict) or group.keys() != {"hooks"} or not isinstance(group["hooks"], list):
        return False
    entries = group["hooks"]
    arguments = entries[0].get("args") if len(entries) == 1 and isinstance(entries[0], dict) else None
    if not isinstance(arguments, list) or arguments[:2] != ["-I", "-S"] or len(arguments) != 3:  # noqa: PLR2004
        return False
    return isinstance(arguments[2], str) and Path(arguments[2]).parts[-2:] == ("hooks", SCRIPT)


def _ours(text: str) -> dict[str, list[object]]:
    """Our groups, by event. Raises ConfigError where the file is none that can be read."""
    hooks = parsed(text).get("hooks")
    if hooks is None:
        return {}
    if not isinstance(hooks.value, dict) or not all(isinstance(groups, list) for groups in hooks.value.values()):
        raise NotJson("the `hooks` of the file are no lists by event", hint="mend it first; it was left as it is")
    found = {event: [one for one in groups if _is_ours(one)] for event, groups in hooks.value.items()}
    return {event: groups for event, groups in found.items() if groups}


def _installed(text: str, group: dict[str, object]) -> str:
    """The text of the settings with our groups."""
    top = parsed(text)
    if "hooks" not in top:
        text = with_part(text, text.index("{"), [*top.values()], f'"hooks": {{ {_member(EVENTS[0], group)}}}', "  ")
    for event in EVENTS:
        hooks = parsed(text)["hooks"]
        events = members(text, hooks.start)
        if event not in events:
            text = with_part(text, hooks.start, [*events.values()], _member(event, group), "    ")
        elif event not in _ours(text):
            groups = items(text, events[event].start)
            text = with_part(text, events[event].start, groups, json.dumps(group, ensure_ascii=False), "      ")
    return text


def _member(event: str, group: dict[str, object]) -> str:
    """An event that had no groups; the space after its bracket tells it from a list that was there and empty."""
    return f"{json.dumps(event)}: [ {json.dumps(group, ensure_ascii=False)}]"


def _was_made(text: str, start: int) -> bool:
    """Whether the list or object that begins at `start` was made for our groups."""
    return text[start + 1 : start + 3] in {" {", ' "'}


def _removed(text: str) -> str:
    """The text without our groups."""
    for event in _ours(text):
        while event in _ours(text):
            text = _without_one(text, event)
    return text


def _without_one(text: str, event: str) -> str:
    """The text without one of our groups, and without the list and the object that were made for it alone."""
    top = parsed(text)
    hooks = top["hooks"]
    events = members(text, hooks.start)
    groups = items(text, events[event].start)
    if len(groups) > 1 or not _was_made(text, events[event].start):
        return without_part(text, groups, next(one for one in groups if _is_ours(one.value)))
    if len(events) > 1 or not _was_made(text, hooks.start):
        return without_part(text, [*events.values()], events[event])
    return without_part(text, [*top.values()], hooks)


def _read(path: Path) -> tuple[Path, str | None]:
    """The file that the path leads to and its text, None where there is none. Raises ConfigError."""
    path = path.expanduser().resolve()
    try:
        return path, path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return path, None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} can't be read: {error}", hint="mend it first; it was left as it is") from error


def _write(path: Path, text: str) -> None:
    """Replace the file whole, with the rights that it has. Raises ConfigError."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(text.encode("utf-8"))
        fresh.chmod(mode)
        fresh.replace(path)
    except OSError as error:
        fresh.unlink(missing_ok=True)
        raise ConfigError(f"{path} can't be written: {error.strerror}", hint="see the rights of its folder") from error


def _asked_of_script() -> dict[str, object]:
    """What the hook script says of its settings and of what waits. Raises ConfigError."""
    try:
        done = subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-I", "-S", str(script_path()), "--status"],
            capture_output=True,
            check=False,
            timeout=_LOOK_S,
        )
        found: dict[str, object] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"the hook script does not run: {error}", hint="install the package again") from error
    return found
