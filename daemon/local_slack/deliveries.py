"""Envelopes for the app, each sent to one socket, with retries of unacknowledged events (Slack: Events API)."""

import json
import secrets
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.faults import Faults
from daemon.local_slack.feed import Feed
from daemon.local_slack.model import Json, Session, UserGroup, WorkspaceChannel, WorkspaceMessage, WorkspaceUser
from daemon.local_slack.slack_json import group_json, message_json, person_json
from daemon.local_slack.sockets import AppSockets
from daemon.local_slack.state import WorkspaceState

_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Retries:
    """The seconds before a retry: `deadline` fails an attempt, `schedule` delays the next."""

    deadline: float = 3.0
    schedule: tuple[float, ...] = (0.0, 60.0, 300.0)


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt to deliver an envelope. Times are workspace seconds, and `socket` is 0 if none was open."""

    envelope_id: str
    event_id: str
    type: str
    event_type: str
    attempt: int
    reason: str
    socket: int
    sent_at: float
    acked_at: float | None = None
    ack_payload: Json | None = None


@dataclass(slots=True)
class _Outgoing:
    kind: str
    payload: Json
    on_ack: Callable[[Json | None], None] | None = None
    acknowledged: bool = False
    envelopes: list[str] = field(default_factory=list)


class Deliveries:
    """The delivery of envelopes, with retries of unacknowledged events, and a log of every attempt."""

    def __init__(
        self, sockets: AppSockets, clock: WorkspaceClock, faults: Faults, feed: Feed, retries: Retries
    ) -> None:
        self._sockets = sockets
        self._clock = clock
        self._faults = faults
        self._feed = feed
        self._retries = retries
        self._log: dict[str, DeliveryAttempt] = {}
        self._waiting: dict[str, _Outgoing] = {}
        self._events: dict[str, Json] = {}
        sockets.acknowledge = self._acknowledge

    @property
    def log(self) -> tuple[DeliveryAttempt, ...]:
        return tuple(self._log.values())

    def event(self, payload: Json) -> str:
        """Send an events_api payload until it is acknowledged or the schedule ends. Return its event id."""
        self._events[payload["event_id"]] = payload
        if len(self._events) > _KEPT:
            del self._events[next(iter(self._events))]
        self._attempt(_Outgoing("events_api", payload))
        if self._faults.spend("duplicates"):
            self._attempt(_Outgoing("events_api", payload))
        return str(payload["event_id"])

    def repeat(self, event_id: str) -> bool:
        """Deliver an earlier event again, with its event id in a new envelope. Return False for an unknown event."""
        payload = self._events.get(event_id)
        if payload is not None:
            self._attempt(_Outgoing("events_api", payload))
        return payload is not None

    def once(self, kind: str, payload: Json, on_ack: Callable[[Json | None], None] | None = None) -> bool:
        """Send an `interactive` or `slash_commands` payload without retries. Return False if no socket is open."""
        return self._attempt(_Outgoing(kind, payload, on_ack))

    def raw(self, envelope: Json) -> bool:
        """Send a given envelope unchanged. Return False if no socket is open."""
        socket = self._sockets.pick()
        if socket is None:
            return False
        payload = envelope.get("payload")
        self._remember(
            DeliveryAttempt(
                str(envelope.get("envelope_id", "")),
                str(payload.get("event_id", "")) if isinstance(payload, dict) else "",
                str(envelope.get("type", "")),
                "",
                int(envelope.get("retry_attempt", 0)),
                str(envelope.get("retry_reason", "")),
                socket.number,
                self._clock.now(),
            )
        )
        socket.send(json.dumps(envelope))
        return True

    def _attempt(self, outgoing: _Outgoing, attempt: int = 0, reason: str = "") -> bool:
        envelope_id = str(uuid.uuid4())
        socket = self._sockets.pick()
        event = outgoing.payload.get("event")
        delivery = DeliveryAttempt(
            envelope_id,
            str(outgoing.payload.get("event_id", "")),
            outgoing.kind,
            str((event if isinstance(event, dict) else outgoing.payload).get("type", "")),
            attempt,
            reason,
            socket.number if socket else 0,
            self._clock.now(),
        )
        self._remember(delivery)
        outgoing.envelopes.append(envelope_id)
        if socket is None:
            self._failed(outgoing, attempt, "connection_failed")
            return False
        self._waiting[envelope_id] = outgoing
        socket.send(json.dumps(_envelope(outgoing, delivery)))
        self._clock.after(self._retries.deadline, lambda: self._failed(outgoing, attempt, "timeout"))
        return True

    def _failed(self, outgoing: _Outgoing, attempt: int, reason: str) -> None:
        if outgoing.acknowledged:
            return
        if outgoing.kind != "events_api" or attempt >= len(self._retries.schedule):
            self._clock.after(self._retries.deadline, lambda: self._forget(outgoing))
            return

        def again() -> None:
            if not outgoing.acknowledged:
                self._attempt(outgoing, attempt + 1, reason)

        self._clock.after(self._retries.schedule[attempt], again)

    def _acknowledge(self, envelope_id: str, payload: Json | None) -> None:
        if self._faults.spend("ignored_acks"):
            return
        delivery = self._log.get(envelope_id)
        if delivery is None or delivery.acked_at is not None:
            return
        self._log[envelope_id] = replace(delivery, acked_at=self._clock.now(), ack_payload=payload)
        self._feed.publish("acknowledged", {"envelope_id": envelope_id, "event_id": delivery.event_id}, internal=True)
        outgoing = self._waiting.get(envelope_id)
        if outgoing is not None and not outgoing.acknowledged:
            outgoing.acknowledged = True
            self._forget(outgoing)
            if outgoing.on_ack is not None:
                outgoing.on_ack(payload)

    def _forget(self, outgoing: _Outgoing) -> None:
        for envelope_id in outgoing.envelopes:
            self._waiting.pop(envelope_id, None)

    def _remember(self, delivery: DeliveryAttempt) -> None:
        self._log[delivery.envelope_id] = delivery
        if len(self._log) > _KEPT:
            del self._log[next(iter(self._log))]
        self._feed.publish(
            "delivery",
            {"envelope_id": delivery.envelope_id, "event_id": delivery.event_id, "attempt": delivery.attempt},
            internal=True,
        )


def _envelope(outgoing: _Outgoing, delivery: DeliveryAttempt) -> Json:
    envelope: Json = {
        "type": outgoing.kind,
        "envelope_id": delivery.envelope_id,
        "payload": outgoing.payload,
        "accepts_response_payload": outgoing.kind != "events_api",
    }
    if outgoing.kind == "events_api":
        envelope |= {"retry_attempt": delivery.attempt, "retry_reason": delivery.reason}
    return envelope


_NOT_IN_NEW = ("reactions", "streaming_state", "chunks")
_IN_MENTIONS = (
    *("user", "text", "ts", "team", "thread_ts", "parent_user_id", "blocks", "client_msg_id", "edited"),
    *("bot_id", "app_id", "bot_profile", "channel", "event_ts"),
)


def message_event(state: WorkspaceState, message: WorkspaceMessage, url: str) -> Json:
    """Return the `message` event of a new message."""
    shape = message_json(state, message, url, metadata=True)
    event = {name: value for name, value in shape.items() if name not in _NOT_IN_NEW}
    if message.broadcast and (root := state.message(message.channel, message.thread_ts)):
        event["root"] = message_json(state, root, url)
    return event | _where(state, message.channel, message.ts)


def mention_event(event: Json) -> Json:
    """Return the `app_mention` event for a message event: same ts, no channel_type, no files."""
    return {"type": "app_mention"} | {name: event[name] for name in _IN_MENTIONS if name in event}


def changed_event(
    state: WorkspaceState, before: WorkspaceMessage, after: WorkspaceMessage, url: str, event_ts: str
) -> Json:
    """Return a `message_changed` event, with the new and the previous version."""
    return {
        "type": "message",
        "subtype": "message_changed",
        "message": message_json(state, after, url, metadata=True),
        "previous_message": message_json(state, before, url),
        "hidden": True,
        "ts": event_ts,
    } | _where(state, after.channel, event_ts)


def deleted_event(state: WorkspaceState, before: WorkspaceMessage, url: str, event_ts: str) -> Json:
    """Return a `message_deleted` event, with the deleted message."""
    return {
        "type": "message",
        "subtype": "message_deleted",
        "deleted_ts": before.ts,
        "previous_message": message_json(state, before, url),
        "hidden": True,
        "ts": event_ts,
    } | _where(state, before.channel, event_ts)


def reaction_event(message: WorkspaceMessage, name: str, user: str, event_ts: str, *, added: bool) -> Json:
    """Return a `reaction_added` or `reaction_removed` event."""
    return {
        "type": "reaction_added" if added else "reaction_removed",
        "user": user,
        "reaction": name,
        "item": {"type": "message", "channel": message.channel, "ts": message.ts},
        "item_user": message.author,
        "event_ts": event_ts,
    }


def joined_event(state: WorkspaceState, channel: WorkspaceChannel, user: str, inviter: str, event_ts: str) -> Json:
    return {
        "type": "member_joined_channel",
        "user": user,
        "channel": channel.id,
        "channel_type": "C" if channel.kind == "channel" else "G",
        "team": state.team.id,
        "event_ts": event_ts,
    } | ({"inviter": inviter} if inviter else {})


def left_event(state: WorkspaceState, channel: WorkspaceChannel, user: str, event_ts: str) -> Json:
    return joined_event(state, channel, user, "", event_ts) | {"type": "member_left_channel"}


def app_left_event(channel: WorkspaceChannel, actor: str, event_ts: str) -> Json:
    """Return a `channel_left` or `group_left` event: the app itself was removed."""
    kind = "channel_left" if channel.kind == "channel" else "group_left"
    return {"type": kind, "channel": channel.id, "actor_id": actor, "event_ts": event_ts}


def archived_event(channel: WorkspaceChannel, user: str, event_ts: str) -> Json:
    """Return a `channel_archive` or `group_archive` event, or one with `unarchive`, by the channel's state."""
    what = "archive" if channel.archived else "unarchive"
    kind = "channel" if channel.kind == "channel" else "group"
    return {"type": f"{kind}_{what}", "channel": channel.id, "user": user, "is_moved": 0, "event_ts": event_ts}


def renamed_event(channel: WorkspaceChannel, event_ts: str) -> Json:
    """Return a `channel_rename` or `group_rename` event. Its `channel` is an object."""
    kind = "channel_rename" if channel.kind == "channel" else "group_rename"
    named = {"id": channel.id, "name": channel.name, "name_normalized": channel.name, "created": channel.created}
    return {"type": kind, "channel": named, "event_ts": event_ts}


def shared_event(state: WorkspaceState, channel: WorkspaceChannel, event_ts: str) -> Json:
    """Return a `channel_shared` or `channel_unshared` event, by the channel's state."""
    event = {"type": "channel_shared", "connected_team_id": "T0ELSEWHERE", "channel": channel.id, "event_ts": event_ts}
    if channel.shared:
        return event
    event["previously_connected_team_id"] = event.pop("connected_team_id")
    return event | {"type": "channel_unshared", "is_ext_shared": False}


def user_event(person: WorkspaceUser, event_ts: str) -> Json:
    """Return a `user_change` event, with the user's current state."""
    return {"type": "user_change", "user": person_json(person), "cache_ts": int(float(event_ts)), "event_ts": event_ts}


def group_event(state: WorkspaceState, group: UserGroup, before: UserGroup | None, now: float) -> Json:
    """Return a `subteam_created` event, or `subteam_members_changed` for an existing group."""
    if before is None:
        return {"type": "subteam_created", "subteam": group_json(state, group), "event_ts": f"{now:.6f}"}
    gone = [user for user in before.members if user not in group.members]
    came = [user for user in group.members if user not in before.members]
    return {
        "type": "subteam_members_changed",
        "subteam_id": group.id,
        "team_id": state.team.id,
        "date_previous_update": int(now),
        "date_update": int(now),
        "added_users": came,
        "added_users_count": str(len(came)),
        "removed_users": gone,
        "removed_users_count": str(len(gone)),
        "event_ts": f"{now:.6f}",
    }


def stopped_event(message: WorkspaceMessage, user: str, streaming: list[str], event_ts: str) -> Json:
    """Return an `agent_session_stopped` event: a user pressed the stop button of a thread."""
    return {
        "type": "agent_session_stopped",
        "user": user,
        "channel": message.channel,
        "thread_ts": message.thread_ts or message.ts,
        "streaming_message_ts": streaming,
        "event_ts": event_ts,
    }


def title_event(session: Session, before: str, user: str, event_ts: str) -> Json:
    """Return an `agent_session_title_changed` event: a user renamed a session."""
    return {
        "type": "agent_session_title_changed",
        "user": user,
        "channel": session.channel,
        "thread_ts": session.thread_ts,
        "title": session.title,
        "previous_title": before,
        "event_ts": event_ts,
    }


def home_event(user: str, dm: str, tab: str, event_ts: str) -> Json:
    """Return an `app_home_opened` event, for the tab `messages` (the DM) or `home`."""
    return {"type": "app_home_opened", "user": user, "channel": dm, "tab": tab, "event_ts": event_ts}


def payload(state: WorkspaceState, event: Json, channel: str, now: float) -> Json:
    """Return the payload of an events_api envelope. Its event id is new, and the same on every delivery."""
    room = state.channels.get(channel)
    return {
        "token": "local",
        "type": "event_callback",
        "team_id": state.team.id,
        "context_team_id": state.team.id,
        "context_enterprise_id": state.team.enterprise or None,
        "api_app_id": state.app.app_id,
        "event": event,
        "event_id": f"Ev0{secrets.token_hex(5).upper()}",
        "event_time": int(now),
        "authorizations": [
            {
                "enterprise_id": state.team.enterprise or None,
                "team_id": state.team.id,
                "user_id": state.app.user,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "is_ext_shared_channel": room is not None and room.shared,
        "event_context": f"4-local-{secrets.token_hex(8)}",
    }


def _where(state: WorkspaceState, channel: str, event_ts: str) -> Json:
    return {"channel": channel, "channel_type": str(state.channels[channel].kind), "event_ts": event_ts}
