"""The workspace as a whole: one method for each change, which publishes it to the feed and raises Slack's events."""

import itertools
import math
from collections import deque
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from daemon.local_slack import deliveries as events
from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.deliveries import Deliveries, Retries
from daemon.local_slack.faults import Faults
from daemon.local_slack.feed import Feed
from daemon.local_slack.interactions import Interactions
from daemon.local_slack.modals import Modal
from daemon.local_slack.model import (
    ChannelKind,
    Json,
    Prompts,
    Reaction,
    Status,
    Streaming,
    UserGroup,
    WorkspaceChannel,
    WorkspaceMessage,
    WorkspaceUser,
    mentions,
)
from daemon.local_slack.slack_json import message_json
from daemon.local_slack.sockets import AppSockets
from daemon.local_slack.state import WorkspaceState


class Profile(StrEnum):
    """The profile of rate limits."""

    OFF = "off"
    SLACK = "slack"


class Tier(StrEnum):
    """The tiers of Slack's rate limits. POSTING limits per channel, FREE has no limit."""

    ONE = "1"
    TWO = "2"
    THREE = "3"
    FOUR = "4"
    POSTING = "posting"
    FREE = "free"


CALLS_PER_MINUTE: Final = {Tier.ONE: 1, Tier.TWO: 20, Tier.THREE: 50, Tier.FOUR: 100}
"""The guaranteed minimum of calls per tier (Slack). Tier 1 allows a small burst: several sockets can open at start."""
_TIER_ONE_BURST: Final = 10
_POST_BURST: Final = 4
_MINUTE: Final = 60.0


class RateLimits:
    """The counts of calls per method, and posts per channel, by the workspace's clock."""

    def __init__(self, profile: Profile = Profile.OFF) -> None:
        self.profile = profile
        self._calls: dict[str, deque[float]] = {}
        self._posts: dict[str, tuple[float, float]] = {}

    def check(self, method: str, tier: Tier, channel: str, now: float) -> int:
        """Return 0 if the call is allowed, else the whole seconds to wait (Retry-After)."""
        if self.profile is Profile.OFF or tier is Tier.FREE:
            return 0
        return self._check_post(channel, now) if tier is Tier.POSTING else self._check_tier(method, tier, now)

    def _check_tier(self, method: str, tier: Tier, now: float) -> int:
        allowed = _TIER_ONE_BURST if tier is Tier.ONE else CALLS_PER_MINUTE[tier]
        calls = self._calls.setdefault(method, deque())
        while calls and calls[0] <= now - _MINUTE:
            calls.popleft()
        if len(calls) >= allowed:
            return max(1, math.ceil(calls[0] + _MINUTE - now))
        calls.append(now)
        return 0

    def _check_post(self, channel: str, now: float) -> int:
        left, since = self._posts.get(channel, (float(_POST_BURST), now))
        left = min(float(_POST_BURST), left + now - since)
        if left < 1:
            self._posts[channel] = (left, now)
            return max(1, math.ceil(1 - left))
        self._posts[channel] = (left - 1, now)
        return 0


_CALLS_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class CallRecord:
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
        self.url = ""
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
        return message_json(self.state, message, self.url, metadata=metadata) | {"channel": message.channel}

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
            stamp = self.new_ts(after.channel)
            self._raise(events.changed_event(self.state, before, after, self.url, stamp), after.channel)
        return after

    def withdraw(self, message: WorkspaceMessage) -> None:
        """Delete a message. A root with replies becomes a tombstone. Raises `message_deleted`."""
        timeline = self.state.timeline(message.channel)
        if timeline.replies(message.ts):
            tombstone = WorkspaceMessage(
                message.channel,
                "USLACKBOT",
                "This message was deleted.",
                ts=message.ts,
                thread_ts=message.ts,
                subtype="tombstone",
            )
            timeline.put(tombstone)
            self._publish("message_changed", tombstone)
        else:
            timeline.remove(message.ts)
            gone = {"channel": message.channel, "ts": message.ts, "thread_ts": message.thread_ts}
            self.feed.publish("message_deleted", gone, channel=message.channel)
        event = events.deleted_event(self.state, message, self.url, self.new_ts(message.channel))
        self._raise(event, message.channel)

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
        event = events.reaction_event(message, name, user, self.new_ts(message.channel), added=add)
        self._raise(event, message.channel)
        return True

    def show_to_one(self, person: str, message: WorkspaceMessage) -> WorkspaceMessage:
        """Show an ephemeral message to one user. It is in no timeline and raises no event."""
        message = replace(message, ts=self.new_ts(message.channel))
        self.state.ephemerals.setdefault(person, []).append(message)
        shape = self.message_json(message) | {"is_ephemeral": True}
        self.feed.publish("ephemeral", {"channel": message.channel, "message": shape}, person=person)
        return message

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
        self.state.channels[channel.id] = channel
        self.feed.publish("channel", {"channel": channel.id}, channel=channel.id)

    def join(self, channel: WorkspaceChannel, person: str, inviter: str = "") -> WorkspaceChannel:
        """Add a user to a channel. Raises `member_joined_channel` and posts a `channel_join` message."""
        if person in channel.members:
            return channel
        room = self.state.join(channel.id, person)
        self.feed.publish("channel", {"channel": room.id}, channel=room.id)
        self._raise(events.joined_event(self.state, room, person, inviter, self.new_ts(room.id)), room.id)
        line = WorkspaceMessage(room.id, person, f"<@{person}> has joined the channel", subtype="channel_join")
        self.post(replace(line, inviter=inviter))
        return room

    def leave(self, channel: WorkspaceChannel, person: str) -> None:
        """Remove a user from a channel. Posts a `channel_leave` message, and the app gets its own `channel_left`."""
        self.post(WorkspaceMessage(channel.id, person, f"<@{person}> has left the channel", subtype="channel_leave"))
        room = self.state.leave(channel.id, person)
        self.feed.publish("channel", {"channel": room.id}, channel=room.id)
        self._raise(events.left_event(self.state, room, person, self.new_ts(room.id)), room.id)
        if person == self.state.app.user:
            self.raise_event(events.app_left_event(room, person, self.new_ts(room.id)), room.id)

    def convert(self, channel: WorkspaceChannel, kind: ChannelKind, person: str) -> None:
        """Make a channel private or public. Its one event is a message whose `channel_type` is the new kind."""
        self.state.channels[channel.id] = replace(channel, kind=kind)
        self.feed.publish("channel", {"channel": channel.id}, channel=channel.id)
        word = "private" if kind is ChannelKind.PRIVATE else "public"
        text = f"made this channel *{word}*."
        self.post(WorkspaceMessage(channel.id, person, text, subtype=f"channel_convert_to_{word}"))

    def share(self, channel: WorkspaceChannel, *, shared: bool) -> None:
        """Connect a channel with another organisation, or end that. Raises `channel_shared` or `channel_unshared`."""
        room = replace(channel, shared=shared)
        self.change_room(room, events.shared_event(self.state, room, self.new_ts(room.id)))

    def change_room(self, room: WorkspaceChannel, event: Json) -> None:
        """Replace a channel by a changed version, and raise the event."""
        self.state.channels[room.id] = room
        self.feed.publish("channel", {"channel": room.id}, channel=room.id)
        self._raise(event, room.id)

    def change_person(self, person: WorkspaceUser) -> None:
        """Replace a user by a changed version. Raises `user_change`."""
        self.add_person(person)
        self.raise_event(events.user_event(person, f"{self.clock.now():.6f}"))

    def change_group(self, group: UserGroup) -> None:
        """Create a user group or change its members. Raises `subteam_created` or `subteam_members_changed`."""
        before = self.state.groups.get(group.id)
        self.state.groups[group.id] = group
        self.raise_event(events.group_event(self.state, group, before, self.clock.now()))

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
        room = self.open_dm(person)
        return self.raise_event(events.home_event(person, room.id, tab, self.new_ts(room.id)), room.id)

    def stop_session(self, message: WorkspaceMessage, person: str) -> str:
        """Press stop in a thread as a user. Its status stays. Raises `agent_session_stopped`. Return the event id."""
        thread = message.thread_ts or message.ts
        timeline = self.state.timeline(message.channel)
        replies = (one for ts in timeline.replies(thread) if (one := timeline.get(ts)))
        streaming = [one.ts for one in replies if one.streaming is Streaming.OPEN]
        stamp = self.new_ts(message.channel)
        return self.raise_event(events.stopped_event(message, person, streaming, stamp), message.channel)

    # -- events and calls -------------------------------------------------------------------------------------------

    def raise_event(self, event: Json, channel: str = "") -> str:
        """Deliver any event to the app. Return the event id."""
        return self.deliveries.event(events.payload(self.state, event, channel, self.clock.now()))

    def record_call(self, method: str, args: Json, at: float, status: int, answer: Json) -> None:
        """Log a Web API call and publish it."""
        record = CallRecord(next(self._call_numbers), method, args, at, status, answer)
        self.calls.append(record)
        self.feed.publish("call", {"number": record.number, "method": method, "status": status}, internal=True)

    def _raise_new(self, message: WorkspaceMessage) -> None:
        event = events.message_event(self.state, message, self.url)
        twins = [event]
        if (
            mentions(message.text, self.state.app.user)
            and message.author != self.state.app.user
            and self.state.channels[message.channel].kind is not ChannelKind.DM
        ):
            twins.append(events.mention_event(event))
        for twin in reversed(twins) if self.faults.mention_first else twins:
            self._raise(twin, message.channel)

    def _raise(self, event: Json, channel: str) -> None:
        if self.state.app_is_in(self.state.channels[channel]):
            self.raise_event(event, channel)

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
