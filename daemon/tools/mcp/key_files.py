"""Takes the keys of a server out of files, so that the list of servers itself holds none."""

from pathlib import Path

from daemon.core.config import environment

_KINDS = {"env_files": "env", "header_files": "headers"}


def with_keys(entry: dict[str, object], *, read: bool) -> tuple[dict[str, object], list[str]]:
    """An entry whose `env_files` and `header_files` became values of `env` and `headers`, and what is wrong with them.

    A file is named by its path, or as `name` where systemd gave the service a credential `tools_name`. Without `read`
    the files are left alone, for a look at the list from outside the service.
    """
    entry, problems = dict(entry), list[str]()
    for field, target in _KINDS.items():
        files = entry.pop(field, {})
        values = entry.get(target, {})
        if not isinstance(files, dict) or not isinstance(values, dict):
            problems.append(f"{field}: must be an object of names and files")
            continue
        for name, file in files.items():
            if not isinstance(file, str) or not file:
                problems.append(f"{field}.{name}: must be the name of a file")
            elif read:
                try:
                    values = values | {name: _path(file).read_text(encoding="utf-8").strip()}
                except (OSError, UnicodeDecodeError, RuntimeError) as error:
                    reason = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
                    problems.append(f"{field}.{name}: {_path(file)} can't be read: {(reason or '').lower()}")
        if files and read:
            entry[target] = values
    return entry, problems


def _path(file: str) -> Path:
    if "/" in file:
        return Path(file).expanduser()
    return Path(environment().get("CREDENTIALS_DIRECTORY", "")) / f"tools_{file}"
