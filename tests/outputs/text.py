"""JSON as a model may write it: any order, any cut, with what no library would write; it knows where each part ends."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from daemon.core.value import Value


class Raw(Value):
    """Text that stands in the JSON as it is."""

    text: str


class Marked(Value):
    """A value whose end is of interest, by the name of what it belongs to."""

    name: str
    value: object


@dataclass(slots=True)
class Writer:
    """Writes values; `ends` says where in the text each marked one is whole."""

    chance: Random
    ends: dict[str, int] = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)
    _length: int = 0
    _ascii: bool = True

    def write(self, fields: list[tuple[str, object]]) -> str:
        """One object with these fields, a name twice where it stands twice."""
        self._ascii = self.chance.random() < 0.7
        self._object(fields)
        return "".join(self._text)

    def _add(self, text: str) -> None:
        self._text.append(text)
        self._length += len(text)

    def _space(self) -> None:
        self._add(self.chance.choice(("", "", "", " ", "\n  ")))

    def _value(self, value: object) -> None:
        match value:
            case Marked():
                self._value(value.value)
                number = isinstance(value.value, int | float) and not isinstance(value.value, bool)
                self.ends[value.name] = self._length + number  # a number may go on until something else follows
            case Raw():
                self._add(value.text)
            case Mapping():
                self._object(list(value.items()))
            case list() | tuple():
                self._list(list(value))
            case _:
                self._add(json.dumps(value, ensure_ascii=self._ascii))

    def _object(self, fields: list[tuple[str, object]]) -> None:
        self._add("{")
        for number, (name, value) in enumerate(fields):
            self._add("," if number else "")
            self._space()
            self._add(json.dumps(name, ensure_ascii=self._ascii) + ":")
            self._space()
            self._value(value)
        self._add("}")

    def _list(self, values: list[object]) -> None:
        self._add("[")
        for number, value in enumerate(values):
            self._add("," if number else "")
            self._space()
            self._value(value)
        self._add("]")


def in_pieces(text: str, chance: Random) -> list[str]:
    cuts = sorted(chance.randint(0, len(text)) for _ in range(chance.choice((0, 1, 4, 12))))
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True) if end > start]
