"""The workspace as a whole: every change is one verb here, is told to the feed, and raises Slack's events."""

import itertools
import uuid
from collections import deque
from dataclasses import dataclass, replace

from daemon.local_slack import events
from daemon.local_slack.clock import WorkspaceClock
from daemon.local_slack.deliveries import Deliveries, Retries
from daemon.local_slack.faults import Faults
from daemon.local_slack.feed import Feed
from daemon.local_slack.interactions import Interactions
from daemon.local_slack.limits import Limits
from daemon.local_slack.model import Channel, ChannelKind, Json, Message, Person, Prompts, Reaction, Status, Streaming
from daemon.local_slack.slack_json import message_json
from daemon.local_slack.sockets import Links
from daemon.local_slack.state import State
from daemon.local_slack.text import mentions

_CALLS_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class CallRecord:
    """One Web API call as it was answered; `args` without tokens, `at` in workspace seconds, status 0: dropped."""

    number: int
    method: str
    args: Json
    at: float
    status: int
    answer: Json


class Workspace:
    """State, clock, feed, sockets, faults and limits, and what can happen to them."""

    def __init__(
        self, state: State, clock: WorkspaceClock, *, limits: Limits, retries: Retries, scopes: frozenset[str]
    ) -> None:
        self.state = state
        self.clock = clock
        self.limits = limits
        self.scopes = scopes
        self.url = ""
        self.stream_life = 300.0
        self.status_life = 120.0
        self.feed = Feed(state)
        self.faults = Faults()
        self.links = Links(state.app.app_id, clock, self.faults, self.feed)
        self.deliveries = Deliveries(self.links, clock, self.faults, self.feed, retries)
        self.interactions = Interactions(clock)
        self.calls: deque[CallRecord] = deque(maxlen=_CALLS_KEPT)
        self._call_numbers = itertools.count(1)
        self._present: set[str] = set()
        self.links.app_came_or_went = lambda present: self.be_present(state.app.user, present=present)

    # -- messages ---------------------------------------------------------------------------------------------------

    def post(self, message: Message) -> Message:
        """Give a new message its ts, store it, show it, and raise `message` (and `app_mention`)."""
        state = self.state
        timeline = state.timeline(message.channel)
        message = replace(message, ts=timeline.next_ts(self.clock.now()))
        timeline.put(message)
        if message.author == state.app.user and message.thread_ts:
            self.show_status(message.channel, message.thread_ts, "", ())
        self._show("message", message)
        if message.is_reply:
            self._show_thread(message)
        self._raise_new(message)
        return message

    def revise(self, after: Message, *, event: bool = True) -> Message:
        """Replace a message by a newer version of itself, show it, and raise `message_changed`."""
        timeline = self.state.timeline(after.channel)
        before = timeline.get(after.ts) or after
        timeline.put(after)
        self._show("message_changed", after)
        if event:
            stamp = timeline.next_ts(self.clock.now())
            self._raise(events.changed_event(self.state, before, after, self.url, stamp), after.channel)
        return after

    def withdraw(self, message: Message) -> None:
        """Delete a message; a root with replies leaves a tombstone. Raises `message_deleted`."""
        timeline = self.state.timeline(message.channel)
        if timeline.replies(message.ts):
            stone = Message(
                message.channel,
                "USLACKBOT",
                "This message was deleted.",
                ts=message.ts,
                thread_ts=message.ts,
                subtype="tombstone",
            )
            timeline.put(stone)
            self._show("message_changed", stone)
        else:
            timeline.remove(message.ts)
            gone = {"channel": message.channel, "ts": message.ts, "thread_ts": message.thread_ts}
            self.feed.publish("message_deleted", gone, channel=message.channel)
        stamp = timeline.next_ts(self.clock.now())
        self._raise(events.deleted_event(self.state, message, self.url, stamp), message.channel)

    def react(self, message: Message, name: str, user: str, *, add: bool) -> bool:
        """Add or remove a reaction; false when nothing had to change. Raises `reaction_added` or `reaction_removed`."""
        users = {r.name: r.users for r in message.reactions}
        chosen = users.get(name, ())
        if (user in chosen) is add:
            return False
        users[name] = (*chosen, user) if add else tuple(u for u in chosen if u != user)
        reactions = tuple(Reaction(emoji, who) for emoji, who in users.items() if who)
        timeline = self.state.timeline(message.channel)
        timeline.put(replace(message, reactions=reactions))
        self._show("reaction", replace(message, reactions=reactions))
        stamp = timeline.next_ts(self.clock.now())
        self._raise(events.reaction_event(message, name, user, stamp, added=add), message.channel)
        return True

    def show_to_one(self, person: str, message: Message) -> Message:
        """Show an ephemeral message to one person; Slack stores it nowhere and raises no event."""
        message = replace(message, ts=self.state.timeline(message.channel).next_ts(self.clock.now()))
        self.state.ephemerals.setdefault(person, []).append(message)
        shape = message_json(self.state, message, self.url) | {"channel": message.channel, "is_ephemeral": True}
        self.feed.publish("ephemeral", {"channel": message.channel, "message": shape}, person=person)
        return message

    def current(self, message: Message) -> Message:
        """A message as it is by now: a stream that nobody fed in time has expired."""
        if message.streaming is not Streaming.OPEN or self.clock.now() < message.touched + self.stream_life:
            return message
        return self.revise(replace(message, streaming=Streaming.EXPIRED), event=False)

    # -- what the app shows -----------------------------------------------------------------------------------------

    def show_status(self, channel: str, thread_ts: str, text: str, loading: tuple[str, ...]) -> None:
        """Set or clear the status line of a thread; it vanishes by itself after two minutes."""
        key = (channel, thread_ts)
        if not text and key not in self.state.statuses:
            return
        if text:
            self.state.statuses[key] = Status(text, loading, self.clock.now() + self.status_life)
            self.clock.after(self.status_life, lambda: self._expire_status(key))
        else:
            del self.state.statuses[key]
        line = {"channel": channel, "thread_ts": thread_ts, "status": text, "loading_messages": list(loading)}
        self.feed.publish("status", line, channel=channel)

    def show_prompts(self, channel: str, prompts: Prompts) -> None:
        """Let suggested prompts stand in a DM."""
        self.state.prompts[channel] = prompts
        shape = {"channel": channel, "title": prompts.title, "prompts": list(prompts.prompts)}
        self.feed.publish("prompts", shape, channel=channel)

    def be_present(self, person: str, *, present: bool) -> None:
        """Somebody (or the app) came or went."""
        if present is (person in self._present):
            return
        self._present ^= {person}
        self.feed.publish("presence", {"person": person, "active": present})

    def is_present(self, person: str) -> bool:
        """Whether somebody has a page open, or the app a socket."""
        return person in self._present

    # -- rooms and people -------------------------------------------------------------------------------------------

    def add_person(self, person: Person) -> None:
        """Let somebody in."""
        self.state.people[person.id] = person
        self.feed.publish("person", {"person": person.id})

    def add_channel(self, channel: Channel) -> None:
        """Open a room."""
        self.state.channels[channel.id] = channel
        self.feed.publish("channel", {"channel": channel.id}, channel=channel.id)

    def join(self, channel: Channel, person: str, inviter: str = "") -> Channel:
        """Add somebody to a room. Raises `member_joined_channel` and a `channel_join` message."""
        if person in channel.members:
            return channel
        room = self.state.join(channel.id, person)
        self.feed.publish("channel", {"channel": room.id}, channel=room.id)
        stamp = self.state.timeline(room.id).next_ts(self.clock.now())
        self._raise(events.joined_event(self.state, room, person, inviter, stamp), room.id)
        self.post(Message(room.id, person, f"<@{person}> has joined the channel", subtype="channel_join"))
        return room

    def open_dm(self, person: str) -> Channel:
        """The DM between a person and the app, made now if need be."""
        room = self.state.dm_of(person)
        if room is None:
            known = self.state.people[person]
            members = (person, self.state.app.user)
            room = Channel(
                self.state.new_id("D", known.name), "", ChannelKind.DM, members, created=int(self.clock.now())
            )
            self.add_channel(room)
        return room

    def open_home(self, person: str, tab: str) -> str:
        """A person opened the app's DM (`messages`) or `home` tab. Raises `app_home_opened`; gives its event id."""
        room = self.open_dm(person)
        stamp = self.state.timeline(room.id).next_ts(self.clock.now())
        return self.raise_event(events.home_event(person, room.id, tab, stamp), room.id)

    # -- telling the app --------------------------------------------------------------------------------------------

    def raise_event(self, event: Json, channel: str = "") -> str:
        """Deliver any event; gives its event id."""
        return self.deliveries.event(events.payload(self.state, event, channel, self.clock.now()))

    def record_call(self, method: str, args: Json, at: float, status: int, answer: Json) -> None:
        """Remember a Web API call."""
        record = CallRecord(next(self._call_numbers), method, args, at, status, answer)
        self.calls.append(record)
        self.feed.publish("call", {"number": record.number, "method": method, "status": status}, operator=True)

    def _raise_new(self, message: Message) -> None:
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

    def _show(self, kind: str, message: Message) -> None:
        shape = message_json(self.state, message, self.url) | {"channel": message.channel}
        self.feed.publish(kind, {"channel": message.channel, "message": shape}, channel=message.channel)

    def _show_thread(self, reply: Message) -> None:
        count = len(self.state.timeline(reply.channel).replies(reply.thread_ts))
        shape = {"channel": reply.channel, "ts": reply.thread_ts, "reply_count": count, "latest_reply": reply.ts}
        self.feed.publish("thread", shape, channel=reply.channel)

    def _expire_status(self, key: tuple[str, str]) -> None:
        status = self.state.statuses.get(key)
        if status is not None and status.until <= self.clock.now():
            self.show_status(*key, "", ())


def new_client_msg_id() -> str:
    """The id that a person's Slack client gives a message."""
    return str(uuid.uuid4())
