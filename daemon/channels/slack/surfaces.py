"""The surfaces of the soul outside of messages: the home tab, shortcuts, modals, and the opening of a DM."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.asking_about import AskingAbout
from daemon.channels.slack.dialogs import HomeTab, Manages, RoomForms
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.home_acts import Suggesting
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.ports import Intake
from daemon.core.ports.services import Clock
from daemon.core.sentences import Suggestion, Words

_ENDS: Final = ("channel_archive", "channel_deleted", "group_archive", "group_deleted")


class Surfaces:
    """The handlers of every payload before it is read as an arrival. Their work begins after the acknowledgement.

    `manages` checks that a person may manage a channel. `words_of` gives sentences and `suggested` the suggested
    prompts, both by soul and language tag.
    """

    def __init__(
        self,
        client: SlackClient,
        reader: EventReader,
        intake: Intake,
        answers: PrivateAnswers,
        *,
        manages: Manages,
        words_of: Callable[[str, str], Words],
        suggested: Callable[[str, str], Sequence[Suggestion]],
        clock: Clock,
    ) -> None:
        self._reader, self._intake = reader, intake
        self._asking = AskingAbout(reader, answers)
        self._rooms = RoomForms(reader, answers, intake.room_ways, manages)
        self._home = HomeTab(client, reader, answers)
        self._suggesting = Suggesting(client, reader, intake, answers, suggested, words_of, clock)

    async def keep(self, body: Mapping[str, Any]) -> None:
        """End the settings of a channel that was archived or deleted, at once. Raises StoreError."""
        event = body.get("event")
        if isinstance(event, dict) and event.get("type") in _ENDS and isinstance(event.get("channel"), str):
            await self._intake.room_ways.end(self._reader.identity.team, event["channel"])

    def handle(self, body: Mapping[str, Any]) -> None:
        """Handle a payload in the background."""
        self._asking.handle(body)
        self._home.handle(body)
        self._rooms.handle(body)
        self._suggesting.handle(body)
