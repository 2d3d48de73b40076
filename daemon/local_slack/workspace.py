"""The workspace as a whole: one method for each change, which publishes it to the feed and raises Slack's events."""

import itertools
from collections import deque

from msgspec.structs import asdict, replace

from daemon.core.value import Value
from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.faults import Faults, RateLimits
from daemon.local_slack.feed import Feed
from daemon.local_slack.interactions import Interactions
from daemon.local_slack.model import (
    ChannelKind,
    Json,
    Modal,
    Prompts,
    Reaction,
    Session,
    Status,
    Streaming,
    UserGroup,
    WorkspaceChannel,
    WorkspaceMessage,
    WorkspaceUser,
    mentions,
)
from daemon.local_slack.slack_json import (
    event_payload,
    group_json,
    mention_event,
    message_event,
    message_json,
    person_json,
)
from daemon.local_slack.sockets import AppSockets, Deliveries, Retries
from daemon.local_slack.state import FOREIGN_TEAM, WorkspaceState

_CALLS_KEPT = 50_000


class CallRecord(Value):
    """One answered Web API call: `args` without tokens, `at` in workspace seconds, status 0: connection dropped."""

    number: int
    method: str
    args: Json
    at: float
    status: int
    answer: Json


class Workspace:
    """The state of the workspace, its clock, feed, sockets, faults and rate limits, and every change of them."""

    def __init__(
        self,
        state: WorkspaceState,
        clock: WorkspaceClock,
        *,
        limits: RateLimits,
        retries: Retries,
        scopes: frozenset[str],
    ) -> None:
        self.state = state
        self.clock = clock
        self.limits = limits
        self.scopes = scopes
        self.stream_life = 320.0
        self.status_life = 120.0
        self.feed = Feed(state)
        self.faults = Faults()
        self.sockets = AppSockets(state.app.app_id, clock, self.faults, self.feed)
        self.deliveries = Deliveries(self.sockets, clock, self.faults, self.feed, retries)
        self.interactions = Interactions(clock)
        self.modals: dict[str, Modal] = {}
        self.calls: deque[CallRecord] = deque(maxlen=_CALLS_KEPT)
        self._call_numbers = itertools.count(1)
        self._present: set[str] = set()
        self.sockets.app_came_or_went = lambda present: self.set_presence(state.app.user, present=present)

    def new_ts(self, channel: str) -> str:
        """Return a ts for now in a channel, larger than all ts given before."""
        return self.state.timeline(channel).next_ts(self.clock.now())

    def message_json(self, message: WorkspaceMessage, *, metadata: bool = False) -> Json:
        """Return Slack's message object plus its `channel`."""
        return message_json(self.state, message, metadata=metadata) | {"channel": message.channel}

    # -- messages ---------------------------------------------------------------------------------------------------

    def post(self, message: WorkspaceMessage) -> WorkspaceMessage:
        """Store a new message under a fresh ts and publish it. Raises `message`, and `app_mention` for a mention."""
        message = replace(message, ts=self.new_ts(message.channel))
        self.state.timeline(message.channel).put(message)
        if message.author == self.state.app.user and message.thread_ts:
            self.show_status(message.channel, message.thread_ts, "", ())
        self._publish("message", message)
        if message.is_reply:
            self._publish_thread(message)
        self._raise_new(message)
        return message

    def revise(self, after: WorkspaceMessage, *, event: bool = True) -> WorkspaceMessage:
        """Replace a message by its new version and publish it. Raises `message_changed` unless `event` is false."""
        timeline = self.state.timeline(after.channel)
        before = timeline.get(after.ts) or after
        timeline.put(after)
        self._publish("message_changed", after)
        if event:
            shape = message_json(self.state, after, metadata=True)
            self._raise_hidden("message_changed", before, message=shape)
        return after

    def withdraw(self, message: WorkspaceMessage) -> None:
        """Delete a message. A root with replies becomes a tombstone. Raises `message_deleted`."""
        timeline = self.state.timeline(message.channel)
        if timeline.replies(message.ts):
            gone = WorkspaceMessage(message.channel, "USLACKBOT", "This message was deleted.", ts=message.ts)
            tombstone = replace(gone, thread_ts=message.ts, subtype="tombstone")
            timeline.put(tombstone)
            self._publish("message_changed", tombstone)
        else:
            timeline.remove(message.ts)
            place = {"channel": message.channel, "ts": message.ts, "thread_ts": message.thread_ts}
            self.feed.publish("message_deleted", place, channel=message.channel)
        self._raise_hidden("message_deleted", message, deleted_ts=message.ts)

    def react(self, message: WorkspaceMessage, name: str, user: str, *, add: bool) -> bool:
        """Add or remove a reaction. Return False if nothing changes. Raises `reaction_added` or `reaction_removed`."""
        users = {r.name: r.users for r in message.reactions}
        chosen = users.get(name, ())
        if (user in chosen) is add:
            return False
        users[name] = (*chosen, user) if add else tuple(u for u in chosen if u != user)
        reactions = tuple(Reaction(emoji, who) for emoji, who in users.items() if who)
        after = replace(message, reactions=reactions)
        self.state.timeline(message.channel).put(after)
        self._publish("reaction", after)
        event = {
            "type": "reaction_added" if add else "reaction_removed",
            "user": user,
            "reaction": name,
            "item": {"type": "message", "channel": message.channel, "ts": message.ts},
            "item_user": message.author,
            "event_ts": self.new_ts(message.channel),
        }
        self._tell(event, message.channel)
        return True

    def show_to_one(self, person: str, message: WorkspaceMessage) -> WorkspaceMessage:
        """Show an ephemeral message to one user. It is in no timeline and raises no event."""
        message = replace(message, ts=self.new_ts(message.channel))
        self.state.ephemerals.setdefault(person, []).append(message)
        shape = self.message_json(message) | {"is_ephemeral": True}
        self.feed.publish("ephemeral", {"channel": message.channel, "message": shape}, person=person)
        return message

    def respond(self, person: str, message: WorkspaceMessage, *, in_channel: bool) -> None:
        """Show the app's response to an interaction: to everyone in the channel, or to its user."""
        if in_channel:
            self.post(message)
        else:
            self.show_to_one(person, message)

    def current(self, message: WorkspaceMessage) -> WorkspaceMessage:
        """Return a message's current version. A stream expires `stream_life` seconds after its start."""
        if message.streaming is not Streaming.OPEN or self.clock.now() < float(message.ts) + self.stream_life:
            return message
        return self.revise(replace(message, streaming=Streaming.EXPIRED), event=False)

    # -- what the app shows -----------------------------------------------------------------------------------------

    def show_status(self, channel: str, thread_ts: str, text: str, loading: tuple[str, ...]) -> None:
        """Set or clear the status line of a thread. It expires after `status_life` seconds."""
        key = (channel, thread_ts)
        if not text and key not in self.state.statuses:
            return
        if text:
            if session := self.state.sessions.get(key):
                self.state.sessions[key] = replace(session, covered=True)
            self.state.statuses[key] = Status(text, loading, self.clock.now() + self.status_life)
            self.clock.after(self.status_life, lambda: self._expire_status(key))
        else:
            del self.state.statuses[key]
        line = {"channel": channel, "thread_ts": thread_ts, "status": text, "loading_messages": list(loading)}
        self.feed.publish("status", line, channel=channel)

    def show_prompts(self, channel: str, prompts: Prompts) -> None:
        self.state.prompts[channel] = prompts
        shape = {"channel": channel, "title": prompts.title, "prompts": list(prompts.prompts)}
        self.feed.publish("prompts", shape, channel=channel)

    def set_session(self, session: Session) -> None:
        self.state.sessions[session.channel, session.thread_ts] = session
        shape = {name: value for name, value in asdict(session).items() if name != "covered"}
        self.feed.publish("session", shape, channel=session.channel)

    def set_presence(self, person: str, *, present: bool) -> None:
        """Record the presence of a user, or the app, and publish a change."""
        if present is (person in self._present):
            return
        self._present ^= {person}
        self.feed.publish("presence", {"person": person, "active": present})

    def is_present(self, person: str) -> bool:
        """Return True if a user has a page open, or the app a socket."""
        return person in self._present

    # -- channels and users -----------------------------------------------------------------------------------------

    def add_person(self, person: WorkspaceUser) -> None:
        self.state.people[person.id] = person
        self.feed.publish("person", {"person": person.id})

    def add_channel(self, channel: WorkspaceChannel) -> None:
        """Add a channel, or replace it by a changed version."""
        self.state.channels[channel.id] = channel
        self.feed.publish("channel", {"channel": channel.id}, channel=channel.id)

    def join(self, channel: WorkspaceChannel, person: str, inviter: str = "") -> WorkspaceChannel:
        """Add a user to a channel. Raises `member_joined_channel` and posts a `channel_join` message."""
        if person in channel.members:
            return channel
        room = replace(channel, members=(*channel.members, person))
        self.add_channel(room)
        invited = {"inviter": inviter} if inviter else {}
        self._raise("member_joined_channel", room.id, user=person, **self._place_of(room), **invited)
        line = WorkspaceMessage(room.id, person, f"<@{person}> has joined the channel", subtype="channel_join")
        self.post(replace(line, inviter=inviter))
        return room

    def leave(self, channel: WorkspaceChannel, person: str) -> None:
        """Remove a user from a channel. Posts a `channel_leave` message, and the app gets its own `channel_left`."""
        self.post(WorkspaceMessage(channel.id, person, f"<@{person}> has left the channel", subtype="channel_leave"))
        room = replace(channel, members=tuple(one for one in channel.members if one != person))
        self.add_channel(room)
        self._raise("member_left_channel", room.id, user=person, **self._place_of(room))
        if person == self.state.app.user:
            event = {"type": f"{_sort(room)}_left", "channel": room.id, "actor_id": person}
            self.raise_event(event | {"event_ts": self.new_ts(room.id)}, room.id)

    def convert(self, channel: WorkspaceChannel, kind: ChannelKind, person: str) -> None:
        """Make a channel private or public. Its one event is a message whose `channel_type` is the new kind."""
        self.add_channel(replace(channel, kind=kind))
        word = "private" if kind is ChannelKind.PRIVATE else "public"
        text = f"made this channel *{word}*."
        self.post(WorkspaceMessage(channel.id, person, text, subtype=f"channel_convert_to_{word}"))

    def share(self, channel: WorkspaceChannel, *, shared: bool) -> None:
        """Connect a channel with another organisation, or end that. Raises `channel_shared` or `channel_unshared`."""
        self.add_channel(replace(channel, shared=shared))
        if shared:
            self._raise("channel_shared", channel.id, connected_team_id=FOREIGN_TEAM)
        else:
            ended = {"previously_connected_team_id": FOREIGN_TEAM, "is_ext_shared": False}
            self._raise("channel_unshared", channel.id, **ended)

    def archive(self, channel: WorkspaceChannel, person: str, *, archived: bool) -> None:
        """Archive a channel, or end that. Raises `channel_archive`, `group_unarchive` …"""
        self.add_channel(replace(channel, archived=archived))
        kind = f"{_sort(channel)}_{'archive' if archived else 'unarchive'}"
        self._raise(kind, channel.id, user=person, is_moved=0)

    def rename(self, channel: WorkspaceChannel, name: str) -> None:
        """Rename a channel. Raises `channel_rename` or `group_rename`, whose `channel` is an object."""
        self.add_channel(replace(channel, name=name))
        shape = {"id": channel.id, "name": name, "name_normalized": name, "created": channel.created}
        self._raise(f"{_sort(channel)}_rename", channel.id, channel=shape)

    def change_person(self, person: WorkspaceUser) -> None:
        """Replace a user by a changed version. Raises `user_change`."""
        self.add_person(person)
        now = self.clock.now()
        user = {"user": person_json(person), "cache_ts": int(now)}
        self.raise_event({"type": "user_change", **user, "event_ts": f"{now:.6f}"})

    def change_group(self, group: UserGroup) -> None:
        """Create a user group or change its members. Raises `subteam_created` or `subteam_members_changed`."""
        before = self.state.groups.get(group.id)
        self.state.groups[group.id] = group
        now = self.clock.now()
        if before is None:
            event: Json = {"type": "subteam_created", "subteam": group_json(self.state, group)}
        else:
            came = [user for user in group.members if user not in before.members]
            gone = [user for user in before.members if user not in group.members]
            event = {
                "type": "subteam_members_changed",
                "subteam_id": group.id,
                "team_id": self.state.team.id,
                "date_previous_update": int(now),
                "date_update": int(now),
                "added_users": came,
                "added_users_count": str(len(came)),
                "removed_users": gone,
                "removed_users_count": str(len(gone)),
            }
        self.raise_event(event | {"event_ts": f"{now:.6f}"})

    def open_dm(self, person: str) -> WorkspaceChannel:
        """Return the DM between a user and the app, created if missing."""
        room = self.state.dm_of(person)
        if room is None:
            known = self.state.people[person]
            members = (person, self.state.app.user)
            room = WorkspaceChannel(
                self.state.new_id("D", known.name), "", ChannelKind.DM, members, created=int(self.clock.now())
            )
            self.add_channel(room)
        return room

    def open_home(self, person: str, tab: str) -> str:
        """Open the app's DM (`messages`) or `home` tab as a user. Raises `app_home_opened`. Return the event id."""
        return self._raise("app_home_opened", self.open_dm(person).id, user=person, tab=tab)

    def stop_session(self, message: WorkspaceMessage, person: str) -> str:
        """Press stop in a thread as a user. Its status stays. Raises `agent_session_stopped`. Return the event id."""
        thread = message.thread_ts or message.ts
        timeline = self.state.timeline(message.channel)
        replies = (one for ts in timeline.replies(thread) if (one := timeline.get(ts)))
        fields = {"thread_ts": thread, "streaming_message_ts": [r.ts for r in replies if r.streaming is Streaming.OPEN]}
        return self._raise("agent_session_stopped", message.channel, user=person, **fields)

    def rename_session(self, session: Session, title: str, person: str) -> str:
        """Rename a session as a user. Raises `agent_session_title_changed`. Return the event id."""
        self.set_session(replace(session, title=title))
        titles = {"thread_ts": session.thread_ts, "title": title, "previous_title": session.title}
        return self._raise("agent_session_title_changed", session.channel, user=person, **titles)

    # -- events and calls -------------------------------------------------------------------------------------------

    def raise_event(self, event: Json, channel: str = "") -> str:
        """Deliver any event to the app. Return the event id."""
        return self.deliveries.event(event_payload(self.state, event, channel, self.clock.now()))

    def record_call(self, method: str, args: Json, at: float, status: int, answer: Json) -> None:
        """Log a Web API call and publish it."""
        record = CallRecord(next(self._call_numbers), method, args, at, status, answer)
        self.calls.append(record)
        self.feed.publish("call", {"number": record.number, "method": method, "status": status}, internal=True)

    def _raise_new(self, message: WorkspaceMessage) -> None:
        event = message_event(self.state, message)
        twins = [event]
        if (
            mentions(message.text, self.state.app.user)
            and message.author != self.state.app.user
            and self.state.channels[message.channel].kind is not ChannelKind.DM
        ):
            twins.append(mention_event(event))
        for twin in reversed(twins) if self.faults.mention_first else twins:
            self._tell(twin, message.channel)

    def _raise_hidden(self, subtype: str, before: WorkspaceMessage, **fields: object) -> None:
        stamp = self.new_ts(before.channel)
        previous = message_json(self.state, before)
        place = {"channel_type": str(self.state.channels[before.channel].kind), "ts": stamp, "event_ts": stamp}
        changed = {"subtype": subtype, "previous_message": previous, "hidden": True, **place, **fields}
        self._raise("message", before.channel, **changed)

    def _raise(self, kind: str, channel: str, /, **fields: object) -> str:
        """Raise an event of a channel now. Return its id, or '' without the app in the channel."""
        return self._tell({"type": kind, "channel": channel, "event_ts": self.new_ts(channel)} | fields, channel)

    def _tell(self, event: Json, channel: str) -> str:
        return self.raise_event(event, channel) if self.state.app_is_in(self.state.channels[channel]) else ""

    def _place_of(self, room: WorkspaceChannel) -> Json:
        return {"channel_type": "C" if room.kind is ChannelKind.PUBLIC else "G", "team": self.state.team.id}

    def _publish(self, kind: str, message: WorkspaceMessage) -> None:
        data = {"channel": message.channel, "message": self.message_json(message)}
        self.feed.publish(kind, data, channel=message.channel, recipient=message.recipient)

    def _publish_thread(self, reply: WorkspaceMessage) -> None:
        count = len(self.state.timeline(reply.channel).replies(reply.thread_ts))
        shape = {"channel": reply.channel, "ts": reply.thread_ts, "reply_count": count, "latest_reply": reply.ts}
        self.feed.publish("thread", shape, channel=reply.channel)

    def _expire_status(self, key: tuple[str, str]) -> None:
        status = self.state.statuses.get(key)
        if status is not None and status.until <= self.clock.now():
            self.show_status(*key, "", ())


def _sort(room: WorkspaceChannel) -> str:
    """Return the word that begins the names of a channel's events."""
    return "channel" if room.kind is ChannelKind.PUBLIC else "group"
