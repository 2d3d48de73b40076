"""The fields of one request to the control API with type checks, and the JSON views that it can read."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from enum import StrEnum
from itertools import chain
from typing import TypeVar

from daemon.local_slack.model import Json, WorkspaceChannel, WorkspaceMessage, WorkspaceUser
from daemon.local_slack.people_acting import NotPossible, PeopleActing
from daemon.local_slack.slack_json import as_seen, channel_json
from daemon.local_slack.state import Span
from daemon.local_slack.workspace import Workspace

_Item = TypeVar("_Item")
_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class ControlArgs:
    """The fields of a request. Every reader raises NotPossible for a field of the wrong type."""

    fields: Json

    def has(self, name: str) -> bool:
        return self.fields.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text, or '' if the field is missing."""
        value = self.fields.get(name)
        if value is not None and not isinstance(value, str | int | float):
            raise NotPossible("invalid_arguments", f"{name} has to be text")
        return "" if value is None else str(value)

    def flag(self, name: str) -> bool:
        """Return a boolean, False if the field is missing."""
        return self.fields.get(name) in (True, "true", "1", 1)

    def number(self, name: str, default: float) -> float:
        """Return a number of zero or more."""
        value = self.text(name)
        try:
            number = float(value) if value else default
        except ValueError as error:
            raise NotPossible("invalid_arguments", f"{name} has to be a number") from error
        if not 0 <= number < float("inf"):
            raise NotPossible("invalid_arguments", f"{name} has to be zero or more")
        return number

    def choice(self, name: str, kind: type[_Choice], default: str = "") -> _Choice:
        """Return a member of an enumeration."""
        value = self.text(name) or default
        try:
            return kind(value)
        except ValueError as error:
            raise NotPossible("invalid_arguments", f"{name} {value!r} is not one of {', '.join(kind)}") from error

    def texts(self, name: str) -> list[str]:
        """Return a list of texts, empty if the field is missing."""
        return self._list(name, str, "texts")

    def items(self, name: str) -> list[Json]:
        """Return a list of objects, empty if the field is missing."""
        return self._list(name, dict, "objects")

    def object(self, name: str) -> Json:
        value = self.fields.get(name)
        if not isinstance(value, dict):
            raise NotPossible("invalid_arguments", f"{name} has to be an object")
        return value

    def _list(self, name: str, kind: type[_Item], plural: str) -> list[_Item]:
        value = self.fields.get(name) or []
        if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
            raise NotPossible("invalid_arguments", f"{name} has to be a list of {plural}")
        return value


_PAGE = 200


class ControlViews:
    """The JSON views: `table` maps each view's name to its function, which raises NotPossible to refuse."""

    def __init__(self, workspace: Workspace, people: PeopleActing) -> None:
        self._workspace = workspace
        self._people = people
        self.table: dict[str, Callable[[ControlArgs], Json]] = {
            "state": self._state,
            "messages": self._messages,
            "home": self._home,
            "modals": self._modals,
            "calls": self._calls,
            "deliveries": self._deliveries,
            "sockets": self._sockets,
            "faults": self._faults,
        }

    def file(self, args: ControlArgs) -> tuple[bytes, str]:
        """Return a file's bytes and media type, for a person who can read a message with the file."""
        state = self._workspace.state
        person = self._people.person(args.text("person"))
        file = state.files.get(args.text("file"))
        rooms = (room for room in state.channels.values() if state.sees(person.id, room))
        if file and any(file.id in m.files for room in rooms for m in state.timeline(room.id).everything()):
            return file.content, file.mimetype
        raise NotPossible("file_not_found", "no such file in a channel that this person reads")

    def _state(self, args: ControlArgs) -> Json:
        state = self._workspace.state
        viewer = self._people.person(args.text("person")) if args.text("person") else None
        rooms = [r for r in state.channels.values() if viewer is None or state.sees(viewer.id, r)]
        shown = {room.id for room in rooms}
        statuses = [
            {
                "channel": channel,
                "thread_ts": thread,
                "status": status.text,
                "loading_messages": list(status.loading_messages),
            }
            for (channel, thread), status in state.statuses.items()
            if channel in shown
        ]
        return {
            "team": asdict(state.team),
            "me": self._person(viewer) if viewer else None,
            "bot": self._person(state.bot()),
            "people": [self._person(person) for person in state.people.values()],
            "channels": [self._channel(room, viewer) for room in rooms],
            "statuses": statuses,
            "sessions": [asdict(one) for one in state.sessions.values() if one.channel in shown],
            "shortcuts": [asdict(one) for one in state.app.shortcuts if "commands" in self._workspace.scopes],
            "note": state.app.note,
            "commands": [asdict(one) for one in state.app.commands if "commands" in self._workspace.scopes],
            "now": self._workspace.clock.now(),
            "cursor": self._workspace.feed.cursor,
        }

    def _messages(self, args: ControlArgs) -> Json:
        state = self._workspace.state
        room, viewer = self._room(args)
        timeline = state.timeline(room.id)
        thread = args.text("thread")
        limit = int(args.number("limit", _PAGE))
        if thread == "*":
            chosen = [message.ts for message in timeline.everything()]
        elif thread:
            chosen = [ts for ts in chain([thread], timeline.replies(thread)) if timeline.get(ts)]
        else:
            chosen = timeline.history(Span(latest=args.text("before")))
        status = state.statuses.get((room.id, thread))
        ephemerals = state.ephemerals.get(viewer.id, []) if viewer else []
        shown = [m for m in ephemerals if m.channel == room.id and (not thread or m.thread_ts == thread)]
        return {
            "channel": room.id,
            "messages": [self._message(m, viewer) for ts in chosen[-limit:] if limit and (m := timeline.get(ts))],
            "ephemerals": [self._message(m, viewer) | {"is_ephemeral": True} for m in shown],
            "status": status.text if status else "",
            "has_more": len(chosen) > limit,
            "cursor": self._workspace.feed.cursor,
        }

    def _home(self, args: ControlArgs) -> Json:
        return {"view": self._workspace.state.homes.get(self._people.person(args.text("person")).id)}

    def _modals(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        return {"views": [one.view for one in self._workspace.modals.values() if one.person == person.id]}

    def _calls(self, args: ControlArgs) -> Json:
        method, after = args.text("method"), args.number("after", 0)
        calls = (c for c in self._workspace.calls if c.number > after and method in ("", c.method))
        return {"calls": [asdict(call) for call in calls]}

    def _deliveries(self, args: ControlArgs) -> Json:
        event_id = args.text("event_id")
        log = (d for d in self._workspace.deliveries.log if event_id in ("", d.event_id))
        return {"deliveries": [asdict(attempt) for attempt in log]}

    def _sockets(self, args: ControlArgs) -> Json:  # every view takes the request
        return {"sockets": [socket.number for socket in self._workspace.sockets.open]}

    def _faults(self, args: ControlArgs) -> Json:  # every view takes the request
        return {"faults": self._workspace.faults.left()}

    def _room(self, args: ControlArgs) -> tuple[WorkspaceChannel, WorkspaceUser | None]:
        if args.text("person"):
            person = self._people.person(args.text("person"))
            return self._people.readable(person, args.text("channel")), person
        return self._people.channel(args.text("channel")), None

    def _person(self, person: WorkspaceUser) -> Json:
        active = self._workspace.is_present(person.id)
        return asdict(person) | {"is_bot": person.is_bot, "active": active}

    def _channel(self, room: WorkspaceChannel, viewer: WorkspaceUser | None) -> Json:
        state = self._workspace.state
        reader = viewer.id if viewer else state.app.user
        prompts = state.prompts.get(room.id)
        return channel_json(state, room, reader) | {
            "name": room.name,
            "kind": str(room.kind),
            "shared": room.shared,
            "members": list(room.members),
            "is_member": reader in room.members,
            "app_is_member": state.app_is_in(room),
            "unread": state.unread(reader, room.id) if viewer and reader in room.members else 0,
            "prompts": {"title": prompts.title, "prompts": list(prompts.prompts)} if prompts else None,
        }

    def _message(self, message: WorkspaceMessage, viewer: WorkspaceUser | None) -> Json:
        shape = self._workspace.message_json(self._workspace.current(message), metadata=True)
        return as_seen(shape, message.recipient, viewer.id if viewer else "")
