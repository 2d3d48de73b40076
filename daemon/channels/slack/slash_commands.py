"""Slash commands: read from Slack's payloads, and answered at their `response_url`, to their user alone."""

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.message_text import clean
from daemon.core.errors import ChannelError, ChannelRefused, DeliveryUncertain
from daemon.core.lru import Lru
from daemon.core.ports.arrivals import AskedAbout, TypedCommand
from daemon.core.ports.channel import Room
from daemon.core.ports.services import Clock, Emit, GateDecision
from daemon.core.sentences import Sentence
from daemon.core.text import storable

_ID: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_LONGEST: Final = 600  # characters of a command's text
_WITHIN: Final = 1.8  # seconds to find the user's DM; Slack waits three for the acknowledgement
_ADDRESS_LIVES: Final = 29 * 60.0  # seconds; Slack's half hour, less the time of an answer
_ADDRESSES: Final = 2_000
_ROOMS: Final = 2_000
_USES: Final = 5  # answers at one response_url


class SlashCommands:
    """The slash commands for the souls of one `reader`.

    The response_url is kept in this process alone, since its holder can post there for half an hour. After a restart,
    or with another daemon, the answer goes to the user's DM. `standing_of` asks the gate, `find_room` opens a DM with a
    user, and `show` makes the body of an answer from its words.
    """

    def __init__(
        self,
        client: SlackClient,
        standing_of: Callable[[str], Awaitable[GateDecision]],
        find_room: Callable[[str], Awaitable[Room]],
        show: Callable[[str], Mapping[str, object]],
        *,
        clock: Clock,
        emit: Emit,
    ) -> None:
        self._client, self._standing_of, self._find_room = client, standing_of, find_room
        self._show = show
        self._emit = emit
        self._addresses = Lru[str, str](_ADDRESSES, _ADDRESS_LIVES, clock.monotonic)
        self._rooms = Lru[str, Room](_ROOMS)

    async def read(self, body: Mapping[str, Any], reader: EventReader) -> TypedCommand | Sentence:
        """Return the command as an arrival, or the sentence for a user who receives no answer. Never raises."""
        author, asked_in = _text(body, "user_id"), _text(body, "channel_id")
        mine = _text(body, "team_id") == reader.identity.team
        if not (mine and _ID.fullmatch(author) and _ID.fullmatch(asked_in)):
            return Sentence("command_refused")
        soul = reader.soul_commanded(_text(body, "command"))
        if not soul:
            return Sentence("command_unknown")
        try:
            async with asyncio.timeout(_WITHIN):
                decision = await self._standing_of(author)
                if not decision.admitted:
                    return decision.say if isinstance(decision.say, Sentence) else Sentence("command_refused")
                room = await self._room(author)
        except (ChannelError, TimeoutError) as error:
            self._emit("slack.command_failed", reason=str(error) or "it took too long")
            return Sentence("command_refused" if isinstance(error, ChannelRefused) else "command_later")
        event_id = _event_id(body)
        if url := _text(body, "response_url"):
            self._addresses[event_id] = url
        words = clean(_text(body, "text"))[:_LONGEST].strip()
        where = (soul, reader.identity.team, room.channel)
        return TypedCommand(event_id, *where, room.audience, asked_in, author, words)

    async def at_home(self, asked: AskedAbout | TypedCommand) -> AskedAbout | TypedCommand | Sentence:
        """Return the question with the DM for its answer, or the sentence for a user who receives no answer."""
        try:
            async with asyncio.timeout(_WITHIN):
                if not (await self._standing_of(asked.author)).admitted:
                    return Sentence("command_refused")
                room = await self._room(asked.author)
        except (ChannelError, TimeoutError) as error:
            self._emit("slack.command_failed", reason=str(error) or "it took too long")
            return Sentence("command_refused" if isinstance(error, ChannelRefused) else "command_later")
        if isinstance(asked, TypedCommand):
            return replace(asked, channel=room.channel, audience=room.audience)
        return replace(asked, channel=room.channel, place=room.place, audience=room.audience)

    def waits_for(self, command: str) -> bool:
        return command in self._addresses

    async def answer(self, command: str, parts: Sequence[str]) -> bool:
        url = self._addresses.pop(command, "")
        try:
            for part in parts[:_USES]:
                await self._client.respond(url, self._show(part))
        except DeliveryUncertain:
            return True
        except ChannelError as error:
            self._emit("slack.command_unanswered", reason=error.message)
            return False
        return True

    async def _room(self, person: str) -> Room:
        """Return the DM of a person, which never changes. Raises ChannelError."""
        if (known := self._rooms.get(person)) is None:
            known = self._rooms[person] = await self._find_room(person)
        return known


def _event_id(body: Mapping[str, Any]) -> str:
    """Return an id that is the same for a payload that comes twice. Each use of a command has its own trigger."""
    used = "\n".join(_text(body, name) for name in ("trigger_id", "response_url", "user_id", "channel_id"))
    return f"command:{hashlib.sha256(used.encode()).hexdigest()[:24]}"


def _text(body: Mapping[str, Any], name: str) -> str:
    value = body.get(name)
    return storable(value) if isinstance(value, str) else ""
