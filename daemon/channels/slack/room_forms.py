"""Opens the dialog in which a channel gets its instructions and its way, for those who may manage the channel."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from daemon.channels.slack.dialog_forms import refusing_dialog, room_dialog
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.home_acts import SETS_UP, pressed
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.errors import ChannelError, StoreError
from daemon.core.phrases import Command, typed
from daemon.core.room_ways import RoomWays

Manages = Callable[[str, str], Awaitable[bool]]
"""Whether a person may manage a channel, by their ids."""


@dataclass(frozen=True, slots=True)
class RoomForms:
    """Answers the slash command and the buttons of the home tab that ask for the dialog."""

    reader: EventReader
    answers: PrivateAnswers
    ways: RoomWays
    manages: Manages

    def heed(self, body: Mapping[str, Any]) -> None:
        """Open the dialog for a slash command or a button of ours that asks for it; returns at once."""
        if (act := pressed(body, self.reader)) is not None and act.home.startswith(SETS_UP):
            self.answers.later(partial(self._open_at_home, act.author, act.home.partition(" ")[2], body))
        if "command" not in body or typed(_text(body, "text")).command is not Command.CHANNEL:
            return
        mine = _text(body, "team_id") == self.reader.identity.team
        if mine and self.reader.soul_commanded(_text(body, "command")):
            self.answers.later(partial(self._open, body))

    async def _open(self, body: Mapping[str, Any]) -> None:
        person, channel, team = _text(body, "user_id"), _text(body, "channel_id"), self.reader.identity.team
        try:
            if not (await self.answers.standing_of(person)).admitted:
                return  # the command itself is answered with a refusal
            if not await self.manages(person, channel):
                self.answers.tell("room_not_yours", body)
                return
            way, words = await self.ways.of(team, channel), await self.answers.words_for(channel, person)
            view = room_dialog(words, way, self.reader.souls, channel=channel)
            await self.answers.open(body, view)
        except (ChannelError, StoreError):
            self.answers.tell("command_later", body)

    async def _open_at_home(self, person: str, channel: str, body: Mapping[str, Any]) -> None:
        """Open the dialog for a channel, or one that says why not: on the home tab nothing else can be said."""
        words = await self.answers.words_for(channel, person)
        try:
            if not (await self.answers.standing_of(person)).admitted:
                return  # their home tab shows the refusal alone
            view = refusing_dialog(words, "room_not_yours")
            if await self.manages(person, channel):
                way = await self.ways.of(self.reader.identity.team, channel)
                view = room_dialog(words, way, self.reader.souls, channel=channel, at_home=True)
        except (ChannelError, StoreError):
            view = refusing_dialog(words, "command_later")
        await self.answers.open(body, view)


def _text(mapping: Mapping[str, Any], name: str) -> str:
    value = mapping.get(name)
    return value if isinstance(value, str) else ""
