"""A scenario file: its fields, their checks, and the loading of a folder. docs/EVAL.md explains each field."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from datetime import datetime, time, timedelta
from enum import StrEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from daemon.core.errors import ConfigError
from daemon.processes import PROCESSES
from evals.language import Language

FOLDER: Final = Path(__file__).parent / "scenarios"
DOCUMENTS: Final = Path(__file__).parent / "documents"
SIZE_CAP: Final = 64 * 1024
"""Bytes of the largest scenario file."""

LONGEST_WAIT: Final = 30.0
"""Seconds that one turn may wait."""

_HINT: Final = "docs/EVAL.md explains each field; scripts/eval --rehearse plays the scenario's own answers"
_KINDS: Final = ("says", "edits", "deletes", "waits")


class Category(StrEnum):
    """What a check is about; each has a column in the table."""

    FORM = "form"
    LANGUAGE = "language"
    LEADING = "leading"
    DISCRETION = "discretion"
    CITATIONS = "citations"
    WORDS = "words"
    DEEDS = "deeds"


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from None
    return text


def _process(name: str) -> str:
    if name not in PROCESSES:
        raise ValueError(f"there is no state {name!r}; there are {', '.join(sorted(PROCESSES))}")
    return name


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ValueError(f"there is no time zone {name!r}") from None
    return name


Words = Annotated[str, Field(min_length=1, max_length=20_000)]
Name = Annotated[str, Field(min_length=1, max_length=80)]
Pattern = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)]
State = Annotated[str, AfterValidator(_process)]
Zone = Annotated[str, AfterValidator(_zone)]
Place = Annotated[str, Field(pattern=r"^(dm:[\w.-]+|[\w-]+)$")]
"""A channel's name, or `dm:` and the name of the user whose DM with the soul it is."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Person(_Strict):
    """A user besides Ada, Ben, Chloe (members) and Gus (a guest)."""

    name: Name
    standing: Literal["member", "guest"] = "member"
    zone: Zone = "Europe/Athens"


class Room(_Strict):
    """A channel besides #general, #random (public; the soul is not in it) and #founders (private: Ada and Ben)."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9-]{1,40}$")]
    private: bool = False
    members: tuple[Name, ...] = ("ada", "ben", "chloe")


class Contact(_Strict):
    """A person who can act, as `soul.toml` lists them."""

    name: Name
    slack: Annotated[str, Field(pattern=r"^[UCW][A-Z0-9]+$")]
    can: Words


class Setup(_Strict):
    """What is there before the first word. `documents` is a folder in evals/documents, `tools` the stores' server."""

    documents: Annotated[str, Field(pattern=r"^[\w-]*$")] = ""
    tools: bool = False
    people: tuple[Person, ...] = ()
    rooms: tuple[Room, ...] = ()
    contacts: tuple[Contact, ...] = ()
    settings: Mapping[Literal["ISM_ENABLED", "SOUL_VISIT_SILENCE", "SOUL_DORMANT_AFTER"], str] = {}

    @model_validator(mode="after")
    def _documents_exist(self) -> Self:
        if self.documents and not (DOCUMENTS / self.documents).is_dir():
            raise ValueError(f"documents: there is no folder {DOCUMENTS / self.documents}")
        return self


class Reminder(_Strict):
    """A reminder for `at` (HH:MM) in `zone`, so many `days` from today there, give or take `within` minutes."""

    at: Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")]
    days: Annotated[int, Field(ge=0, le=366)] = 1
    zone: Zone = "Europe/Athens"
    within: Annotated[int, Field(ge=0, le=600)] = 5

    def due(self, now_ms: int) -> datetime:
        """The moment that is meant by somebody who says it now."""
        zone = ZoneInfo(self.zone)
        day = (datetime.fromtimestamp(now_ms / 1000, zone) + timedelta(days=self.days)).date()
        return datetime.combine(day, time.fromisoformat(self.at), zone)


class Expectation(_Strict):
    """What has to be true of the reply to a turn, or of what is done for it. All fields are optional."""

    silence: bool = False
    language: Language | None = None
    through: tuple[State, ...] = ()
    avoids: tuple[State, ...] = ()
    says: tuple[Pattern, ...] = ()
    says_one_of: tuple[Pattern, ...] = ()
    never_says: tuple[Pattern, ...] = ()
    at_least_words: Annotated[int, Field(ge=0)] = 0
    at_most_words: Annotated[int | None, Field(ge=1)] = None
    at_least_lines: Annotated[int, Field(ge=0)] = 0
    at_most_questions: Annotated[int | None, Field(ge=0)] = None
    cites: tuple[Name, ...] = ()
    reminder: Reminder | Literal["none"] | None = None
    uses: tuple[Name, ...] = ()
    uses_not: tuple[Name, ...] = ()
    asks_permission: bool = False


class Answer(_Strict):
    """A sample of what a model could answer, with which the scenario is rehearsed.

    `reply` is what is said, `thought` what is thought, `wish` what the words call for. `searches` makes the
    autonomous loop look something up before it answers; `tool` and `arguments` are then its choice. `when` and `what`
    are the reminder that is asked for. Without `keeps_form` the answer is no whole element.
    """

    reply: Words
    thought: str = "They want an answer."
    wish: str = "nothing"
    searches: str = ""
    tool: str = ""
    arguments: Mapping[str, Any] = {}
    when: Reminder | None = None
    what: str = ""
    keeps_form: bool = True


class WrongAnswer(Answer):
    """A sample of a bad answer; `fails` are the categories in which it has to score as wrong."""

    fails: Annotated[tuple[Category, ...], Field(min_length=1)]


class Turn(_Strict):
    """One thing that a user does: `says`, or `edits` or `deletes` the message of a turn; or a wait of seconds.

    `where` is a channel's name or `dm`. `under` is the number of the turn, from 1, in whose thread it is said.
    `quickly`: the next turn does not wait for the reply.
    """

    who: Name = "ada"
    where: Annotated[str, Field(pattern=r"^[\w-]+$")] = "dm"
    says: Words | None = None
    edits: Annotated[int, Field(ge=1)] | None = None
    deletes: Annotated[int, Field(ge=1)] | None = None
    waits: Annotated[float, Field(gt=0, le=LONGEST_WAIT)] | None = None
    under: Annotated[int, Field(ge=1)] | None = None
    quickly: bool = False
    expect: Expectation = Expectation()
    right: Answer | None = None
    wrong: WrongAnswer | None = None

    @model_validator(mode="after")
    def _does_one_thing(self) -> Self:
        done = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if done not in (["says"], ["says", "edits"], ["deletes"], ["waits"]):
            raise ValueError("a turn has `says`, `says` with `edits`, `deletes` or `waits`")
        if self.answered and self.right is None:
            raise ValueError("`right` is missing: a sample of a right answer")
        return self

    @property
    def answered(self) -> bool:
        """Whether a reply is expected."""
        return self.says is not None and not self.quickly and not self.expect.silence


class Secret(_Strict):
    """Words that may reach no place but these, whatever is asked."""

    words: Annotated[tuple[Words, ...], Field(min_length=1)]
    only_in: tuple[Place, ...] = ()


class Scenario(_Strict):
    """One scenario; `name` is the file's, without its ending."""

    name: str
    title: Annotated[str, Field(min_length=1, max_length=120)]
    about: Words
    tags: tuple[Name, ...] = ()
    setup: Setup = Setup()
    secrets: tuple[Secret, ...] = ()
    turns: Annotated[tuple[Turn, ...], Field(min_length=1, max_length=40)]

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        for number, turn in enumerate(self.turns, start=1):
            for field in ("edits", "deletes", "under"):
                earlier = getattr(turn, field)
                if earlier is not None and (earlier >= number or self.turns[earlier - 1].says is None):
                    raise ValueError(f"turns.{number - 1}.{field}: turn {earlier} is no message before this one")
        if not any(turn.wrong for turn in self.turns):
            raise ValueError("no turn has `wrong`: a sample of a bad answer, by which the checks are seen to fail")
        return self

    @property
    def messages(self) -> int:
        """How many messages users write in it."""
        return sum(turn.says is not None for turn in self.turns)


def load_scenarios(folder: Path = FOLDER, patterns: Sequence[str] = ()) -> tuple[Scenario, ...]:
    """The scenarios whose names or tags fit one of the patterns (shell style), by name; all without a pattern.

    Raises ConfigError with file and field of every error, where nothing fits, and where the folder holds none.
    """
    paths = sorted(folder.glob("*.toml"))
    if not paths:
        raise ConfigError(f"{folder} holds no scenarios", hint="a scenario is a file that ends in .toml")
    found, faults = list[Scenario](), list[str]()
    for path in paths:
        try:
            found.append(read_scenario(path))
        except ConfigError as error:
            faults.append(error.message)
    if faults:
        raise ConfigError("\n".join(faults), hint=_HINT)
    chosen = tuple(one for one in found if not patterns or _fits(one, patterns))
    if not chosen:
        raise ConfigError(f"no scenario fits {', '.join(patterns)}", hint="scripts/eval --list shows names and tags")
    return chosen


def read_scenario(path: Path) -> Scenario:
    """The scenario in a file. Raises ConfigError with the file and the field of every error."""
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_CAP + 1)
        if len(data) > SIZE_CAP:
            raise ConfigError(f"{path}: is larger than {SIZE_CAP // 1024} KiB", hint=_HINT)
        content = tomllib.loads(data.decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: can't be read: {(error.strerror or str(error)).lower()}", hint=_HINT) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: is not text in UTF-8", hint=_HINT) from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path}: is not valid TOML: {error}", hint=_HINT) from None
    except RecursionError:
        raise ConfigError(f"{path}: is nested too deeply", hint=_HINT) from None
    listed = {"secret": "secrets", "turn": "turns"}
    try:
        return Scenario(**{listed.get(key, key): value for key, value in content.items()} | {"name": path.stem})
    except ValidationError as error:
        faults = [f"{path}: {_place(one['loc'])}{_plain(one)}" for one in error.errors(include_url=False)]
        raise ConfigError("\n".join(faults), hint=_HINT) from None


def _fits(scenario: Scenario, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in (scenario.name, *scenario.tags))


def _place(location: Sequence[int | str]) -> str:
    """Where in the file: `turn 2, expect.language: `. Turns and secrets count from 1, as a reader does."""
    parts = [{"turns": "turn", "secrets": "secret"}.get(str(part), str(part)) for part in location]
    if len(parts) > 1 and parts[0] in ("turn", "secret"):
        rest = ".".join(parts[2:])
        return f"{parts[0]} {int(parts[1]) + 1}{f', {rest}' if rest else ''}: "
    return f"{'.'.join(parts)}: " if parts else ""


def _plain(fault: Mapping[str, Any]) -> str:
    """One of pydantic's sentences, without its prefix."""
    text = str(fault["msg"]).removeprefix("Value error, ")
    return "is no field of a scenario" if fault["type"] == "extra_forbidden" else text[:1].lower() + text[1:]
