"""Answers of commands as JSON values, and the texts of people in them that are shown only when they are asked for."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import asdict

from daemon.core.value import Value


@dataclass(frozen=True, slots=True)
class Hidden:
    """A text of people that is printed only with --words, else `bare`. `of` is the turn or record that holds it."""

    of: str | tuple[str, ...]
    text: object = field(repr=False)
    bare: object = ""

    @property
    def ids(self) -> tuple[str, ...]:
        return (self.of,) if isinstance(self.of, str) else self.of


def plain(value: object) -> Any:  # noqa: ANN401 - a JSON value, or one with Hidden in it
    """Return values and mappings as dictionaries, and sequences as lists. What has its own text stays as it is."""
    if isinstance(value, Value) and type(value).__str__ is object.__str__:
        return {name: plain(inner) for name, inner in asdict(value).items()}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def _inside(value: object) -> Iterator[Hidden]:
    if isinstance(value, Hidden):
        if value.text:
            yield value
    else:
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            yield from _inside(one)


def opened(value: object, ids: Collection[str]) -> Any:  # noqa: ANN401 - a JSON value
    if isinstance(value, Hidden):
        return plain(value.text) if all(one in ids for one in value.ids) else value.bare
    if isinstance(value, dict):
        return {key: opened(one, ids) for key, one in value.items()}
    return [opened(one, ids) for one in value] if isinstance(value, list) else value


def ids_inside(answer: object) -> list[str]:
    """Return the turns and records whose texts an answer holds, each once a row."""
    rows = answer if isinstance(answer, list) else [answer]
    return [name for row in rows for name in dict.fromkeys(name for one in _inside(row) for name in one.ids)]


def left_out(private: Sequence[bool]) -> list[str]:
    """Return lines on texts that were not shown, by whether each was said in private."""

    def texts(number: int) -> str:
        return "1 text is" if number == 1 else f"{number} texts are"

    hidden, other = sum(private), len(private) - sum(private)
    said = [f"{texts(other)} not shown: add --words, which is recorded and told to the people."] if other else []
    return [*said, *([f"{texts(hidden)} not shown, said in private: add --words --private."] if hidden else [])]
