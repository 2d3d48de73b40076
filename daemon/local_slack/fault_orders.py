"""The orders of the control API's `fault`.

Web API: `{method, times?, mode?, status?, headers?, body?, delay?}`. `method` may be `*`. Modes: `faults.MethodFault`.
Sockets: `{socket: ORDER, ...}` with one of

- `disconnect {reason, only?}`, `close {code?, only?}`, `reset {only?}`, `frame {text, only?}`: applied to the open
  sockets, or to the oldest `only` of them
- `silence {on}`: the workspace sends and answers nothing, not even pings
- `refuse_handshakes {status?, times}`
- `dead_tickets {times}`: the next tickets are invalid
- `greet {reason, times}`: disconnect right after hello
- `ignore_acks {times}`: the next acknowledgements are dropped
- `duplicate {times}`: the next events are delivered twice
- `mention_first {on}`: `app_mention` comes before its `message` twin

States of a channel, until `clear`: `{room, archived: true}`, `{room, posting: CODE}` with one of the codes of
`daemon.local_slack.model.Posting`, `{room, lock: ts}` for one thread.

`{chunks: false}`: from now on streams refuse every chunk with `invalid_chunks` and take only text.

`{clear: true}` ends all faults.
"""

from collections.abc import Callable
from http import HTTPStatus
from types import MappingProxyType
from typing import Final

from daemon.local_slack.faults import FaultMode, MethodFault
from daemon.local_slack.model import Posting
from daemon.local_slack.people_acting import NotPossible
from daemon.local_slack.request_args import ControlArgs
from daemon.local_slack.sockets import AppSocket
from daemon.local_slack.workspace import Workspace

_COUNTERS: Final = MappingProxyType(
    {
        "dead_tickets": "dead_tickets",
        "ignore_acks": "ignored_acks",
        "duplicate": "duplicates",
        "refuse_handshakes": "refuse_handshakes",
        "greet": "greetings",
    }
)
_SWITCHES: Final = MappingProxyType({"silence": "silent", "mention_first": "mention_first"})
_REASONS: Final = ("warning", "refresh_requested", "too_many_websockets", "link_disabled")


def order_fault(workspace: Workspace, args: ControlArgs) -> None:
    """Carry out one order. Raises NotPossible for an unknown or malformed one."""
    order = args.text("socket")
    if args.flag("clear"):
        workspace.faults.clear()
    elif args.has("chunks"):
        workspace.faults.refuse_chunks = not args.flag("chunks")
    elif args.has("room"):
        _change_room(workspace, args)
    elif args.has("method"):
        _fault_method(workspace, args)
    elif order in _COUNTERS:
        _fault_counted(workspace, args)
    elif order in _SWITCHES:
        setattr(workspace.faults, _SWITCHES[order], args.flag("on"))
    else:
        act = _act_on_socket(workspace, args)
        sockets = workspace.sockets.open
        for socket in sockets[: int(args.number("only", len(sockets)))]:
            act(socket)


def _change_room(workspace: Workspace, args: ControlArgs) -> None:
    room = workspace.state.channel_named(args.text("room"))
    if room is None:
        raise NotPossible("channel_not_found", f"no channel is called {args.text('room')!r}")
    if args.flag("archived"):
        workspace.faults.archived.add(room.id)
    if args.has("posting"):
        workspace.faults.posting[room.id] = args.choice("posting", Posting)
    if args.has("lock"):
        workspace.faults.locked.add((room.id, args.text("lock")))


def _fault_method(workspace: Workspace, args: ControlArgs) -> None:
    mode = args.choice("mode", FaultMode, "answer")
    headers = {str(name): str(value) for name, value in (args.fields.get("headers") or {}).items()}
    status = int(args.number("status", HTTPStatus.OK))
    body = args.object("body") if args.has("body") else None
    if body is None and status != HTTPStatus.OK:
        limited = status == HTTPStatus.TOO_MANY_REQUESTS
        body = {"ok": False, "error": "ratelimited" if limited else "internal_error"}
    fault = MethodFault(args.text("method"), mode, status, headers, body, args.number("delay", 0.0))
    workspace.faults.add(fault, int(args.number("times", 1)))


def _fault_counted(workspace: Workspace, args: ControlArgs) -> None:
    faults, order, times = workspace.faults, args.text("socket"), int(args.number("times", 1))
    if order == "refuse_handshakes":
        faults.refuse_status = int(args.number("status", HTTPStatus.SERVICE_UNAVAILABLE))
    elif order == "greet":
        faults.greeting = _reason(args)
    setattr(faults, _COUNTERS[order], times)


def _act_on_socket(workspace: Workspace, args: ControlArgs) -> Callable[[AppSocket], None]:
    match args.text("socket"):
        case "disconnect":
            reason = _reason(args)
            return lambda socket: workspace.sockets.disconnect(socket, reason)
        case "close":
            code = int(args.number("code", 1000))
            return lambda socket: socket.close(code)
        case "reset":
            return lambda socket: socket.reset()
        case "frame":
            text = args.text("text")
            return lambda socket: socket.send(text)
        case other:
            raise NotPossible("invalid_arguments", f"there is no fault called {other!r}")


def _reason(args: ControlArgs) -> str:
    if args.text("reason") not in _REASONS:
        raise NotPossible("invalid_arguments", f"reason is one of {', '.join(_REASONS)}")
    return args.text("reason")
