"""The control API at /_control/ for the page, the tests and the bench (JSON, no part of Slack).

Reading (GET). `person` is an id or a name. A named person gets only what Slack would show them.

- `state?person=` -> `{team, me, bot, people: [person], channels: [channel], statuses: [status], sessions: [session],
  shortcuts: [{callback_id, name}], note, cursor}`, without a person with all channels.
  A person is `{id, name, display_name, real_name, standing, is_bot, active}`.
  A channel is Slack's object plus `{members, unread, kind, prompts, ...}`.
  A session is `{channel, thread_ts, status, title, covered}`.
- `messages?person=&channel=&thread=&limit=&before=` -> `{messages: [message], ephemerals: [message], status}`: the
  timeline, or one thread with its root (`*`: all messages), oldest first. A message is Slack's object plus `{channel}`.
  `channel` is an id, a name or `dm`. `before` (a ts) pages back.
- `home?person=` -> `{view}`: the home tab the app published.
- `modals?person=` -> `{views}`: the person's open modals.
- `file?person=&file=` -> the bytes.
- `events?person=&after=` -> Server-Sent Events of every change after the cursor `after` (default: from now on). Kinds:
  `ready {cursor}`, `message`, `message_changed` (also for each piece of a stream), `reaction`, `ephemeral` `{channel,
  message}`, `message_deleted {channel, ts, thread_ts}`, `thread {channel, ts, reply_count, latest_reply}`, `status
  {channel, thread_ts, status, loading_messages}` (empty status: cleared), `prompts {channel, title, prompts}`,
  `session`, `presence {person, active}`, `channel {channel}`, `person {person}`, `home {view}`, `modal {view}`,
  `modal_answered {view_id, errors?, view?, trouble?}`, `reset` (changes were lost: reload everything). Without a
  person also `call`, `delivery`, `acknowledged`, `socket`, `clock`.
- `calls?method=&after=` -> `{calls: [{number, method, args, at, status, answer}]}`: Web API calls, oldest first.
- `deliveries?event_id=` -> `{deliveries: [{envelope_id, event_id, type, event_type, attempt, reason, socket, sent_at,
  acked_at, ack_payload}]}`: attempts to deliver envelopes, oldest first.
- `sockets` -> `{sockets: [number]}`.
- `faults` -> `{faults: {method: calls}}`: the number of calls of each method that still meet a fault.

Users' actions (POST):

- Answered with `{message}`: `say {person, channel, text, thread?, broadcast?, files?: [{name, text | base64,
  mimetype?}], attachments?, blocks?}`, `forward {person, source, ts, channel, text?, thread?}`,
  `edit {person, channel, ts, text}`
- Answered with `{delivered}`: `click {person, channel, ts, action_id, value?}`, `press_home {person, action_id}`,
  `shortcut {person, channel, ts, callback_id}`, `command {person, channel, command, text?}`,
  `submit {person, view, values}`
- Answered with `{event_id}`: `stop {person, channel, thread}`, `rename_session {person, channel, thread, title}`
- `open_dm {person}` -> `{channel, event_id}`, `open_home {person}` -> `{view, event_id}`
- `delete {person, channel, ts}`, `react {person, channel, ts, name, remove?}`, `close {person, view}`,
  `read {person, channel}`, `join {person, channel, inviter?}`, `leave {person, channel}`,
  `convert {person, channel, kind}` to `group` or `channel`

Setup (POST):

- `person {name, display_name?, real_name?, standing?, team?, zone?, locale?, enterprise?}` -> `{person}`. `zone` is an
  IANA name (default: Europe/Athens).
- `channel {name?, kind?, members?, shared?, org_shared?, archived?, app?}` -> `{channel}`
- `group {handle, members}` -> `{usergroup}`
- `organisation {enterprise}`: the workspace and its users become part of an Enterprise Grid organisation.
- `share {channel, end?}`: the channel is shared with another organisation.
- `standing {person, standing, admin?}`: the user becomes a guest, a member, …
- `clock {advance}` -> `{now}`: a daemon may follow this clock (see `daemon.local_slack.clock_feed`).
- `limits {profile}`, `scopes {scopes}`, `lifetimes {stream?, status?}` in seconds
- `emit {event, channel?}`, `{envelope}` or `{repeat: event_id}`
- `fault`: see `daemon.local_slack.fault_orders`.

A refusal is `{ok: false, error, hint}` with status 400, 403 or 404. A request without the workspace's key, or with a
Host or Origin other than this workspace, is refused with 403 (see `daemon.local_slack.sockets`).
"""

from collections.abc import Callable, Mapping
from typing import Final

from aiohttp import web

from daemon.local_slack.control_orders import ControlOrders
from daemon.local_slack.live_feed import LiveFeed
from daemon.local_slack.model import Json
from daemon.local_slack.people_acting import NotPossible, PeopleActing
from daemon.local_slack.request_args import ControlArgs, ControlViews
from daemon.local_slack.workspace import Workspace

# A shared file is downloaded, never run as a page of this origin.
_DOWNLOAD: Final = {
    "X-Content-Type-Options": "nosniff",
    "Content-Disposition": "attachment",
    "Content-Security-Policy": "sandbox; default-src 'none'",
}


class Control:
    """The HTTP handlers of /_control/."""

    def __init__(self, workspace: Workspace) -> None:
        people = PeopleActing(workspace)
        self._views = ControlViews(workspace, people)
        self._orders = ControlOrders(workspace, people)
        self._live = LiveFeed(workspace, people)

    async def read(self, request: web.Request) -> web.StreamResponse:
        """Answer GET /_control/{name}."""
        name = request.match_info["name"]
        args = ControlArgs(dict(request.query))
        try:
            if name == "events":
                return await self._live.handle(request, args)
            if name == "file":
                content, mimetype = self._views.file(args)
                return web.Response(body=content, content_type=mimetype, headers=_DOWNLOAD)
            return self._answer(self._views.table, name, args)
        except NotPossible as refused:
            return _refusal(refused)

    async def act(self, request: web.Request) -> web.StreamResponse:
        """Answer POST /_control/{name}, with a JSON object."""
        try:
            return self._answer(self._orders.table, request.match_info["name"], await _body(request))
        except NotPossible as refused:
            return _refusal(refused)

    def _answer(self, table: Mapping[str, Callable[[ControlArgs], Json]], name: str, args: ControlArgs) -> web.Response:
        if name not in table:
            raise NotPossible("unknown_order", f"known here: {', '.join(sorted(table))}")
        return web.json_response({"ok": True} | table[name](args))


async def _body(request: web.Request) -> ControlArgs:
    try:
        body = await request.json() if request.content_type == "application/json" else None
    except ValueError as error:
        raise NotPossible("invalid_json", "the body is not JSON") from error
    if not isinstance(body, dict):
        raise NotPossible("invalid_json", "send a JSON object with the content type application/json")
    return ControlArgs(body)


def _refusal(refused: NotPossible) -> web.Response:
    status = 404 if refused.error.endswith("_not_found") or refused.error == "unknown_order" else 400
    return web.json_response({"ok": False, "error": refused.error, "hint": refused.hint}, status=status)
