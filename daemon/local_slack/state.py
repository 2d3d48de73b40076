"""The state of a workspace in one place: users, channels, messages, files, and what the app shows."""

import itertools
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping
from functools import partial

from daemon.core.value import Value
from daemon.local_slack.model import (
    AppIdentity,
    ChannelKind,
    File,
    Json,
    Prompts,
    Session,
    Standing,
    Status,
    Team,
    UserGroup,
    WorkspaceChannel,
    WorkspaceMessage,
    WorkspaceUser,
    escape,
)

_TS = re.compile(r"\d{10}\.\d{6}")
_LINK = re.compile(r"https?://[^\s<>|]+[^\s<>|.,;:!?)\]'\"]")
_BROADCAST = re.compile(r"(?<![\w@])@(here|channel|everyone)\b")


def is_ts(text: str) -> bool:
    """Return True for a ts in Slack's form, such as `1700000000.000100`."""
    return _TS.fullmatch(text) is not None


def bound(text: str) -> str:
    """Return a time bound (`0`, `1700000000`, `1700000000.5`) that compares with ts values. Raises ValueError."""
    seconds, _, fraction = text.partition(".")
    if not seconds.isdigit() or (fraction and not fraction.isdigit()):
        raise ValueError(text)
    return f"{int(seconds):010d}.{fraction[:6].ljust(6, '0')}"


class Span(Value):
    """A time range by Slack's `oldest`, `latest` and `inclusive`. An empty bound is open."""

    oldest: str = ""
    latest: str = ""
    inclusive: bool = False

    def cut(self, order: list[str]) -> list[str]:
        """Return the ts values of a sorted list that are inside this span."""
        start, end = 0, len(order)
        if self.oldest:
            start = bisect_left(order, self.oldest) if self.inclusive else bisect_right(order, self.oldest)
        if self.latest:
            end = bisect_right(order, self.latest) if self.inclusive else bisect_left(order, self.latest)
        return order[start:end]


class Timeline:
    """The messages of one channel. Values are replaced, never changed in place."""

    def __init__(self) -> None:
        self._messages: dict[str, WorkspaceMessage] = {}
        self._order: list[str] = []
        self._threads: dict[str, list[str]] = {}
        self._last_micros = 0

    def next_ts(self, now: float) -> str:
        """Return a ts for `now` (seconds), larger than all ts given before."""
        self._last_micros = max(self._last_micros + 1, int(now * 1_000_000))
        return f"{self._last_micros // 1_000_000}.{self._last_micros % 1_000_000:06d}"

    def get(self, ts: str) -> WorkspaceMessage | None:
        return self._messages.get(ts)

    def put(self, message: WorkspaceMessage) -> None:
        """Add a message, or replace the one with the same ts."""
        known = self._messages.get(message.ts)
        self._messages[message.ts] = message
        if known is None and message.is_reply:
            insort(self._threads.setdefault(message.thread_ts, []), message.ts)
        if message.in_timeline and not (known is not None and known.in_timeline):
            insort(self._order, message.ts)

    def remove(self, ts: str) -> None:
        message = self._messages.pop(ts)
        for order in (self._order, self._threads.get(message.thread_ts, [])):
            place = bisect_left(order, ts)
            if place < len(order) and order[place] == ts:
                del order[place]

    @property
    def newest(self) -> str:
        return self._order[-1] if self._order else ""

    def history(self, span: Span) -> list[str]:
        """Return the ts values that channel history shows in a span, oldest first."""
        return span.cut(self._order)

    def replies(self, root: str) -> list[str]:
        """Return the ts values under a root, oldest first, without the root."""
        return self._threads.get(root, [])

    def everything(self) -> list[WorkspaceMessage]:
        """Return all messages, replies included, oldest first."""
        return [self._messages[ts] for ts in sorted(self._messages)]


class WorkspaceState:
    """The values of a workspace by id. Changes here raise no event and publish nothing: `Workspace` does that."""

    def __init__(self, team: Team, app: AppIdentity) -> None:
        self.url = ""
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
        """Return an unused id such as U0ADA, made of the name, with a number if that id is taken."""
        readable = f"{prefix}0{re.sub(r'[^A-Z0-9]', '', name.upper())[:12]}"
        taken = self.people.keys() | self.channels.keys() | self.files.keys() | self.groups.keys()
        if name and len(readable) > len(prefix) + 1 and readable not in taken:
            return readable
        return next(new for n in self._numbers if (new := f"{readable}{n:04d}") not in taken)

    def timeline(self, channel: str) -> Timeline:
        return self._timelines.setdefault(channel, Timeline())

    def message(self, channel: str, ts: str) -> WorkspaceMessage | None:
        return self.timeline(channel).get(ts)

    def bot(self) -> WorkspaceUser:
        return self.people[self.app.user]

    def app_is_in(self, channel: WorkspaceChannel) -> bool:
        """Return True if the app is a member and gets the channel's events."""
        return self.app.user in channel.members

    def sees(self, person: str, channel: WorkspaceChannel) -> bool:
        """Return True if a user may read a channel: its members, and every full member for a public channel.

        Members of the organisation's other workspaces read channels shared with them.
        """
        if person in channel.members:
            return True
        known = self.people.get(person)
        if channel.kind is not ChannelKind.PUBLIC or known is None or known.is_guest:
            return False
        return known.team == self.team.id or (channel.org_shared and known.enterprise == self.team.enterprise)

    def dm_of(self, person: str) -> WorkspaceChannel | None:
        """Return the DM between a user and the app, or None before it is first opened."""
        pair = {person, self.app.user}
        return next((c for c in self.channels.values() if c.kind is ChannelKind.DM and set(c.members) == pair), None)

    def channel_named(self, name: str) -> WorkspaceChannel | None:
        """Return a channel by id, or by name with or without `#`, or None."""
        if name in self.channels:
            return self.channels[name]
        bare = name.removeprefix("#")
        return next((c for c in self.channels.values() if c.name == bare and bare), None)

    def person_named(self, name: str) -> WorkspaceUser | None:
        """Return a user by id, or by any of their names in any letter case, or None."""
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

    def typed(self, text: str) -> str:
        """Return the stored form of typed text:

        `@Ada` becomes `<@U…>`, `@soul` the app's mention, `#general` `<#C…|>`, a URL `<URL>`, and the `@handle` of a
        group `<!subteam^S…|@handle>`.
        """
        names = {"soul": f"<@{self.app.user}>"}
        for person in self.people.values():
            for name in (person.real_name, person.name, person.display_name):
                names[escape(name).lower()] = f"<@{person.id}>"
        rooms = {
            channel.name.lower(): f"<#{channel.id}|>"
            for channel in self.channels.values()
            if channel.kind in (ChannelKind.PUBLIC, ChannelKind.PRIVATE)
        }
        handles = {one.handle.lower(): f"<!subteam^{one.id}|@{one.handle}>" for one in self.groups.values()}
        words = _LINK.sub(lambda found: f"<{found[0]}>", escape(text))
        words = _BROADCAST.sub(lambda found: f"<!{found[1]}>", words)
        for sign, stored in (("@", handles), ("@", names), ("#", rooms)):
            words = _named(sign, stored).sub(partial(_stored, stored), words)
        return words

    def unread(self, person: str, channel: str) -> int:
        """Return the number of unread messages by others in a channel's timeline."""
        timeline = self.timeline(channel)
        seen = self.read_up_to.get((person, channel), "")
        newer = (timeline.get(ts) for ts in timeline.history(Span(oldest=seen)))
        return sum(message is not None and message.author != person for message in newer)


def _named(sign: str, names: Iterable[str]) -> re.Pattern[str]:
    longest_first = sorted((re.escape(name) for name in names if name), key=len, reverse=True)
    choice = "|".join(longest_first) or "(?!)"
    return re.compile(rf"(?<![\w<]){sign}({choice})(?!\w)", re.IGNORECASE)


def _stored(stored: Mapping[str, str], found: re.Match[str]) -> str:
    return stored[found[1].lower()]


TEAM = Team(id="T0LOCAL", name="Local workspace", domain="local")
FOREIGN_TEAM = "T0ELSEWHERE"


def seeded(app: AppIdentity, bot_name: str, now: float) -> WorkspaceState:
    """Return the initial state: three members, a guest in no channel, #general, #random and private #founders."""
    state = WorkspaceState(TEAM, app)
    bot = WorkspaceUser(
        app.user, bot_name.lower(), bot_name, bot_name, Standing.BOT, TEAM.id, bot_id=app.bot_id, app_id=app.app_id
    )
    people = [
        bot,
        WorkspaceUser("U0ADA", "ada", "Ada", "Ada Byron", Standing.MEMBER, TEAM.id),
        WorkspaceUser("U0BEN", "ben", "Ben", "Ben Okri", Standing.MEMBER, TEAM.id),
        WorkspaceUser("U0CHLOE", "chloe", "Chloe", "Chloe Laurent", Standing.MEMBER, TEAM.id),
        WorkspaceUser("U0GUS", "gus", "Gus", "Gus Novak", Standing.GUEST, TEAM.id),
    ]
    state.people.update((person.id, person) for person in people)
    members = tuple(person.id for person in people if person.standing is Standing.MEMBER)
    rooms = [
        WorkspaceChannel("C0GENERAL", "general", ChannelKind.PUBLIC, (*members, app.user), int(now)),
        WorkspaceChannel("C0RANDOM", "random", ChannelKind.PUBLIC, members, int(now)),
        WorkspaceChannel("C0FOUNDERS", "founders", ChannelKind.PRIVATE, ("U0ADA", "U0BEN", app.user), int(now)),
    ]
    rooms += [
        WorkspaceChannel(f"D{person.id[1:]}", "", ChannelKind.DM, (person.id, app.user), int(now))
        for person in people
        if person is not bot
    ]
    state.channels.update((room.id, room) for room in rooms)
    return state
