"""What the control API lets tests and the page set up: people, channels, time, limits, faults and raw events."""

from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from daemon.local_slack.fault_orders import order_fault
from daemon.local_slack.limits import Profile
from daemon.local_slack.model import Channel, ChannelKind, Json, Person, Standing
from daemon.local_slack.people_acting import NotPossible, PeopleActing
from daemon.local_slack.request_args import Ask
from daemon.local_slack.slack_json import channel_json, person_json
from daemon.local_slack.workspace import Workspace

_Member = TypeVar("_Member", bound=StrEnum)
_PREFIX = {ChannelKind.DM: "D", ChannelKind.GROUP_DM: "G"}


class Setup:
    """One method per POST."""

    def __init__(self, workspace: Workspace, people: PeopleActing) -> None:
        self._workspace = workspace
        self._people = people
        self.orders: dict[str, Callable[[Ask], Json]] = {
            "person": self._person,
            "channel": self._channel,
            "clock": self._clock,
            "limits": self._limits,
            "scopes": self._scopes,
            "lifetimes": self._lifetimes,
            "emit": self._emit,
            "fault": self._fault,
        }

    def _person(self, ask: Ask) -> Json:
        state = self._workspace.state
        shown = ask.text("display_name") or ask.text("name")
        if not shown:
            raise NotPossible("invalid_arguments", "a person needs a name")
        standing = _member(Standing, ask.text("standing") or "member")
        user = ask.text("id") or state.new_id("U", ask.text("name") or shown)
        bot = standing is Standing.BOT
        person = Person(
            user,
            (ask.text("name") or shown).lower().replace(" ", "."),
            shown,
            ask.text("real_name") or shown,
            standing,
            ask.text("team") or ("T0ELSEWHERE" if standing is Standing.STRANGER else state.team.id),
            bot_id=f"B{user[1:]}" if bot else "",
            app_id=f"A{user[1:]}" if bot else "",
        )
        self._workspace.add_person(person)
        if standing is Standing.MEMBER and (general := state.channel_named("general")):
            state.join(general.id, user)
        return {"person": person_json(person)}

    def _channel(self, ask: Ask) -> Json:
        state = self._workspace.state
        kind = _member(ChannelKind, ask.text("kind") or "channel")
        members = [self._people.person(name).id for name in ask.texts("members")]
        if ask.flag("app") or kind in _PREFIX:
            members.append(state.app.user)
        room = Channel(
            ask.text("id") or state.new_id(_PREFIX.get(kind, "C"), ask.text("name")),
            "" if kind is ChannelKind.DM else ask.text("name"),
            kind,
            tuple(dict.fromkeys(members)),
            int(self._workspace.clock.now()),
            shared=ask.flag("shared"),
            archived=ask.flag("archived"),
        )
        self._workspace.add_channel(room)
        return {"channel": channel_json(state, room, state.app.user)}

    def _clock(self, ask: Ask) -> Json:
        self._workspace.clock.advance(ask.number("advance", 0.0))
        self._workspace.feed.publish("clock", {"now": self._workspace.clock.now()}, operator=True)
        return {"now": self._workspace.clock.now()}

    def _limits(self, ask: Ask) -> Json:
        self._workspace.limits.profile = _member(Profile, ask.text("profile"))
        return {}

    def _scopes(self, ask: Ask) -> Json:
        self._workspace.scopes = frozenset(ask.texts("scopes"))
        return {}

    def _lifetimes(self, ask: Ask) -> Json:
        self._workspace.stream_life = ask.number("stream", self._workspace.stream_life)
        self._workspace.status_life = ask.number("status", self._workspace.status_life)
        return {}

    def _emit(self, ask: Ask) -> Json:
        if ask.has("repeat"):
            if not self._workspace.deliveries.repeat(ask.text("repeat")):
                raise NotPossible("event_not_found", "no such event was raised")
            return {"event_id": ask.text("repeat")}
        if ask.has("envelope"):
            return {"delivered": self._workspace.deliveries.raw(ask.object("envelope"))}
        event = ask.object("event")
        channel = ask.text("channel") or (event["channel"] if isinstance(event.get("channel"), str) else "")
        return {"event_id": self._workspace.raise_event(event, channel)}

    def _fault(self, ask: Ask) -> Json:
        order_fault(self._workspace, ask)
        return {}


def _member(kind: type[_Member], value: str) -> _Member:
    try:
        return kind(value)
    except ValueError as fault:
        raise NotPossible("invalid_arguments", f"{value!r} is not one of {', '.join(kind)}") from fault
