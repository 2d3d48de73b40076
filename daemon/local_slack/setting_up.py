"""The orders that set up a workspace for a test: users, channels, time, limits, events and faults."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from msgspec.structs import replace

from daemon.local_slack.faults import COUNTED, FaultMode, MethodFault, Profile
from daemon.local_slack.model import (
    ZONE,
    ChannelKind,
    Json,
    Posting,
    Standing,
    UserGroup,
    WorkspaceChannel,
    WorkspaceUser,
)
from daemon.local_slack.orders import NotPossible, Orders
from daemon.local_slack.slack_json import channel_json, group_json, person_json
from daemon.local_slack.sockets import AppSocket
from daemon.local_slack.state import FOREIGN_TEAM

_PREFIX: Final = MappingProxyType({ChannelKind.DM: "D", ChannelKind.GROUP_DM: "G"})


class DisconnectReason(StrEnum):
    """The reason of a disconnect frame (Slack: Socket Mode)."""

    WARNING = "warning"
    REFRESH_REQUESTED = "refresh_requested"
    TOO_MANY_WEBSOCKETS = "too_many_websockets"
    LINK_DISABLED = "link_disabled"


class SettingUp(Orders):
    """The setup of a workspace."""

    def person(
        self,
        name: str,
        *,
        user: str = "",
        display_name: str = "",
        real_name: str = "",
        standing: Standing = Standing.MEMBER,
        team: str = "",
        zone: str = ZONE,
        locale: str = "en-US",
        enterprise: str = "",
    ) -> Json:
        """Add a user, with an id of the workspace's choice unless `user` is one. `zone` is an IANA name."""
        state = self._workspace.state
        shown = display_name or name
        if not shown:
            raise NotPossible("invalid_arguments", "a person needs a name")
        user = user or state.new_id("U", name or shown)
        bot = standing is Standing.BOT
        person = WorkspaceUser(
            user,
            (name or shown).lower().replace(" ", "."),
            shown,
            real_name or shown,
            standing,
            team or (FOREIGN_TEAM if standing is Standing.STRANGER else state.team.id),
            bot_id=f"B{user[1:]}" if bot else "",
            app_id=f"A{user[1:]}" if bot else "",
            tz=zone,
            locale=locale,
            enterprise=enterprise,
        )
        self._workspace.add_person(person)
        if standing is Standing.MEMBER and person.team == state.team.id and (general := state.channel_named("general")):
            self._workspace.add_channel(replace(general, members=(*general.members, user)))
        return {"person": person_json(person)}

    def channel(
        self,
        name: str = "",
        *,
        kind: ChannelKind = ChannelKind.PUBLIC,
        members: Sequence[str] = (),
        app: bool = False,
        shared: bool = False,
        org_shared: bool = False,
        archived: bool = False,
    ) -> Json:
        """Add a channel. The app is a member of every DM."""
        state = self._workspace.state
        ids = [self._person(member).id for member in members]
        if app or kind in _PREFIX:
            ids.append(state.app.user)
        room = WorkspaceChannel(
            state.new_id(_PREFIX.get(kind, "C"), name),
            "" if kind is ChannelKind.DM else name,
            kind,
            tuple(dict.fromkeys(ids)),
            int(self._workspace.clock.now()),
            shared=shared,
            archived=archived,
            org_shared=org_shared,
        )
        self._workspace.add_channel(room)
        return {"channel": channel_json(state, room, state.app.user)}

    def group(self, handle: str, members: Sequence[str] = ()) -> Json:
        """Add a user group, or replace its members."""
        state = self._workspace.state
        if not handle:
            raise NotPossible("invalid_arguments", "a group needs a `handle`")
        known = next((one for one in state.groups.values() if one.handle == handle), None)
        ids = tuple(self._person(name).id for name in members)
        group = UserGroup(known.id if known else state.new_id("S", handle), handle, ids)
        self._workspace.change_group(group)
        return {"usergroup": group_json(state, group)}

    def organisation(self, enterprise: str) -> Json:
        """Make the workspace and its users part of an Enterprise Grid organisation."""
        state = self._workspace.state
        if not enterprise:
            raise NotPossible("invalid_arguments", "an organisation needs an id, as `enterprise`")
        state.team = replace(state.team, enterprise=enterprise)
        for person in [one for one in state.people.values() if one.team == state.team.id]:
            self._workspace.add_person(replace(person, enterprise=enterprise))
        return {"team": state.team.id}

    def standing(self, person: WorkspaceUser, standing: Standing, *, admin: bool = False) -> None:
        """Change a user's account type, and make them an admin or not."""
        self._workspace.change_person(replace(person, standing=standing, admin=admin))

    def share(self, channel: str, *, end: bool = False) -> None:
        """Connect a channel with another organisation, or end that."""
        self._workspace.share(self._channel(channel), shared=not end)

    def rename(self, channel: str, name: str) -> None:
        if not name:
            raise NotPossible("invalid_name", "give the channel a `name`")
        self._workspace.rename(self._channel(channel), name)

    def clock(self, advance: float = 0.0) -> Json:
        """Move the clock forward by seconds. A daemon may follow this clock at GET /clock."""
        self._workspace.clock.advance(advance)
        self._workspace.feed.publish("clock", {"now": self._workspace.clock.now()})
        return {"now": self._workspace.clock.now()}

    def limits(self, profile: Profile) -> None:
        self._workspace.limits.profile = profile

    def scopes(self, scopes: Sequence[str] = ()) -> None:
        """Grant the app exactly these scopes."""
        self._workspace.scopes = frozenset(scopes)

    def lifetimes(self, stream: float | None = None, status: float | None = None) -> None:
        """Set the seconds after which a stream or a status line expires."""
        if stream is not None:
            self._workspace.stream_life = stream
        if status is not None:
            self._workspace.status_life = status

    # -- events -------------------------------------------------------------------------------------------------------

    def emit(self, event: Json, channel: str = "") -> str:
        """Raise any event. Return its id."""
        named = event.get("channel")
        return self._workspace.raise_event(event, channel or (named if isinstance(named, str) else ""))

    def emit_envelope(self, envelope: Json) -> bool:
        """Send an envelope unchanged."""
        return self._workspace.deliveries.raw(envelope)

    def repeat(self, event_id: str) -> str:
        """Deliver an earlier event again, with the same event id."""
        if not self._workspace.deliveries.repeat(event_id):
            raise NotPossible("event_not_found", "no such event was raised")
        return event_id

    # -- faults -------------------------------------------------------------------------------------------------------

    def fault(
        self,
        method: str,
        *,
        mode: FaultMode = FaultMode.ANSWER,
        status: int = HTTPStatus.OK,
        headers: Json | None = None,
        body: Json | None = None,
        delay: float = 0.0,
        times: int = 1,
    ) -> None:
        """Let the next calls of a Web API method (`*`: of any) meet a fault, as `MethodFault` describes."""
        if body is None and status != HTTPStatus.OK:
            limited = status == HTTPStatus.TOO_MANY_REQUESTS
            body = {"ok": False, "error": "ratelimited" if limited else "internal_error"}
        named = {key: str(value) for key, value in (headers or {}).items()}
        self._workspace.faults.add(MethodFault(method, mode, status, named, body, delay), times)

    def fault_chunks(self, *, chunks: bool) -> None:
        """Let streams refuse every chunk with `invalid_chunks` and take only text, or end that."""
        self._workspace.faults.refuse_chunks = not chunks

    def fault_room(self, room: str, *, archived: bool = False, posting: Posting | None = None, lock: str = "") -> None:
        """Archive a channel, restrict posts there, or lock one thread, until faults are cleared."""
        faults, channel = self._workspace.faults, self._channel(room).id
        if archived:
            faults.archived.add(channel)
        if posting:
            faults.posting[channel] = posting
        if lock:
            faults.locked.add((channel, lock))

    def fault_socket(
        self,
        socket: str,
        times: int = 1,
        *,
        on: bool = False,
        only: int | None = None,
        status: int = HTTPStatus.SERVICE_UNAVAILABLE,
        reason: DisconnectReason = DisconnectReason.WARNING,
        code: int = 1000,
        text: str = "",
    ) -> None:
        """Let the app's sockets meet a fault:

        Some number of `times`: `dead_tickets` are invalid, `refuse_handshakes` answers with `status`, `greet`
        disconnects for `reason` right after hello, `ignore_acks` drops acknowledgements, `duplicate` delivers events
        twice. While `on`: `silence` sends and answers nothing, not even pings, and with `mention_first` an
        `app_mention` precedes its message. All open sockets, or the oldest `only`: `disconnect` for `reason`, `close`
        with `code`, `reset`, `frame` of `text`.
        """
        faults = self._workspace.faults
        if socket in COUNTED:
            faults.counts[socket] = times
            if socket == "refuse_handshakes":
                faults.refuse_status = status
            elif socket == "greet":
                faults.greeting = reason
        elif socket == "silence":
            faults.silent = on
        elif socket == "mention_first":
            faults.mention_first = on
        else:
            acts: dict[str, Callable[[AppSocket], None]] = {
                "disconnect": lambda one: self._workspace.sockets.disconnect(one, reason),
                "close": lambda one: one.close(code),
                "reset": lambda one: one.reset(),
                "frame": lambda one: one.send(text),
            }
            if socket not in acts:
                raise NotPossible("invalid_arguments", f"there is no fault called {socket!r}")
            for one in self._workspace.sockets.open[:only]:
                acts[socket](one)

    def clear_faults(self) -> None:
        self._workspace.faults.clear()
