"""The POST requests of the control API: what people do, and what tests and the page set up."""

import base64
import binascii
import mimetypes
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from daemon.local_slack import deliveries as events
from daemon.local_slack.deliveries import archived_event, renamed_event
from daemon.local_slack.fault_orders import order_fault
from daemon.local_slack.model import (
    ZONE,
    ChannelKind,
    File,
    Json,
    Standing,
    UserGroup,
    WorkspaceChannel,
    WorkspaceUser,
)
from daemon.local_slack.people_acting import NotPossible, PeopleActing
from daemon.local_slack.request_args import ControlArgs
from daemon.local_slack.slack_json import channel_json, group_json, person_json, session_json
from daemon.local_slack.state import FOREIGN_TEAM
from daemon.local_slack.workspace import Profile, Workspace

_TITLE: Final = 200


def rename_session(workspace: Workspace, person: WorkspaceUser, room: WorkspaceChannel, thread: str, title: str) -> str:
    """Rename an agent session. Return the event id of `agent_session_title_changed`."""
    session = workspace.state.sessions.get((room.id, thread))
    if session is None:
        raise NotPossible("session_not_found", "there is no session in this thread")
    if not 0 < len(title) <= _TITLE:
        raise NotPossible("invalid_title", f"a title has at most {_TITLE} characters")
    renamed = workspace.state.sessions[room.id, thread] = replace(session, title=title)
    workspace.feed.publish("session", session_json(renamed), channel=room.id)
    stamp = workspace.new_ts(room.id)
    return workspace.raise_event(events.title_event(renamed, session.title, person.id, stamp), room.id)


_PREFIX = {ChannelKind.DM: "D", ChannelKind.GROUP_DM: "G"}


class ControlOrders:
    """The control orders: `table` maps each order's name to its function, which raises NotPossible to refuse."""

    def __init__(self, workspace: Workspace, people: PeopleActing) -> None:
        self._workspace = workspace
        self._people = people
        self.table: dict[str, Callable[[ControlArgs], Json]] = {
            "say": self._say,
            "forward": self._forward,
            "edit": self._edit,
            "delete": self._delete,
            "react": self._react,
            "click": self._click,
            "command": self._command,
            "shortcut": self._shortcut,
            "stop": self._stop,
            "rename_session": self._rename_session,
            "press_home": self._press_home,
            "submit": self._submit,
            "close": self._close,
            "read": self._read,
            "open_dm": self._open_dm,
            "open_home": self._open_home,
            "join": self._join,
            "leave": self._leave,
            "convert": self._convert,
            "share": self._share,
            "archive": self._archive,
            "rename": self._rename,
            "standing": self._standing,
            "person": self._person,
            "channel": self._channel,
            "group": self._group,
            "organisation": self._organisation,
            "clock": self._clock,
            "limits": self._limits,
            "scopes": self._scopes,
            "lifetimes": self._lifetimes,
            "emit": self._emit,
            "fault": self._fault,
        }

    # -- people acting ----------------------------------------------------------------------------------------------

    def _say(self, args: ControlArgs) -> Json:
        person, room = self._acting(args)
        files = [self._attached(item, person.id) for item in args.items("files")]
        message = self._people.say(
            person,
            room,
            args.text("text"),
            thread=args.text("thread"),
            broadcast=args.flag("broadcast"),
            files=files,
            attachments=args.items("attachments"),
            blocks=args.items("blocks"),
        )
        return {"message": self._workspace.message_json(message), "channel": room.id, "ts": message.ts}

    def _forward(self, args: ControlArgs) -> Json:
        person, room = self._acting(args)
        source = self._people.message(self._people.readable(person, args.text("source")), args.text("ts"))
        message = self._people.forward(person, source, room, args.text("text"), thread=args.text("thread"))
        return {"message": self._workspace.message_json(message), "channel": room.id, "ts": message.ts}

    def _edit(self, args: ControlArgs) -> Json:
        message = self._people.edit(*self._acting(args), args.text("ts"), args.text("text"))
        return {"message": self._workspace.message_json(message)}

    def _delete(self, args: ControlArgs) -> Json:
        self._people.delete(*self._acting(args), args.text("ts"))
        return {}

    def _react(self, args: ControlArgs) -> Json:
        add = not args.flag("remove")
        return {"changed": self._people.react(*self._acting(args), args.text("ts"), args.text("name"), add=add)}

    def _click(self, args: ControlArgs) -> Json:
        person, room = self._acting(args)
        pressed = self._people.click(person, room, args.text("ts"), args.text("action_id"), args.text("value"))
        return {"delivered": pressed}

    def _command(self, args: ControlArgs) -> Json:
        return {"delivered": self._people.command(*self._acting(args), args.text("command"), args.text("text"))}

    def _shortcut(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        room = self._people.readable(person, args.text("channel"))
        return {"delivered": self._people.shortcut(person, room, args.text("ts"), args.text("callback_id"))}

    def _stop(self, args: ControlArgs) -> Json:
        return {"event_id": self._people.stop(*self._acting(args), args.text("thread"))}

    def _rename_session(self, args: ControlArgs) -> Json:
        thread, title = args.text("thread"), args.text("title")
        return {"event_id": rename_session(self._workspace, *self._acting(args), thread, title)}

    def _press_home(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        return {"delivered": self._people.press_home(person, args.text("action_id"))}

    def _submit(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        given = args.object("values").items()
        values = {name: [str(one) for one in value] if isinstance(value, list) else str(value) for name, value in given}
        return {"delivered": self._people.submit(person, args.text("view"), values)}

    def _close(self, args: ControlArgs) -> Json:
        self._people.close(self._people.person(args.text("person")), args.text("view"))
        return {}

    def _read(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        room = self._people.readable(person, args.text("channel"))
        state = self._workspace.state
        state.read_up_to[person.id, room.id] = state.timeline(room.id).newest
        return {}

    def _open_dm(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        event_id = self._workspace.open_home(person.id, "messages")
        return {"channel": self._workspace.open_dm(person.id).id, "event_id": event_id}

    def _open_home(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        event_id = self._workspace.open_home(person.id, "home")
        return {"view": self._workspace.state.homes.get(person.id), "event_id": event_id}

    def _join(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        room = self._people.channel(args.text("channel"))
        inviter = self._people.person(args.text("inviter")).id if args.text("inviter") else ""
        self._workspace.join(room, person.id, inviter)
        return {}

    def _leave(self, args: ControlArgs) -> Json:
        self._workspace.leave(self._people.channel(args.text("channel")), self._people.person(args.text("person")).id)
        return {}

    def _convert(self, args: ControlArgs) -> Json:
        person, room = self._acting(args)
        kind = args.choice("kind", ChannelKind)
        if kind in _PREFIX or room.kind in _PREFIX:
            raise NotPossible("method_not_supported_for_channel_type", "a channel becomes `group` or `channel`")
        self._workspace.convert(room, kind, person.id)
        return {}

    def _share(self, args: ControlArgs) -> Json:
        self._workspace.share(self._people.channel(args.text("channel")), shared=not args.flag("end"))
        return {}

    def _archive(self, args: ControlArgs) -> Json:
        person, room = self._people.person(args.text("person")), self._people.channel(args.text("channel"))
        room = replace(room, archived=not args.flag("end"))
        self._workspace.change_room(room, archived_event(room, person.id, self._workspace.new_ts(room.id)))
        return {}

    def _rename(self, args: ControlArgs) -> Json:
        if not (name := args.text("name")):
            raise NotPossible("invalid_name", "give the channel a `name`")
        room = replace(self._people.channel(args.text("channel")), name=name)
        self._workspace.change_room(room, renamed_event(room, self._workspace.new_ts(room.id)))
        return {}

    def _standing(self, args: ControlArgs) -> Json:
        person = self._people.person(args.text("person"))
        standing, admin = args.choice("standing", Standing), args.flag("admin")
        self._workspace.change_person(replace(person, standing=standing, admin=admin))
        return {}

    def _acting(self, args: ControlArgs) -> tuple[WorkspaceUser, WorkspaceChannel]:
        person = self._people.person(args.text("person"))
        return person, self._people.joined(person, args.text("channel"))

    def _attached(self, item: Json, owner: str) -> File:
        name = str(item.get("name") or "file.txt").replace("/", "_")
        try:
            content = (
                base64.b64decode(item["base64"], validate=True) if "base64" in item else str(item["text"]).encode()
            )
        except (KeyError, TypeError, binascii.Error, ValueError) as error:
            raise NotPossible("invalid_arguments", "a file needs `text` or valid `base64`") from error
        mimetype = str(item.get("mimetype") or mimetypes.guess_type(name)[0] or "application/octet-stream")
        created = int(self._workspace.clock.now())
        return File(self._workspace.state.new_id("F"), name, name, mimetype, content, owner, created, shared=True)

    # -- setting up -------------------------------------------------------------------------------------------------

    def _person(self, args: ControlArgs) -> Json:
        state = self._workspace.state
        shown = args.text("display_name") or args.text("name")
        if not shown:
            raise NotPossible("invalid_arguments", "a person needs a name")
        standing = args.choice("standing", Standing, "member")
        user = args.text("id") or state.new_id("U", args.text("name") or shown)
        bot = standing is Standing.BOT
        person = WorkspaceUser(
            user,
            (args.text("name") or shown).lower().replace(" ", "."),
            shown,
            args.text("real_name") or shown,
            standing,
            args.text("team") or (FOREIGN_TEAM if standing is Standing.STRANGER else state.team.id),
            bot_id=f"B{user[1:]}" if bot else "",
            app_id=f"A{user[1:]}" if bot else "",
            tz=args.text("zone") or ZONE,
            locale=args.text("locale") or "en-US",
            enterprise=args.text("enterprise"),
        )
        self._workspace.add_person(person)
        ours = standing is Standing.MEMBER and person.team == state.team.id
        if ours and (general := state.channel_named("general")):
            state.join(general.id, user)
        return {"person": person_json(person)}

    def _channel(self, args: ControlArgs) -> Json:
        state = self._workspace.state
        kind = args.choice("kind", ChannelKind, "channel")
        members = [self._people.person(name).id for name in args.texts("members")]
        if args.flag("app") or kind in _PREFIX:
            members.append(state.app.user)
        room = WorkspaceChannel(
            args.text("id") or state.new_id(_PREFIX.get(kind, "C"), args.text("name")),
            "" if kind is ChannelKind.DM else args.text("name"),
            kind,
            tuple(dict.fromkeys(members)),
            int(self._workspace.clock.now()),
            shared=args.flag("shared"),
            archived=args.flag("archived"),
            org_shared=args.flag("org_shared"),
        )
        self._workspace.add_channel(room)
        return {"channel": channel_json(state, room, state.app.user)}

    def _organisation(self, args: ControlArgs) -> Json:
        state, enterprise = self._workspace.state, args.text("enterprise")
        if not enterprise:
            raise NotPossible("invalid_arguments", "an organisation needs an id, as `enterprise`")
        state.team = replace(state.team, enterprise=enterprise)
        for person in [one for one in state.people.values() if one.team == state.team.id]:
            self._workspace.add_person(replace(person, enterprise=enterprise))
        return {"team": state.team.id}

    def _group(self, args: ControlArgs) -> Json:
        state, handle = self._workspace.state, args.text("handle")
        if not handle:
            raise NotPossible("invalid_arguments", "a group needs a `handle`")
        known = next((one for one in state.groups.values() if one.handle == handle), None)
        members = tuple(self._people.person(name).id for name in args.texts("members"))
        group = UserGroup(known.id if known else state.new_id("S", handle), handle, members)
        self._workspace.change_group(group)
        return {"usergroup": group_json(state, group)}

    def _clock(self, args: ControlArgs) -> Json:
        self._workspace.clock.advance(args.number("advance", 0.0))
        self._workspace.feed.publish("clock", {"now": self._workspace.clock.now()})
        return {"now": self._workspace.clock.now()}

    def _limits(self, args: ControlArgs) -> Json:
        self._workspace.limits.profile = args.choice("profile", Profile)
        return {}

    def _scopes(self, args: ControlArgs) -> Json:
        self._workspace.scopes = frozenset(args.texts("scopes"))
        return {}

    def _lifetimes(self, args: ControlArgs) -> Json:
        self._workspace.stream_life = args.number("stream", self._workspace.stream_life)
        self._workspace.status_life = args.number("status", self._workspace.status_life)
        return {}

    def _emit(self, args: ControlArgs) -> Json:
        if args.has("repeat"):
            if not self._workspace.deliveries.repeat(args.text("repeat")):
                raise NotPossible("event_not_found", "no such event was raised")
            return {"event_id": args.text("repeat")}
        if args.has("envelope"):
            return {"delivered": self._workspace.deliveries.raw(args.object("envelope"))}
        event = args.object("event")
        channel = args.text("channel") or (event["channel"] if isinstance(event.get("channel"), str) else "")
        return {"event_id": self._workspace.raise_event(event, channel)}

    def _fault(self, args: ControlArgs) -> Json:
        order_fault(self._workspace, args)
        return {}
