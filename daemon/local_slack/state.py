"""The state of a workspace in one place: users, channels, messages, files, and what the app shows."""

import itertools
import re
from dataclasses import replace

from daemon.local_slack.model import (
    AppIdentity,
    ChannelKind,
    File,
    Json,
    MessageShortcut,
    Prompts,
    Session,
    Status,
    Team,
    UserGroup,
    WorkspaceChannel,
    WorkspaceMessage,
    WorkspaceUser,
)
from daemon.local_slack.timeline import Span, Timeline


class WorkspaceState:
    """Values by id. Changing them raises no event and publishes nothing; `Workspace` does that."""

    def __init__(self, team: Team, app: AppIdentity) -> None:
        self.team = team
        self.app = app
        self.people: dict[str, WorkspaceUser] = {}
        self.channels: dict[str, WorkspaceChannel] = {}
        self.groups: dict[str, UserGroup] = {}
        self.files: dict[str, File] = {}
        self.statuses: dict[tuple[str, str], Status] = {}
        self.sessions: dict[tuple[str, str], Session] = {}
        self.prompts: dict[str, Prompts] = {}
        self.homes: dict[str, Json] = {}
        self.ephemerals: dict[str, list[WorkspaceMessage]] = {}
        self.read_up_to: dict[tuple[str, str], str] = {}
        self._timelines: dict[str, Timeline] = {}
        self._numbers = itertools.count(1)

    def new_id(self, prefix: str, name: str = "") -> str:
        """A fresh id such as U0ADA, made of the name, with a number where that id is taken."""
        readable = f"{prefix}0{re.sub(r'[^A-Z0-9]', '', name.upper())[:12]}"
        taken = self.people.keys() | self.channels.keys() | self.files.keys() | self.groups.keys()
        if name and len(readable) > len(prefix) + 1 and readable not in taken:
            return readable
        return next(new for n in self._numbers if (new := f"{readable}{n:04d}") not in taken)

    def timeline(self, channel: str) -> Timeline:
        """The messages of a channel."""
        return self._timelines.setdefault(channel, Timeline())

    def message(self, channel: str, ts: str) -> WorkspaceMessage | None:
        """One message, or None."""
        return self.timeline(channel).get(ts)

    def shortcut(self, callback_id: str) -> MessageShortcut | None:
        """A message shortcut of the app, or None."""
        return next((one for one in self.app.shortcuts if one.callback_id == callback_id), None)

    def bot(self) -> WorkspaceUser:
        """The app's bot user."""
        return self.people[self.app.user]

    def app_is_in(self, channel: WorkspaceChannel) -> bool:
        """Whether the app is a member, so that it gets the channel's events."""
        return self.app.user in channel.members

    def sees(self, person: str, channel: WorkspaceChannel) -> bool:
        """Whether a user may read a channel: its members may, and every full member reads public channels.

        Members of other workspaces of the organisation read those that are shared with them.
        """
        if person in channel.members:
            return True
        known = self.people.get(person)
        if channel.kind is not ChannelKind.PUBLIC or known is None or known.is_guest:
            return False
        return known.team == self.team.id or (channel.org_shared and known.enterprise == self.team.enterprise)

    def dm_of(self, person: str) -> WorkspaceChannel | None:
        """The DM between a user and the app, None before it is first opened."""
        pair = {person, self.app.user}
        return next((c for c in self.channels.values() if c.kind is ChannelKind.DM and set(c.members) == pair), None)

    def channel_named(self, name: str) -> WorkspaceChannel | None:
        """A channel by id, or by name with or without `#`; None for an unknown one."""
        if name in self.channels:
            return self.channels[name]
        bare = name.removeprefix("#")
        return next((c for c in self.channels.values() if c.name == bare and bare), None)

    def person_named(self, name: str) -> WorkspaceUser | None:
        """A user by id, or by any of their names in any letter case; None for an unknown one."""
        if name in self.people:
            return self.people[name]
        wanted = name.removeprefix("@").lower()
        return next(
            (
                p
                for p in self.people.values()
                if wanted in (p.name.lower(), p.display_name.lower(), p.real_name.lower())
            ),
            None,
        )

    def unread(self, person: str, channel: str) -> int:
        """How many messages by others in a channel's timeline the user has not read."""
        timeline = self.timeline(channel)
        seen = self.read_up_to.get((person, channel), "")
        newer = (timeline.get(ts) for ts in timeline.history(Span(oldest=seen)))
        return sum(message is not None and message.author != person for message in newer)

    def join(self, channel: str, person: str) -> WorkspaceChannel:
        """Add a member; gives the changed channel."""
        room = self.channels[channel]
        if person not in room.members:
            room = replace(room, members=(*room.members, person))
            self.channels[channel] = room
        return room

    def leave(self, channel: str, person: str) -> WorkspaceChannel:
        """Remove a member; gives the changed channel."""
        room = self.channels[channel]
        self.channels[channel] = replace(room, members=tuple(one for one in room.members if one != person))
        return self.channels[channel]
