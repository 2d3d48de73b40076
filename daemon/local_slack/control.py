"""The control API at /_control/ for the page, the tests and the bench (JSON, no part of Slack).

GET reads the methods of `Views` as `/_control/NAME?FIELD=`, POST with a JSON object does those of `PeopleActing` and
`SettingUp`. Users are given by id or name, channels by id, name or `dm`. A named person gets only what Slack would show
them.

- A person is `{id, name, display_name, real_name, standing, is_bot, active}`, a channel Slack's object plus `{members,
  unread, kind, prompts, ...}`, a message Slack's object plus `{channel}`.
- `file?person=&file=` gives the bytes of a file.
- `events?person=&after=` gives Server-Sent Events of every change after a cursor (default: from now on). Kinds:
  `ready {cursor}`, `message`, `message_changed` (also for each piece of a stream), `reaction`, `ephemeral` `{channel,
  message}`, `message_deleted {channel, ts, thread_ts}`, `thread {channel, ts, reply_count, latest_reply}`, `status
  {channel, thread_ts, status, loading_messages}` (empty status: cleared), `prompts {channel, title, prompts}`,
  `session`, `presence {person, active}`, `channel {channel}`, `person {person}`, `home {view}`, `modal {view}`,
  `modal_answered {view_id, errors?, view?, trouble?}`, `reset` (changes were lost: reload everything). Without a
  person also `call`, `delivery`, `acknowledged`, `socket`, `clock`.

A refusal is `{ok: false, error, hint}` with status 400, 403 or 404. A request without the workspace's key, or with a
Host or Origin other than this workspace, is refused with 403 (see `daemon.local_slack.server`).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import Final

from aiohttp import web
from msgspec.structs import asdict

from daemon.local_slack.feed import FeedChange
from daemon.local_slack.model import Json, WorkspaceChannel, WorkspaceMessage, WorkspaceUser
from daemon.local_slack.orders import LookUps, NotPossible, Orders
from daemon.local_slack.people_acting import PeopleActing
from daemon.local_slack.setting_up import SettingUp
from daemon.local_slack.slack_json import as_seen, channel_json
from daemon.local_slack.state import Span
from daemon.local_slack.workspace import Workspace

# A shared file is downloaded, never run as a page of this origin.
_DOWNLOAD: Final = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "attachment",
        "Content-Security-Policy": "sandbox; default-src 'none'",
    }
)


class Views(Orders):
    """The JSON that can be read. Without a person all is shown."""

    def state(self, person: WorkspaceUser | None = None) -> Json:
        state, scopes = self._workspace.state, self._workspace.scopes
        rooms = [room for room in state.channels.values() if person is None or state.sees(person.id, room)]
        shown = {room.id for room in rooms}
        statuses = [
            {
                "channel": channel,
                "thread_ts": thread,
                "status": one.text,
                "loading_messages": list(one.loading_messages),
            }
            for (channel, thread), one in state.statuses.items()
            if channel in shown
        ]
        return {
            "team": asdict(state.team),
            "me": self._user(person) if person else None,
            "bot": self._user(state.bot()),
            "people": [self._user(one) for one in state.people.values()],
            "channels": [self._room(room, person) for room in rooms],
            "statuses": statuses,
            "sessions": [asdict(one) for one in state.sessions.values() if one.channel in shown],
            "shortcuts": [asdict(one) for one in state.app.shortcuts if "commands" in scopes],
            "note": state.app.note,
            "commands": [asdict(one) for one in state.app.commands if "commands" in scopes],
            "now": self._workspace.clock.now(),
            "cursor": self._workspace.feed.cursor,
        }

    def messages(
        self, channel: str, person: WorkspaceUser | None = None, thread: str = "", limit: int = 200, before: str = ""
    ) -> Json:
        """Return the timeline, or one thread with its root (`*`: all messages), oldest first. `before` (a ts) pages."""
        state = self._workspace.state
        room = self._readable(person, channel) if person else self._channel(channel)
        timeline = state.timeline(room.id)
        if thread == "*":
            chosen = [message.ts for message in timeline.everything()]
        elif thread:
            chosen = [ts for ts in chain([thread], timeline.replies(thread)) if timeline.get(ts)]
        else:
            chosen = timeline.history(Span(latest=before))
        status = state.statuses.get((room.id, thread))
        ephemerals = state.ephemerals.get(person.id, []) if person else []
        alone = [m for m in ephemerals if m.channel == room.id and (not thread or m.thread_ts == thread)]
        return {
            "channel": room.id,
            "messages": [self._shape(m, person) for ts in chosen[-limit:] if limit and (m := timeline.get(ts))],
            "ephemerals": [self._shape(m, person) | {"is_ephemeral": True} for m in alone],
            "status": status.text if status else "",
            "has_more": len(chosen) > limit,
            "cursor": self._workspace.feed.cursor,
        }

    def home(self, person: WorkspaceUser) -> Json:
        """Return the home tab that the app published."""
        return {"view": self._workspace.state.homes.get(person.id)}

    def modals(self, person: WorkspaceUser) -> Json:
        """Return the person's open modals, oldest first."""
        return {"views": [one.view for one in self._workspace.modals.values() if one.person == person.id]}

    def calls(self, method: str = "", after: int = 0) -> Json:
        """Return Web API calls, oldest first."""
        calls = (c for c in self._workspace.calls if c.number > after and method in ("", c.method))
        return {"calls": [asdict(call) for call in calls]}

    def deliveries(self, event_id: str = "") -> Json:
        """Return attempts to deliver envelopes, oldest first."""
        log = (d for d in self._workspace.deliveries.log if event_id in ("", d.event_id))
        return {"deliveries": [asdict(attempt) for attempt in log]}

    def sockets(self) -> Json:
        return {"sockets": [socket.number for socket in self._workspace.sockets.open]}

    def faults(self) -> Json:
        """Return the number of calls of each method that still meet a fault."""
        return {"faults": self._workspace.faults.left()}

    def _user(self, person: WorkspaceUser) -> Json:
        return asdict(person) | {"is_bot": person.is_bot, "active": self._workspace.is_present(person.id)}

    def _room(self, room: WorkspaceChannel, viewer: WorkspaceUser | None) -> Json:
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
            "prompts": asdict(prompts) if prompts else None,
        }

    def _shape(self, message: WorkspaceMessage, viewer: WorkspaceUser | None) -> Json:
        shape = self._workspace.message_json(self._workspace.current(message), metadata=True)
        return as_seen(shape, message.recipient, viewer.id if viewer else "")


class Control(LookUps):
    """The HTTP handlers of /_control/, and of /clock for the app."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.views = Views(workspace).table()
        self.orders = PeopleActing(workspace).table() | SettingUp(workspace).table()
        self._readers: dict[str, int] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer GET /_control/{name}, and POST with a JSON object."""
        name = request.match_info["name"]
        try:
            if request.method == "POST":
                return _answer(self.orders, name, await _body(request))
            match name:
                case "events":
                    return await self._events(request)
                case "file":
                    return self._file(request.query.get("person", ""), request.query.get("file", ""))
            return _answer(self.views, name, dict(request.query))
        except NotPossible as refused:
            status = 404 if refused.error.endswith("_not_found") or refused.error == "unknown_order" else 400
            return web.json_response({"ok": False, "error": refused.error, "hint": refused.hint}, status=status)

    async def clock(self, request: web.Request) -> web.StreamResponse:
        """Stream `{now}` in seconds at once and after each move, for one of the app's tokens as bearer token."""
        app = self._workspace.state.app
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in {app.bot_token, app.app_token}:
            return web.json_response({"ok": False, "error": "invalid_auth"}, status=403)

        def now(changes: Sequence[FeedChange]) -> bytes:
            moved = any(change.kind in {"clock", "reset"} for change in changes)
            return f"data: {json.dumps({'now': self._workspace.clock.now()})}\n\n".encode() if moved else b""

        return await self._workspace.feed.stream(request, now([FeedChange(0, "clock", {})]), now)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        person = self._person(name).id if (name := request.query.get("person", "")) else ""
        seen = request.headers.get("Last-Event-ID", "") or request.query.get("after", "")
        feed = self._workspace.feed
        after = min(int(seen), feed.cursor) if seen.isdigit() else feed.cursor

        def frames(changes: Sequence[FeedChange]) -> bytes:
            return "".join(
                f"id: {c.number}\nevent: {c.kind}\ndata: {json.dumps(c.as_seen_by(person))}\n\n" for c in changes
            ).encode()

        first = f"event: ready\ndata: {json.dumps({'cursor': after})}\n\n".encode()
        self._count(person, 1)
        try:
            return await feed.stream(request, first, frames, person=person, after=after)
        finally:
            self._count(person, -1)

    def _count(self, person: str, step: int) -> None:
        self._readers[person] = self._readers.get(person, 0) + step
        if person:
            self._workspace.set_presence(person, present=self._readers[person] > 0)

    def _file(self, viewer: str, name: str) -> web.Response:
        state, person = self._workspace.state, self._person(viewer)
        file = state.files.get(name)
        rooms = (room for room in state.channels.values() if state.sees(person.id, room))
        if file and any(file.id in m.files for room in rooms for m in state.timeline(room.id).everything()):
            return web.Response(body=file.content, content_type=file.mimetype, headers=_DOWNLOAD)
        raise NotPossible("file_not_found", "no such file in a channel that this person reads")


def _answer(table: Mapping[str, Callable[[Json], Json]], name: str, fields: Json) -> web.Response:
    if name not in table:
        raise NotPossible("unknown_order", f"known here: {', '.join(sorted(table))}")
    return web.json_response({"ok": True} | table[name](fields))


async def _body(request: web.Request) -> Json:
    try:
        body = await request.json() if request.content_type == "application/json" else None
    except ValueError as error:
        raise NotPossible("invalid_json", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise NotPossible("invalid_json", "send a JSON object with the content type application/json")
    return body
