"""The fields of one request to the control API, each read with its type checked."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from daemon.local_slack.model import Json
from daemon.local_slack.people_acting import NotPossible

_Item = TypeVar("_Item")
_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class ControlArgs:
    """Fields of a request. Every reader raises NotPossible for a field of the wrong kind."""

    fields: Json

    def has(self, name: str) -> bool:
        """Whether the field is there."""
        return self.fields.get(name) is not None

    def text(self, name: str) -> str:
        """A text; empty when the field is missing."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str | int | float):
            raise NotPossible("invalid_arguments", f"{name} has to be text")
        return "" if value is None else str(value)

    def flag(self, name: str) -> bool:
        """A boolean; false when the field is missing."""
        return self.fields.get(name) in (True, "true", "1", 1)

    def number(self, name: str, default: float) -> float:
        """A number of zero or more."""
        value = self.text(name)
        try:
            number = float(value) if value else default
        except ValueError as error:
            raise NotPossible("invalid_arguments", f"{name} has to be a number") from error
        if not 0 <= number < float("inf"):
            raise NotPossible("invalid_arguments", f"{name} has to be zero or more")
        return number

    def choice(self, name: str, kind: type[_Choice], default: str = "") -> _Choice:
        """A member of an enumeration."""
        value = self.text(name) or default
        try:
            return kind(value)
        except ValueError as error:
            raise NotPossible("invalid_arguments", f"{name} {value!r} is not one of {', '.join(kind)}") from error

    def texts(self, name: str) -> list[str]:
        """A list of texts; empty when the field is missing."""
        return self._list(name, str, "texts")

    def items(self, name: str) -> list[Json]:
        """A list of objects; empty when the field is missing."""
        return self._list(name, dict, "objects")

    def object(self, name: str) -> Json:
        """An object."""
        value = self.fields.get(name)
        if not isinstance(value, dict):
            raise NotPossible("invalid_arguments", f"{name} has to be an object")
        return value

    def _list(self, name: str, kind: type[_Item], plural: str) -> list[_Item]:
        value = self.fields.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise NotPossible("invalid_arguments", f"{name} has to be a list of {plural}")
        return value
