"""What the control API lets people and tests read; nobody who is named sees a room that Slack would hide from them."""

from dataclasses import asdict
from itertools import chain

from daemon.local_slack.model import Channel, Json, Message, Person
from daemon.local_slack.people_acting import NotPossible, PeopleActing
from daemon.local_slack.request_args import Ask
from daemon.local_slack.slack_json import channel_json, message_json
from daemon.local_slack.timeline import Span
from daemon.local_slack.workspace import Workspace

_PAGE = 200


class Views:
    """One method per GET."""

    def __init__(self, workspace: Workspace, people: PeopleActing) -> None:
        self._workspace = workspace
        self._people = people

    def state(self, ask: Ask) -> Json:
        """People, channels, what stands in them, and where the feed is."""
        state = self._workspace.state
        viewer = self._people.person(ask.text("person")) if ask.text("person") else None
        rooms = [r for r in state.channels.values() if viewer is None or state.sees(viewer.id, r)]
        shown = {room.id for room in rooms}
        statuses = [
            {
                "channel": channel,
                "thread_ts": thread,
                "status": status.text,
                "loading_messages": list(status.loading_messages),
            }
            for (channel, thread), status in state.statuses.items()
            if channel in shown
        ]
        return {
            "team": asdict(state.team),
            "me": self._person(viewer) if viewer else None,
            "bot": self._person(state.bot()),
            "people": [self._person(person) for person in state.people.values()],
            "channels": [self._channel(room, viewer) for room in rooms],
            "statuses": statuses,
            "now": self._workspace.clock.now(),
            "cursor": self._workspace.feed.cursor,
        }

    def messages(self, ask: Ask) -> Json:
        """A timeline, or a thread with its root, oldest first."""
        state = self._workspace.state
        room, viewer = self._room(ask)
        timeline = state.timeline(room.id)
        thread = ask.text("thread")
        limit = int(ask.number("limit", _PAGE))
        if thread == "*":
            chosen = [message.ts for message in timeline.everything()]
        elif thread:
            chosen = [ts for ts in chain([thread], timeline.replies(thread)) if timeline.get(ts)]
        else:
            chosen = timeline.history(Span(latest=ask.text("before")))
        status = state.statuses.get((room.id, thread))
        whispers = state.ephemerals.get(viewer.id, []) if viewer else []
        shown = [m for m in whispers if m.channel == room.id and (not thread or m.thread_ts == thread)]
        return {
            "channel": room.id,
            "messages": [self._message(m) for ts in chosen[-limit:] if limit and (m := timeline.get(ts))],
            "ephemerals": [self._message(m) | {"is_ephemeral": True} for m in shown],
            "status": status.text if status else "",
            "has_more": len(chosen) > limit,
            "cursor": self._workspace.feed.cursor,
        }

    def home(self, ask: Ask) -> Json:
        """What the app published for a person's home tab."""
        return {"view": self._workspace.state.homes.get(self._people.person(ask.text("person")).id)}

    def file(self, ask: Ask) -> tuple[bytes, str]:
        """A file's bytes, for those who can read a message that shows it."""
        state = self._workspace.state
        person = self._people.person(ask.text("person"))
        file = state.files.get(ask.text("file"))
        rooms = (room for room in state.channels.values() if state.sees(person.id, room))
        if file and any(file.id in m.files for room in rooms for m in state.timeline(room.id).everything()):
            return file.content, file.mimetype
        raise NotPossible("file_not_found", "no such file in a channel that this person reads")

    def calls(self, ask: Ask) -> Json:
        """Web API calls, oldest first, of one method and after a number if asked."""
        method, after = ask.text("method"), ask.number("after", 0)
        calls = (c for c in self._workspace.calls if c.number > after and method in ("", c.method))
        return {"calls": [asdict(call) for call in calls]}

    def deliveries(self, ask: Ask) -> Json:
        """Attempts to hand envelopes over, oldest first, of one event if asked."""
        event_id = ask.text("event_id")
        log = (d for d in self._workspace.deliveries.log if event_id in ("", d.event_id))
        return {"deliveries": [asdict(delivery) for delivery in log]}

    def sockets(self, ask: Ask) -> Json:  # every view takes the request
        """The numbers of the open sockets."""
        return {"sockets": [link.number for link in self._workspace.links.open]}

    def _room(self, ask: Ask) -> tuple[Channel, Person | None]:
        if ask.text("person"):
            person = self._people.person(ask.text("person"))
            return self._people.readable(person, ask.text("channel")), person
        room = self._workspace.state.channel_named(ask.text("channel"))
        if room is None:
            raise NotPossible("channel_not_found", "name a channel that is there")
        return room, None

    def _person(self, person: Person) -> Json:
        active = self._workspace.is_present(person.id)
        return asdict(person) | {"is_bot": person.is_bot, "active": active}

    def _channel(self, room: Channel, viewer: Person | None) -> Json:
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
            "prompts": {"title": prompts.title, "prompts": list(prompts.prompts)} if prompts else None,
        }

    def _message(self, message: Message) -> Json:
        current = self._workspace.current(message)
        shape = message_json(self._workspace.state, current, self._workspace.url, metadata=True)
        return shape | {"channel": message.channel}
