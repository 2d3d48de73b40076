"""Further sources of settings, the variable of each setting, and the wording of faults."""

import difflib
import os
import stat
from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dotenv import dotenv_values
from pydantic import AliasChoices
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from daemon.core.errors import ConfigError
from daemon.core.settings_place import settings_place
from daemon.core.value import Value

_SENTENCES = {
    "int_parsing": "must be a whole number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_parsing": "must be true or false",
    "greater_than": "must be more than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than": "must be less than {lt:g}",
    "less_than_equal": "must be at most {le:g}",
    "string_unicode": "must be text in UTF-8",
    "literal_error": "must be {expected}",
    "value_error": "{error}",
}
_LONGEST_ECHO = 20  # a longer value may be a key pasted into the wrong line and is not shown


def environment_name(field_name: str, field: FieldInfo) -> str:
    """Return the variable that sets a field, e.g. SLACK_BOT_TOKEN or SOUL_NAME."""
    alias = field.validation_alias
    return str(alias.choices[0]) if isinstance(alias, AliasChoices) else f"SOUL_{field_name.upper()}"


def credential_name(variable: str) -> str:
    """Return the file name of a variable's value among a service's credentials."""
    return variable.lower().replace("_", "-")


class Unreadable(Value):
    """The value of an unreadable file, reported together with all other faults."""

    reason: str


class FileSource(PydanticBaseSettingsSource):
    """The source of values in files: `$CREDENTIALS_DIRECTORY/slack-bot-token`, then `SLACK_BOT_TOKEN_FILE=/path`.

    `read` holds credentials of a service that were read already, by file name.
    """

    def __init__(
        self,
        settings_cls: type[BaseSettings],
        variables: Mapping[str, str],
        *,
        credentials: str = "",
        read: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(settings_cls)
        self._variables = variables
        self._credentials = credentials
        self._read = read

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        name = environment_name(field_name, field)
        contents = (_content(path) for path in self._candidates(name))
        known = self._read.get(credential_name(name))
        return known or next((value for value in contents if value), None), name, False

    def _candidates(self, name: str) -> list[Path]:
        credential = Path(self._credentials) / credential_name(name)
        found = [credential] if self._credentials and credential.exists() else []
        if explicit := self._variables.get(f"{name}_FILE"):
            found.append(Path(explicit))
        return found

    def __call__(self) -> dict[str, Any]:
        values = {}
        for field_name, field in self.settings_cls.model_fields.items():
            value, key, _ = self.get_field_value(field, field_name)
            if value is not None:
                values[key if field.validation_alias else field_name] = value
        return values


class EmptySource(PydanticBaseSettingsSource):
    """The source of those `fields` that are set to an empty value. Any other empty variable counts as unset."""

    def __init__(self, settings_cls: type[BaseSettings], variables: Mapping[str, str], fields: Collection[str]) -> None:
        super().__init__(settings_cls)
        self._variables = variables
        self._fields = fields

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:
        name = environment_name(field_name, field)
        said = field_name in self._fields and self._variables.get(name) == ""
        return "" if said else None, name, False

    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(self.settings_cls.model_fields[name], name)[0] for name in self._fields}
        return {name: value for name, value in found.items() if value is not None}


def read_dotenv() -> dict[str, str]:
    """Return the variables of `.env`, empty if there is no such file.

    Raises ConfigError when the file can't be read, or when another user could have written it.
    """
    dotenv = settings_place().dotenv
    if fault := written_by_others(dotenv):
        hint = f"make it yours alone, if you know what it holds: chown {os.geteuid()} {dotenv} && chmod 600 {dotenv}"
        raise ConfigError(
            f".env in {dotenv.parent.absolute()} {fault}, so that its settings can't be trusted", hint=hint
        )
    try:
        return {name: value or "" for name, value in dotenv_values(dotenv, encoding="utf-8").items()}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f".env {_why(error)}", hint="it must be a text file in UTF-8 that the daemon may read"
        ) from None


def written_by_others(path: Path) -> str:
    """Return a clause on how another user could have written the file. Empty if none could, or without a file."""
    try:
        found = path.stat()
    except OSError:
        return ""
    if found.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (uid {found.st_uid})"
    own_group = found.st_gid in (os.getegid(), 0)  # many systems give each user a group alone
    if found.st_mode & stat.S_IWOTH or (found.st_mode & stat.S_IWGRP and not own_group):
        return "may be written by other users"
    return ""


def did_you_mean(name: str, known: Collection[str]) -> str:
    """Return a question that names a similar known name, or the name without our prefix. Empty if there is none."""
    bare = name.removeprefix("SOUL_")
    near = [bare] if bare in known else difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.75)
    return f"; did you mean {near[0]}?" if near else ""


def sentence(fault: Mapping[str, Any], fields: Mapping[str, FieldInfo]) -> str:
    """Return a pydantic fault as a sentence that begins with the variable."""
    place = str(fault["loc"][0])
    variable = environment_name(place, fields[place]) if place in fields else place
    context = {**fault.get("ctx", {})}
    context |= {"expected": context["expected"].replace("'", "")} if "expected" in context else {}
    fault_text = _SENTENCES.get(fault["type"], "can't be used").format(**context)
    given = fault["input"]
    echo = f", not {given!r}" if isinstance(given, str) and len(given) <= _LONGEST_ECHO else ""
    return f"{variable} {fault_text}{echo}"


def _content(path: Path) -> str | Unreadable:
    try:
        return path.expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError, RuntimeError) as error:
        return Unreadable(f"names the file {path}, which {_why(error)}")


def _why(error: OSError | UnicodeDecodeError | RuntimeError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "is not text in UTF-8"
    return f"can't be read: {((isinstance(error, OSError) and error.strerror) or str(error)).lower()}"
