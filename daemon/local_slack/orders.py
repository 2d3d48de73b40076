"""The orders of the control API as methods: their parameters say which fields a request has."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from inspect import Parameter, signature
from types import MappingProxyType, UnionType
from typing import Any, Final, TypeVar, get_args

from daemon.local_slack.model import Json, Standing, WorkspaceChannel, WorkspaceMessage, WorkspaceUser
from daemon.local_slack.workspace import Workspace

_Item = TypeVar("_Item")


class NotPossible(Exception):
    """An error: Slack would not let this user do it, or the fields are wrong. `hint` says what would work."""

    def __init__(self, error: str, hint: str = "") -> None:
        super().__init__(error)
        self.error = error
        self.hint = hint


class LookUps:
    """The values of a workspace by name. All methods raise NotPossible with an error name like Slack's."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def _person(self, name: str) -> WorkspaceUser:
        person = self._workspace.state.person_named(name) if name else None
        if person is None:
            raise NotPossible("user_not_found", f"no user is called {name!r}; add one with /_control/person")
        return person

    def _channel(self, name: str) -> WorkspaceChannel:
        room = self._workspace.state.channel_named(name)
        if room is None:
            raise NotPossible("channel_not_found", f"no channel is called {name!r}")
        return room

    def _readable(self, person: WorkspaceUser, name: str) -> WorkspaceChannel:
        """Return a channel that the user may read: an id, a name, or `dm` for their DM with the app."""
        state = self._workspace.state
        room = self._workspace.open_dm(person.id) if name == "dm" else state.channel_named(name)
        if room is None or not state.sees(person.id, room):
            raise NotPossible("channel_not_found", f"{person.display_name} sees no channel {name!r}")
        return room

    def _joined(self, person: WorkspaceUser, name: str) -> WorkspaceChannel:
        """Return a channel that the user is a member of, and may act in."""
        room = self._readable(person, name)
        if person.id not in room.members:
            raise NotPossible("not_in_channel", f"let {person.display_name} join first, with /_control/join")
        if room.archived or person.standing is Standing.DEACTIVATED:
            raise NotPossible("is_archived" if room.archived else "account_inactive")
        return room

    def _message(self, room: WorkspaceChannel, ts: str) -> WorkspaceMessage:
        message = self._workspace.state.message(room.id, ts)
        if message is None or message.subtype == "tombstone":
            raise NotPossible("message_not_found", f"no message {ts!r} in {room.id}")
        return message


class Orders(LookUps):
    """The public methods of a subclass are its orders. All raise NotPossible with an error name like Slack's.

    A field is read by the type of its parameter. A missing or empty field takes the default; text without one is ''.
    A user is given by id or name. The answer is an object, or names a message, an event id or a delivery.
    """

    def table(self) -> dict[str, Callable[[Json], Json]]:
        """Return the orders by name. Each takes the fields of a request."""
        return {name: partial(self._call, getattr(self, name)) for name in vars(type(self)) if not name.startswith("_")}

    def _call(self, order: Callable[..., object], fields: Json) -> Json:
        parameters = signature(order).parameters.values()
        answer = order(**{one.name: self._read(one, fields.get(one.name)) for one in parameters})
        match answer:
            case WorkspaceMessage():
                return {"message": self._workspace.message_json(answer), "channel": answer.channel, "ts": answer.ts}
            case bool():
                return {"delivered": answer}
            case str():
                return {"event_id": answer}
            case dict():
                return answer
        return {}

    def _read(self, parameter: Parameter, value: Any) -> Any:  # noqa: ANN401  # any field of a JSON object
        kind, name = parameter.annotation, parameter.name
        if value in (None, "") and parameter.default is not parameter.empty:
            return parameter.default
        if isinstance(kind, UnionType):
            kind = get_args(kind)[0]
        if kind in _READERS:
            return _READERS[kind](name, value)
        words = _text(name, value)
        return self._person(words) if kind is WorkspaceUser else _choice(name, words, kind)


def _text(name: str, value: object) -> str:
    if value is not None and not isinstance(value, str | int | float):
        raise NotPossible("invalid_arguments", f"{name} has to be text")
    return "" if value is None else str(value)


def _flag(_name: str, value: object) -> bool:
    return value in (True, "true", "1", 1)


def _number(name: str, value: object) -> float:
    try:
        number = float(_text(name, value))
    except ValueError as error:
        raise NotPossible("invalid_arguments", f"{name} has to be a number") from error
    if not 0 <= number < float("inf"):
        raise NotPossible("invalid_arguments", f"{name} has to be zero or more")
    return number


def _object(name: str, value: object) -> Json:
    if not isinstance(value, dict):
        raise NotPossible("invalid_arguments", f"{name} has to be an object")
    return value


def _list(kind: type[_Item], name: str, value: object) -> list[_Item]:
    items = value or []
    if not isinstance(items, list) or not all(isinstance(item, kind) for item in items):
        raise NotPossible("invalid_arguments", f"{name} has to be a list of {'texts' if kind is str else 'objects'}")
    return items


def _choice(name: str, value: str, kind: type[StrEnum]) -> StrEnum:
    try:
        return kind(value)
    except ValueError as error:
        raise NotPossible("invalid_arguments", f"{name} {value!r} is not one of {', '.join(kind)}") from error


_READERS: Final[Mapping[object, Callable[[str, Any], object]]] = MappingProxyType(
    {
        str: _text,
        bool: _flag,
        int: lambda name, value: int(_number(name, value)),
        float: _number,
        Json: _object,
        Sequence[str]: partial(_list, str),
        Sequence[Json]: partial(_list, dict),
    }
)
