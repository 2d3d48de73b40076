"""Reading the files of an untrusted passport: only small, well-formed plain files are accepted."""

import hashlib
import json
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from daemon.core.errors import StoreError
from daemon.core.text import storable, visible_line
from daemon.memory.mirror_folders import FOLDER, MANIFEST
from daemon.memory.passport.beside_forms import named_id
from daemon.memory.passport.forms import (
    FORMS,
    AnyForm,
    CoreForm,
    EpisodeForm,
    FactForm,
    JournalForm,
    SenseForm,
    SessionForm,
    SphereForm,
    TurnLLMForm,
    TurnUserForm,
)
from daemon.memory.passport.names import SUFFIX, PassportKind, is_id
from daemon.memory.records import JSONObject

LARGEST: Final = 2 * 2**20
"""The size in bytes of the largest accepted file."""

_DEEPEST: Final = 8
_MOST: Final = 2_000_000
_DEEPEST_JSON: Final = 40
_LONGEST_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class RefusedFile:
    """A file that is not loaded: its path within the passport, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A file as it was read.

    A fact without an id gets one made of its content. `file` is the path within the passport, `path` its visible form,
    `digest` the SHA-256 of its bytes.
    """

    file: str
    path: str
    digest: bytes
    id: str
    kind: PassportKind
    form: AnyForm
    original: JSONObject


class _Refused(Exception):
    """An error with the reason for a file's refusal."""


def read_passport(folder: Path) -> Iterator[Loaded | RefusedFile]:
    """Yield the files of a passport in the order of their paths, each read or refused.

    Reads the folder `memory` inside it if there is one, else the folder itself. Raises StoreError if there is no such
    folder.
    """
    root = root_of(folder)
    for number, (path, entry) in enumerate(_walk(root, f"{FOLDER}/" if root != folder else "", _DEEPEST)):
        if number >= _MOST:
            raise StoreError(f"{folder} holds more than {_MOST} files", hint="bring it in by parts")
        yield _read(path, entry)


def root_of(folder: Path) -> Path:
    """Return the folder with a passport's files. Raises StoreError if there is no such folder."""
    root = folder / FOLDER if (folder / FOLDER).is_dir() and not (folder / FOLDER).is_symlink() else folder
    if not root.is_dir():
        raise StoreError(f"{folder} is no folder", hint="name the folder that `soul memory passport export` wrote")
    return root


def plain_bytes(path: str | Path, most: int = LARGEST) -> bytes:
    """Return the bytes of a plain file of at most that size. Raises OSError, and ValueError with the reason."""
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is no plain file")
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return content


def _walk(folder: Path, prefix: str, depth: int) -> Iterator[tuple[str, os.DirEntry[str] | RefusedFile]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda one: one.name)
    except OSError as error:
        yield prefix, RefusedFile(named(prefix), f"it can't be read: {error.strerror}")
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if entry.is_symlink():
            yield path, RefusedFile(named(path), "it is a link")
        elif entry.is_dir(follow_symlinks=False):
            if depth:
                yield from _walk(Path(entry.path), f"{path}/", depth - 1)
            else:
                yield path, RefusedFile(named(path), "it lies too deep")
        elif entry.name.endswith(SUFFIX) and not entry.name.startswith(".") and path != MANIFEST:
            yield path, entry


def read_again(folder: Path, file: str) -> Loaded | RefusedFile:
    """Read a file of a passport again, by its path within the passport."""
    return _load(file, str(folder / file))


def _read(path: str, entry: os.DirEntry[str] | RefusedFile) -> Loaded | RefusedFile:
    return entry if isinstance(entry, RefusedFile) else _load(path, entry.path)


def _load(path: str, place: str) -> Loaded | RefusedFile:
    try:
        return _loaded(path, plain_bytes(place))
    except _Refused as error:
        return RefusedFile(named(path), str(error))
    except OSError as error:
        return RefusedFile(named(path), f"it can't be read: {error.strerror}")
    except ValueError as error:
        return RefusedFile(named(path), str(error))


def _loaded(path: str, content: bytes) -> Loaded:
    original = _object(content)
    kind = _kind_of(original)
    try:
        form = FORMS[kind].model_validate_json(json.dumps({**original, "type": kind}))
    except ValidationError as error:
        raise _Refused(f"it is no {kind}: {_faults(error)}") from None
    name = _id_of(form, Path(path).stem)
    if not is_id(kind, name):
        raise _Refused("its id is none of its kind")
    return Loaded(path, named(path), hashlib.sha256(content).digest(), name, kind, form, original)


def _object(content: bytes) -> JSONObject:
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except UnicodeDecodeError:
        raise _Refused("it is no UTF-8") from None
    except RecursionError:
        raise _Refused("it is nested too deep") from None
    except ValueError as error:
        raise _Refused(f"it is no JSON: {visible_line(str(error))[:80]}") from None
    if not isinstance(value, dict):
        raise _Refused("it is no JSON object")
    _require_storable(value, _DEEPEST_JSON)
    return value


def _require_storable(value: object, depth: int) -> None:
    if not depth:
        raise _Refused("it is nested too deep")
    if isinstance(value, str):
        if storable(value) != value or "\x00" in value:
            raise _Refused("it holds text that can't be stored")
    elif isinstance(value, dict):
        for name, inner in value.items():
            _require_storable(name, depth)
            _require_storable(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _require_storable(inner, depth - 1)


def _kind_of(original: JSONObject) -> PassportKind:
    """Return a file's kind by its type, or by its fields as in the samples of seed 004."""
    named = original.get("type")
    if named is not None:
        if not isinstance(named, str) or named not in frozenset(PassportKind):
            raise _Refused("it has a type that no memory has")
        return PassportKind(named)
    if "turn_id" in original:
        return PassportKind.TURN_LLM if original.get("speaker") == "llm" else PassportKind.TURN_USER
    for field, kind in (
        ("sensory_id", PassportKind.SENSE),
        ("episode_id", PassportKind.EPISODE),
        ("subject", PassportKind.FACT),
    ):
        if field in original:
            return kind
    raise _Refused("it is no memory: it has neither a type nor an id")


def _id_of(form: AnyForm, file_name: str) -> str:
    match form:
        case EpisodeForm() | CoreForm() | SphereForm():
            return form.episode_id
        case FactForm():
            return form.soul_daemon.id or (file_name if is_id(PassportKind.FACT, file_name) else _made_of(form))
        case SenseForm():
            return form.sensory_id
        case TurnUserForm() | TurnLLMForm():
            return form.turn_id
        case JournalForm():
            return form.journal_id
        case _:
            return form.session_id if isinstance(form, SessionForm) else named_id(form)


def _made_of(fact: FactForm) -> str:
    parts = "\x1f".join((fact.subject, fact.predicate, fact.object))
    return f"sem_{hashlib.sha256(parts.encode()).hexdigest()[:8]}"


def _faults(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [f"{'.'.join(map(str, one['loc']))[:80]}: {one['msg']}" for one in faults[:3]]
    return visible_line("; ".join(shown))


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands there twice")
    return found


def _no_number(_text: str) -> object:
    raise ValueError("a number is none")


def named(path: str) -> str:
    """Return a visible form of a path: bytes that are no text, and controls, are replaced."""
    plain = visible_line(path.encode("utf-8", "replace").decode("utf-8"))
    return plain if len(plain) <= _LONGEST_NAME else f"…{plain[-_LONGEST_NAME:]}"
