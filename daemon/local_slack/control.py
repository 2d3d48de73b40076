"""The control API at /_control/: what the web page and the tests do with the workspace (JSON; no part of Slack).

Reading (GET; `person` is an id or a name; whoever is named sees only what Slack would show them):

- `state?person=` -> `{team, me, bot, people: [person], channels: [channel], statuses: [status], cursor}`. Without a
  person: everything. A person is `{id, name, display_name, real_name, standing, is_bot, active}`; a channel is Slack's
  object plus `{members, unread, kind, title, prompts}`.
- `messages?person=&channel=&thread=&limit=` -> `{messages: [message], ephemerals: [message], status}`: the timeline or
  one thread with its root (`*`: all), oldest first; a message is Slack's object plus `{channel}`. `channel` is an id, a
  name or `dm`; `before` (a ts) pages back.
- `home?person=` -> `{view}`; `file?person=&file=` -> the bytes.
- `events?person=&after=` -> Server-Sent Events of every change from number `after` on (default: from now on). Kinds:
  `ready {cursor}`, `message`, `message_changed` (streaming growth too), `reaction`, `ephemeral` `{channel, message}`,
  `message_deleted {channel, ts, thread_ts}`, `thread {channel, ts, reply_count, latest_reply}`, `status {channel,
  thread_ts, status, loading_messages}` (empty status: gone), `prompts {channel, title, prompts}`, `session`, `presence
  {person, active}`, `channel {channel}`, `person {person}`, `home {view}`, `modal {view}`, `reset` (reload everything).
  Without a person also `call`, `delivery`, `acknowledged`, `socket`, `clock`.
- `calls?method=&after=` -> `{calls: [{number, method, args, at, status, answer}]}`; `deliveries?event_id=` ->
  `{deliveries: [{envelope_id, event_id, type, event_type, attempt, reason, socket, sent_at, acked_at, ack_payload}]}`;
  `sockets` -> `{sockets: [number]}`.

People acting (POST): `say {person, channel, text, thread?, broadcast?, files?: [{name, text | base64, mimetype?}]}`,
`edit {person, channel, ts, text}` -> `{message}`; `delete {person, channel, ts}`; `react {person, channel, ts, name,
remove?}`; `click {person, channel, ts, action_id, value?}` and `command {person, channel, command, text?}` ->
`{delivered}`; `read {person, channel}`; `open_dm {person}` -> `{channel, event_id}`; `open_home {person}` -> `{view,
event_id}`; `join {person, channel, inviter?}`.

Setting up (POST): `person {name, display_name?, real_name?, standing?, team?}` -> `{person}`; `channel {name?, kind?,
members?, shared?, archived?, app?}` -> `{channel}`; `clock {advance}` -> `{now}`; `limits {profile}`; `scopes
{scopes}`; `lifetimes {stream?, status?}` in seconds; `emit {event, channel?}`, `{envelope}` or `{repeat: event_id}`;
`fault` (see `daemon.local_slack.fault_orders`).

Refusals are `{ok: false, error, hint}` with status 400, 403 or 404. Requests whose Host or Origin is not this workspace
itself are refused with 403, so that no web page elsewhere can speak here (DNS rebinding, cross-site requests).
"""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web

from daemon.local_slack.control_setup import Setup
from daemon.local_slack.control_views import Views
from daemon.local_slack.live_feed import LiveFeed
from daemon.local_slack.model import Json
from daemon.local_slack.people_acting import NotPossible, PeopleActing
from daemon.local_slack.request_args import Ask
from daemon.local_slack.slack_json import message_json
from daemon.local_slack.workspace import Workspace

_OWN_NAMES: Final = frozenset({"127.0.0.1", "localhost", "::1"})
# A file that somebody shared must not run as a page of ours.
_DOWNLOAD: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Control:
    """Serves /_control/."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._people = PeopleActing(workspace)
        setup = Setup(workspace, self._people)
        views = Views(workspace, self._people)
        self._live = LiveFeed(workspace, self._people)
        self._views: dict[str, Callable[[Ask], Json]] = {
            "state": views.state,
            "messages": views.messages,
            "home": views.home,
            "calls": views.calls,
            "deliveries": views.deliveries,
            "sockets": views.sockets,
        }
        self._file = views.file
        self._orders: dict[str, Callable[[Ask], Json]] = {
            "say": self._say,
            "edit": self._edit,
            "delete": self._delete,
            "react": self._react,
            "click": self._click,
            "command": self._command,
            "read": self._read,
            "open_dm": self._open_dm,
            "open_home": self._open_home,
            "join": self._join,
        } | setup.orders

    async def read(self, request: web.Request) -> web.StreamResponse:
        """GET /_control/{name}."""
        name = request.match_info["name"]
        ask = Ask(dict(request.query))
        try:
            if name == "events":
                return await self._live.handle(request, ask)
            if name == "file":
                content, mimetype = self._file(ask)
                return web.Response(body=content, content_type=mimetype, headers=_DOWNLOAD)
            return self._answer(self._views, name, ask)
        except NotPossible as fault:
            return _refusal(fault)

    async def act(self, request: web.Request) -> web.StreamResponse:
        """POST /_control/{name}, with a JSON object."""
        try:
            return self._answer(self._orders, request.match_info["name"], await _body(request))
        except NotPossible as fault:
            return _refusal(fault)

    def _answer(self, table: dict[str, Callable[[Ask], Json]], name: str, ask: Ask) -> web.Response:
        if name not in table:
            raise NotPossible("unknown_order", f"known here: {', '.join(sorted(table))}")
        return web.json_response({"ok": True} | table[name](ask))

    def _say(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        room = self._people.joined(person, ask.text("channel"))
        files = [ask.file(item, self._workspace, person.id) for item in ask.items("files")]
        message = self._people.say(
            person, room, ask.text("text"), thread=ask.text("thread"), broadcast=ask.flag("broadcast"), files=files
        )
        shape = message_json(self._workspace.state, message, self._workspace.url)
        return {"message": shape | {"channel": room.id}, "channel": room.id, "ts": message.ts}

    def _edit(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        room = self._people.joined(person, ask.text("channel"))
        message = self._people.edit(person, room, ask.text("ts"), ask.text("text"))
        return {"message": message_json(self._workspace.state, message, self._workspace.url) | {"channel": room.id}}

    def _delete(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        self._people.delete(person, self._people.joined(person, ask.text("channel")), ask.text("ts"))
        return {}

    def _react(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        room = self._people.joined(person, ask.text("channel"))
        add = not ask.flag("remove")
        return {"changed": self._people.react(person, room, ask.text("ts"), ask.text("name"), add=add)}

    def _click(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        room = self._people.joined(person, ask.text("channel"))
        pressed = self._people.click(person, room, ask.text("ts"), ask.text("action_id"), ask.text("value"))
        return {"delivered": pressed}

    def _command(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        room = self._people.joined(person, ask.text("channel"))
        return {"delivered": self._people.command(person, room, ask.text("command"), ask.text("text"))}

    def _read(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        room = self._people.readable(person, ask.text("channel"))
        timeline = self._workspace.state.timeline(room.id)
        self._workspace.state.read_up_to[person.id, room.id] = timeline.newest
        return {}

    def _open_dm(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        event_id = self._workspace.open_home(person.id, "messages")
        return {"channel": self._workspace.open_dm(person.id).id, "event_id": event_id}

    def _open_home(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        event_id = self._workspace.open_home(person.id, "home")
        return {"view": self._workspace.state.homes.get(person.id), "event_id": event_id}

    def _join(self, ask: Ask) -> Json:
        person = self._people.person(ask.text("person"))
        room = self._workspace.state.channel_named(ask.text("channel"))
        if room is None:
            raise NotPossible("channel_not_found", "name a channel that is there")
        inviter = self._people.person(ask.text("inviter")).id if ask.text("inviter") else ""
        self._workspace.join(room, person.id, inviter)
        return {}


@web.middleware
async def only_from_here(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Refuse control requests that a page from elsewhere could have caused."""
    if not request.path.startswith("/_control/"):
        return await handler(request)
    try:
        host = urlsplit(f"//{request.host}").hostname
        origin = request.headers.get("Origin", "")
        own = host in _OWN_NAMES and (not origin or urlsplit(origin).netloc == request.host)
    except ValueError:
        own = False
    if not own or request.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
        hint = "open the workspace by its own address on this machine, such as http://127.0.0.1:8765/"
        return web.json_response({"ok": False, "error": "not_from_here", "hint": hint}, status=403)
    return await handler(request)


async def _body(request: web.Request) -> Ask:
    try:
        body = await request.json() if request.content_type == "application/json" else None
    except ValueError as fault:
        raise NotPossible("invalid_json", "the body is no JSON") from fault
    if not isinstance(body, dict):
        raise NotPossible("invalid_json", "send a JSON object with the content type application/json")
    return Ask(body)


def _refusal(fault: NotPossible) -> web.Response:
    status = 404 if fault.error.endswith("_not_found") or fault.error == "unknown_order" else 400
    return web.json_response({"ok": False, "error": fault.error, "hint": fault.hint}, status=status)
