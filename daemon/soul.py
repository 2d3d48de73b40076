"""Souls are folders of plain text: reads and checks `soul.toml` and `soul.md`, keeps the last good one during edits."""

import errno
import os
import re
import stat
import tomllib
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from daemon.errors import SoulError
from daemon.ports import Emit
from daemon.working_memory import estimate_tokens

MANIFEST = "soul.toml"
PERSONALITY = "soul.md"
SIZE_CAP = 256 * 1024
"""Bytes a soul's file may have."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_DISTRIBUTION = "soul-daemon"
_SHAPE_HINT = "compare it with souls/plain, the smallest complete example"

Word = Annotated[str, Field(min_length=1, max_length=40, pattern=r"^[^\W\d_][\w' -]*$")]
Words = Annotated[tuple[Word, ...], Field(min_length=1, max_length=24, strict=False)]
Tokens = Annotated[int, Field(ge=0, le=100_000)]


class _Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Budgets(_Section):
    """How many tokens, by our own estimate, each part of a prompt may take.

    `message` bounds the message being answered, `turn` any earlier one; `other` a region without a budget of its own.
    """

    personality: Tokens = 1200
    soul_state: Tokens = 100
    person: Tokens = 300
    memories: Tokens = 300
    shared_context: Tokens = 200
    thread: Tokens = 500
    summary: Tokens = 400
    transcript: Tokens = 2200
    turn: Tokens = 700
    message: Tokens = 4000
    other: Tokens = 600

    def of(self, region: str) -> int:
        """The budget of a region."""
        return int(getattr(self, region)) if region in type(self).model_fields else self.other


class Models(_Section):
    """Prefixed model ids that this soul asks for instead of the settings'; empty for the settings' own."""

    persona: str = ""
    thinking: str = ""


class Verbs(_Section):
    """How this soul speaks and thinks, as verbs in the past tense; suggestions for the model, not a closed list."""

    speech: Annotated[tuple[Word, ...], Field(min_length=1, max_length=24, strict=False)] = (
        "said",
        "explained",
        "offered",
    )
    thought: Annotated[tuple[Word, ...], Field(min_length=1, max_length=24, strict=False)] = (
        "thought",
        "mused",
        "pondered",
    )


class Soul(_Section):
    """A soul as its folder tells it; `personality` is the text of soul.md, everything else stands in soul.toml.

    `creativity` gives sampling temperatures by step name in place of the steps' own. `pipeline` is `unified` (one call
    whose tagged answer holds thought and reply) or `split` (one call per step).
    """

    name: str
    display_name: Annotated[str, Field(min_length=1, max_length=80)]
    description: Annotated[str, Field(max_length=500)] = ""
    personality: Annotated[str, Field(min_length=1)]
    pipeline: Literal["unified", "split"] = "unified"
    models: Models = Models()
    budgets: Budgets = Budgets()
    creativity: tuple[tuple[str, float], ...] = ()
    verbs: Verbs = Verbs()
    emotional_states: Words = ("neutral",)
    icon: Annotated[str, Field(max_length=500)] = ""

    @field_validator("creativity", mode="before")
    @classmethod
    def _as_pairs(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        for step, figure in value.items():
            if isinstance(figure, bool) or not isinstance(figure, int | float) or not 0 <= figure <= 1:
                raise ValueError(f"{step} must be a number from 0 to 1")
        return tuple((step, float(figure)) for step, figure in value.items())

    def creativity_of(self, step: str, default: float | None) -> float | None:
        """The soul's own figure for a step, or the step's."""
        return dict(self.creativity).get(step, default)


def load_soul(directory: Path, name: str) -> Soul:
    """Read the soul `name` from a directory of souls. Raises SoulError with every fault, its file, line and field."""
    if not _NAME.fullmatch(name):
        raise SoulError(f"{name!r} can't be a soul's name", hint="use lower-case letters, digits, - and _")
    folder = directory / name
    manifest, personality = _read(directory, folder / MANIFEST), _read(directory, folder / PERSONALITY).strip()
    try:
        data = tomllib.loads(manifest)
    except tomllib.TOMLDecodeError as error:
        raise SoulError(f"{folder / MANIFEST} is not valid TOML: {error}", hint=_SHAPE_HINT) from error
    faults = _misplaced(data, manifest, name)
    soul, more = _checked({**data, "name": name, "personality": personality}, manifest)
    faults += more
    if soul is None or faults:
        raise SoulError(f"the soul in {folder} is not valid: {'; '.join(faults)}", hint=_SHAPE_HINT)
    return soul


def _misplaced(data: Mapping[str, object], manifest: str, name: str) -> list[str]:
    faults = []
    if data.get("name") != name:
        faults.append(f"{_line_of(manifest, ('name',))} name: must be {name!r}, as the folder is called")
    if "personality" in data:
        faults.append(f"{_line_of(manifest, ('personality',))} personality: belongs into {PERSONALITY}")
    return faults


def _checked(data: dict[str, object], manifest: str) -> tuple[Soul | None, list[str]]:
    try:
        soul = Soul.model_validate(data)
    except ValidationError as error:
        return None, [_fault(manifest, fault["loc"], fault["msg"]) for fault in error.errors(include_input=False)]
    size = estimate_tokens(soul.personality)
    if size > soul.budgets.personality:
        allowed = soul.budgets.personality
        return None, [
            f"{PERSONALITY}: has about {size} tokens of {allowed} that budgets.personality in {MANIFEST} allows"
        ]
    return soul, []


def _fault(manifest: str, place: tuple[int | str, ...], message: str) -> str:
    if place == ("personality",):
        return f"{PERSONALITY}: is empty"
    return f"{_line_of(manifest, place)} {'.'.join(map(str, place))}: {message}"


def _line_of(manifest: str, place: tuple[int | str, ...]) -> str:
    """`soul.toml:LINE` of a field, of the section it should stand in, or of the file alone."""
    keys, section, best = [str(part) for part in place if isinstance(part, str)], "", 0
    wanted = ".".join(keys[:-1])
    for number, line in enumerate(manifest.splitlines(), start=1):
        text = line.strip()
        if text.startswith("["):
            section = text.strip("[]")
            if section in (wanted, ".".join(keys)):
                best = number
        elif section == wanted and re.match(rf"['\"]?{re.escape(keys[-1])}['\"]?\s*=", text):
            return f"{MANIFEST}:{number}"
    return f"{MANIFEST}:{best}" if best else MANIFEST


def _read(root: Path, path: Path) -> str:
    """The text of a regular file that really lies inside `root`. Raises SoulError."""
    try:
        if not path.resolve(strict=True).is_relative_to(root.resolve(strict=True)):
            raise SoulError(f"{path} leads out of {root}", hint="put the file itself there, not a link")
        with open(path, "rb", opener=_open_without_waiting) as file:  # Path.open knows no opener
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise SoulError(f"{path} is not a regular file", hint="put a text file there")
            content = file.read(SIZE_CAP + 1)
    except OSError as error:
        if error.errno == errno.EISDIR:
            raise SoulError(f"{path} is not a regular file", hint="put a text file there") from error
        raise SoulError(f"{path} can't be read: {error.strerror or error}", hint=_SHAPE_HINT) from error
    if len(content) > SIZE_CAP:
        raise SoulError(f"{path} has more than {SIZE_CAP // 1024} KiB", hint="a soul's text is a page or two")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SoulError(f"{path}:{line} is not UTF-8", hint="save the file as UTF-8") from error


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # a pipe in the folder must not hang us


class SoulKeeper:
    """Holds the soul in force, follows edits of its files, and keeps the last good one while an edit is broken."""

    def __init__(self, directory: Path, name: str, emit: Emit) -> None:
        """Read the soul once. Raises SoulError, since there is no good one to keep yet."""
        self._directory, self._name, self._emit = directory, name, emit
        self._seen = self._signature()
        self._soul = load_soul(directory, name)
        self._told = ""

    def current(self) -> Soul:
        """The soul as its files tell it now, or the last good one.

        Emits `soul.reloaded` when an edit was taken over and `soul.broken` once for each distinct fault.
        """
        signature = self._signature()
        if signature == self._seen:
            return self._soul
        self._seen = signature
        try:
            self._soul = load_soul(self._directory, self._name)
        except SoulError as error:
            if str(error) != self._told:
                self._told = str(error)
                self._emit("soul.broken", soul=self._name, reason=error.message, hint=error.hint)
            return self._soul
        self._told = ""
        self._emit("soul.reloaded", soul=self._name)
        return self._soul

    def _signature(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_stamp(self._directory / self._name / file) for file in (MANIFEST, PERSONALITY))


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def find_souls_directory(explicit: Path | None, home: Path, name: str) -> Path:
    """The directory that holds the soul `name`: the explicit one, `souls` beside the data, or the ones shipped.

    Raises SoulError that tells where it looked.
    """
    candidates = [explicit] if explicit is not None else [home / "souls", *_shipped()]
    for candidate in candidates:
        if (candidate / name / MANIFEST).is_file():
            return candidate
    looked = ", ".join(str(candidate) for candidate in candidates)
    raise SoulError(f"there is no soul {name!r} in {looked}", hint="set SOUL_NAME, or SOUL_SOULS_DIR to where it lives")


def _shipped() -> list[Path]:
    """Where the souls that come with the product may lie: beside the package, else wherever it was installed to."""
    found = [Path(__file__).resolve().parent.parent / "souls"]
    try:
        files = metadata.files(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        files = []
    installed = [Path(str(file.locate())) for file in files if file.name == MANIFEST]
    return found + sorted({path.resolve().parent.parent for path in installed})
