"""The surfaces of the soul outside of messages: modals that users ask for, feedback, and the opening of a DM."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.arrivals import FEEDBACK_ACTION, SETS_UP, Request
from daemon.channels.slack.dialogs import (
    ASK_WHERE,
    ASKS,
    COMPLAINS,
    CORRECTING,
    CORRECTS,
    IN_PRIVATE,
    IN_THREAD,
    SETTING_UP,
    View,
    plain_text,
    section,
    settings_view,
)
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.installation import AGENT_SCOPE
from daemon.channels.slack.message_text import quoted
from daemon.channels.slack.payload import Payload
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.core.lru import Lru
from daemon.core.perception import Place
from daemon.core.phrases import ASK_SHORTCUT, Command, typed
from daemon.core.ports import Intake
from daemon.core.ports.arrivals import Acceptance, Arrival, Complaint, Feedback, TypedCommand
from daemon.core.sentences import Sentence, Suggestion, Words, with_reminder
from daemon.core.text import shortened
from daemon.core.timetable import minute_in

SETTINGS_END: Final = ("channel_archive", "channel_deleted", "group_archive", "group_deleted")
"""The events of a channel that end its settings."""
_METADATA: Final = 2_600  # characters of a quote as JSON; Slack takes 3,000 together with the other fields
_QUOTE: Final = 1_900  # characters that the modal shows (Slack: 3,000 in a section)
_UNNAMED: Final = frozenset({"directmessage", "privategroup"})  # Slack's placeholders for hidden names
_STAYS: Final = 3_600.0  # seconds until the same prompts are set again
_MOST: Final = 2_000  # users whose last prompts are kept, and events


@dataclass(slots=True, eq=False)
class Surfaces:
    """The surfaces of the souls of one `reader`. All work is done in the background.

    `manages` checks that a person may manage a channel, both given by id. `words_of` gives sentences and `suggested`
    the suggested prompts, both by soul and language tag.
    """

    client: SlackClient
    reader: EventReader
    intake: Intake
    answers: PrivateAnswers
    manages: Callable[[str, str], Awaitable[bool]]
    words_of: Callable[[str, str], Words]
    suggested: Callable[[str, str], Sequence[Suggestion]]
    _shown: Lru[str, tuple[Suggestion, ...]] = field(init=False)
    _seen: Lru[str, None] = field(default_factory=lambda: Lru(_MOST))

    def __post_init__(self) -> None:
        self._shown = Lru(_MOST, _STAYS, self.client.clock.monotonic)

    async def end_settings(self, payload: Payload) -> None:
        """End the settings of a channel that was archived or deleted. Raises StoreError."""
        if channel := payload.event.text("channel"):
            await self.intake.room_ways.end(self.reader.identity.team, channel)

    def grant(self, request: Request, payload: Payload) -> None:
        """Show what a user requests. An event that comes twice counts once."""
        modals = {
            ASK_SHORTCUT: (ASKS, self._question),
            CORRECTS: (CORRECTING, self._correction),
            SETS_UP: (SETTING_UP, self._settings),
        }
        if request.kind in modals:
            dialog, make = modals[request.kind]
            self.answers.open(dialog, payload, partial(make, request, payload), "command_later")
            return
        event_id, scopes = payload.text("event_id")[:64], self.reader.identity.scopes
        if event_id not in self._seen and (not scopes or AGENT_SCOPE in scopes):
            self._seen[event_id] = None
            self.answers.later(partial(self._suggest, request.author, request.about))

    async def _question(self, request: Request, payload: Payload) -> View:
        message, channel = payload.part("message"), payload.channel
        words, place = await self.answers.words_for(channel, request.author), self.reader.places.get(channel)
        quote = self._quote(payload, message)
        keys = (IN_PRIVATE, IN_THREAD) if place is not None and place is not Place.DM else ()
        return ASKS.view(
            words,
            section(quote),
            choices={ASK_WHERE: {key: words.say(f"ask_about_{key}") for key in keys}},
            quote=quote,
            channel=channel,
            ts=message.text("thread_ts") or payload.message_ts,
        )

    def _quote(self, payload: Payload, message: Payload) -> str:
        """Return the message as a quote with its author and origin, short enough for Slack's private_metadata."""
        name = payload.part("channel").text("name")
        shared = {
            "is_share": True,
            "author_id": message.text("user"),
            "author_name": message.text("username"),
            "channel_id": payload.channel,
            "channel_name": "" if name in _UNNAMED else name,
            "text": self.reader.text_of(message),
        }
        quote = quoted(Payload({"attachments": [shared]}), self.reader.identity.user, alert=False)
        quote = shortened(quote, _QUOTE)
        while len(json.dumps(quote)) > _METADATA:
            quote = shortened(quote, len(quote) * 3 // 4)
        return quote

    async def _correction(self, request: Request, _: Payload) -> View:
        return CORRECTING.view(await self.answers.words_for("", request.author), fact=request.about)

    async def _settings(self, request: Request, payload: Payload) -> View | Sentence:
        channel, person = request.about, request.author
        if not await self.manages(person, channel):
            return Sentence("room_not_yours")
        way = await self.intake.room_ways.of(self.reader.identity.team, channel)
        words, souls = await self.answers.words_for(channel, person), self.reader.souls
        return settings_view(words, way, souls, channel=channel, names_channel=payload.is_at_home)

    def answer(self, arrival: Arrival, acceptance: Acceptance, payload: Payload) -> None:
        """Answer a stored arrival whose user sees more than a message: feedback, or a command that opens a modal."""
        if acceptance is not Acceptance.ACCEPTED or (isinstance(arrival, Feedback) and arrival.taken_back):
            return
        match arrival:
            case Complaint():
                self.answers.later(partial(self._thank, arrival, "feedback_kept"))
            case Feedback(how="reaction"):
                self.answers.later(partial(self._thank, arrival, "feedback_thanks"))
            case Feedback(value="good"):
                self.answers.tell(Sentence("feedback_thanks"), payload)
            case Feedback():
                self.answers.open(COMPLAINS, payload, partial(self._complaint, arrival), "feedback_sorry")
            case TypedCommand(home="") if typed(arrival.words).command is Command.CHANNEL:
                self.grant(Request(SETS_UP, arrival.author, arrival.asked_in), payload)

    async def _complaint(self, feedback: Feedback) -> View | Sentence:
        """Return the modal that asks what was wrong, or thanks for a user who was asked before."""
        if not await self.intake.may_ask_why(feedback):
            return Sentence("feedback_sorry")
        words = await self.answers.words_for(feedback.channel, feedback.author)
        return COMPLAINS.view(words, channel=feedback.channel, ts=feedback.ts)

    async def _thank(self, act: Complaint | Feedback, key: str) -> None:
        words = await self.answers.words_for(act.channel, act.author)
        said, more = words.say(key), dict[str, Any]()
        if isinstance(act, Feedback) and act.value == "bad":
            label = plain_text(words.say("feedback_title"))
            button = {"type": "button", "action_id": FEEDBACK_ACTION, "value": f"bad:{act.ts}", "text": label}
            more = {"blocks": [section(said), {"type": "actions", "elements": [button]}]}
        await self.answers.whisper(act.channel, act.author, said, **more)

    async def _suggest(self, person: str, room: str) -> None:
        """Set the suggested prompts of a DM: the soul's own and the user's next reminder, in the user's language.

        The same prompts are not set again within an hour. Raises ChannelError, StoreError.
        """
        decision, soul = await self.answers.standing_of(person), self.reader.soul
        if not decision.admitted:
            return
        due_ms = await self.intake.next_reminder_ms(soul, self.reader.identity.team, person)
        when = minute_in(due_ms, decision.zone) if due_ms is not None else ""
        words, own = self.words_of(soul, decision.language), self.suggested(soul, decision.language)
        prompts = with_reminder(own, words, when)
        if self._shown.get(person) == prompts:
            return
        listed = [{"title": one.title, "message": one.message} for one in prompts]
        await self.client.call("assistant.threads.setSuggestedPrompts", channel_id=room, prompts=listed)
        self._shown[person] = prompts
