"""What people do with the soul beside messages: its home, its shortcut, the opening of the messages with it."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.incoming.event_reader import EventReader
from daemon.channels.slack.incoming.private_answers import PrivateAnswers
from daemon.channels.slack.outgoing.asking_about import AskingAbout
from daemon.channels.slack.outgoing.home_tab import HomeTab
from daemon.channels.slack.outgoing.prompts import Suggesting
from daemon.channels.slack.outgoing.room_forms import Manages, RoomForms
from daemon.core.perception import Place
from daemon.core.ports.clock import Clock
from daemon.core.ports.gate import GateDecision
from daemon.core.ports.intake import Intake
from daemon.core.sentences import Words
from daemon.core.suggestions import Suggestion

_ENDS: Final = ("channel_archive", "channel_deleted", "group_archive", "group_deleted")


@dataclass(frozen=True, slots=True)
class Voices:
    """How the souls speak to people, by a soul and the tag of a language.

    `suggested` is what people are shown to begin with.
    """

    words_of: Callable[[str, str], Words]
    suggested: Callable[[str, str], Sequence[Suggestion]]


class Surfaces:
    """Heeds every payload before it is read as an arrival; what is to be done about it is done after the ack.

    `judge` is the gate, `manages` says who may manage a channel.
    """

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self,
        client: SlackClient,
        reader: EventReader,
        intake: Intake,
        answers: PrivateAnswers,
        judge: Callable[[str, str, Place], Awaitable[GateDecision]],
        voices: Voices,
        manages: Manages,
        clock: Clock,
    ) -> None:
        self._reader, self._intake, self._judge = reader, intake, judge
        self._asking = AskingAbout(reader, answers, judge)
        self._rooms = RoomForms(reader, answers, judge, intake.room_ways, manages)
        self._home = HomeTab(client, reader, answers, judge)
        self._suggesting = Suggesting(client, reader, intake, answers, judge, voices.suggested, voices.words_of, clock)

    async def keep(self, body: Mapping[str, Any]) -> None:
        """Keep at once that a channel has ended. Raises StoreError."""
        event = body.get("event")
        if isinstance(event, dict) and event.get("type") in _ENDS and isinstance(event.get("channel"), str):
            await self._intake.room_ways.end(self._reader.identity.team, event["channel"])

    def heed(self, body: Mapping[str, Any]) -> None:
        """Take note of a payload; returns at once."""
        self._asking.heed(body)
        self._home.heed(body)
        self._rooms.heed(body)
        self._suggesting.heed(body)
