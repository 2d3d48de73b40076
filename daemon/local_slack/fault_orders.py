"""Orders for faults, as the control API takes them at `fault`.

Web API: `{method, times?, mode?, status?, headers?, body?, delay?}`; `method` may be `*`; modes: `faults.MethodFault`.
Sockets: `{socket: ORDER, ...}` with one of

- `disconnect {reason, only?}`, `close {code?, only?}`, `reset {only?}`, `frame {text, only?}`: to the open sockets, the
  oldest `only` of them (default all);
- `silence {on}`: nothing is sent or answered, pings neither; `refuse_handshakes {status?, times}`; `dead_tickets
  {times}`: the next addresses given out are good for nothing; `greet {reason, times}`: disconnect right after hello;
- `ignore_acks {times}`: acknowledgements get lost; `duplicate {times}`: the next events are delivered twice;
  `mention_first {on}`: `app_mention` before its `message` twin.

`{chunks: false}`: streams take words alone from now on, and every chunk is refused with `invalid_chunks`.

`{clear: true}` ends all of them.
"""

from collections.abc import Callable
from typing import Final

from daemon.local_slack.faults import FaultMode, MethodFault
from daemon.local_slack.people_acting import NotPossible
from daemon.local_slack.request_args import Ask
from daemon.local_slack.sockets import Link
from daemon.local_slack.workspace import Workspace

_COUNTED: Final = ("dead_tickets", "ignore_acks", "duplicate", "refuse_handshakes", "greet")
_REASONS: Final = ("warning", "refresh_requested", "too_many_websockets", "link_disabled")


def order_fault(workspace: Workspace, ask: Ask) -> None:
    """Carry out one order. Raises NotPossible when it is not understood."""
    if ask.flag("clear"):
        workspace.faults.clear()
    elif ask.has("chunks"):
        workspace.faults.refuse_chunks = not ask.flag("chunks")
    elif ask.has("method"):
        _fault_method(workspace, ask)
    elif ask.text("socket") in _COUNTED:
        _fault_counted(workspace, ask)
    elif ask.text("socket") in ("silence", "mention_first"):
        name = "silent" if ask.text("socket") == "silence" else "mention_first"
        setattr(workspace.faults, name, ask.flag("on"))
    else:
        act = _act_on_link(workspace, ask)
        links = workspace.links.open
        for link in links[: int(ask.number("only", len(links)))]:
            act(link)


def _fault_method(workspace: Workspace, ask: Ask) -> None:
    try:
        mode = FaultMode(ask.text("mode") or "answer")
    except ValueError as fault:
        raise NotPossible("invalid_arguments", f"mode is one of {', '.join(FaultMode)}") from fault
    headers = {str(name): str(value) for name, value in (ask.fields.get("headers") or {}).items()}
    status = int(ask.number("status", 200))
    body = ask.object("body") if ask.has("body") else None
    if body is None and status != 200:  # noqa: PLR2004  # HTTP's own number
        body = {"ok": False, "error": "ratelimited" if status == 429 else "internal_error"}  # noqa: PLR2004  # likewise
    fault_ = MethodFault(ask.text("method"), mode, status, headers, body, ask.number("delay", 0.0))
    workspace.faults.add(fault_, int(ask.number("times", 1)))


def _fault_counted(workspace: Workspace, ask: Ask) -> None:
    faults, times = workspace.faults, int(ask.number("times", 1))
    match ask.text("socket"):
        case "dead_tickets":
            faults.dead_tickets = times
        case "ignore_acks":
            faults.ignored_acks = times
        case "duplicate":
            faults.duplicates = times
        case "refuse_handshakes":
            faults.refuse_handshakes, faults.refuse_status = times, int(ask.number("status", 503))
        case _:
            faults.greetings, faults.greeting = times, _reason(ask)


def _act_on_link(workspace: Workspace, ask: Ask) -> Callable[[Link], None]:
    match ask.text("socket"):
        case "disconnect":
            reason = _reason(ask)
            return lambda link: workspace.links.disconnect(link, reason)
        case "close":
            code = int(ask.number("code", 1000))
            return lambda link: link.close(code)
        case "reset":
            return lambda link: link.reset()
        case "frame":
            text = ask.text("text")
            return lambda link: link.send(text)
        case other:
            raise NotPossible("invalid_arguments", f"{other!r} is no fault that is known here")


def _reason(ask: Ask) -> str:
    if ask.text("reason") not in _REASONS:
        raise NotPossible("invalid_arguments", f"reason is one of {', '.join(_REASONS)}")
    return ask.text("reason")
