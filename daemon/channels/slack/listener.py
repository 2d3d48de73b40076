"""The Bolt app, which stores every event before it acknowledges it to Slack (P1)."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.arrivals import Found, Request, kind_of, read
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.payload import Payload, meant_for
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.channels.slack.refusals import SlackIdentity
from daemon.channels.slack.surfaces import Surfaces
from daemon.core.errors import ChannelError, StoreError
from daemon.core.perception import Place
from daemon.core.phrases import means_stop
from daemon.core.ports import Intake
from daemon.core.ports.arrivals import (
    Acceptance,
    Arrival,
    AskedAbout,
    Complaint,
    Decision,
    Feedback,
    NewMessage,
    PickedAnswer,
    RoomWaySent,
    Stop,
    TypedCommand,
    UserAct,
    WhyAsked,
    Withdrawal,
)
from daemon.core.ports.services import Emit, GateDecision
from daemon.core.sentences import Sentence

_ADDRESS_QUERY: Final = re.compile(r"\?\S+")
_NOTE_LENGTH: Final = 300
_GATE_TIMEOUT: Final = 1.5  # seconds; Slack waits three for the acknowledgement
_IGNORED: Final[Mapping[type[Arrival], str]] = {
    Decision: "press_void",
    PickedAnswer: "press_void",
    WhyAsked: "because_not_mine",
}
_REFUSED: Final = {
    Feedback: "feedback_refused",
    Complaint: "feedback_refused",
    Withdrawal: "withdrawal_refused",
    Stop: "stop_refused",
    Decision: "press_refused",
    PickedAnswer: "press_refused",
    WhyAsked: "press_refused",
}
_TOO_LONG: Final = "it took too long"
_ENDED: Final[Mapping[str, str]] = {
    "app_uninstalled": "Slack says that the app was removed from the workspace",
    "tokens_revoked": "Slack says that the token of the app was revoked",
}
_ENDED_HINT: Final = (
    "install the app again in its settings, put the new Bot User OAuth Token into SLACK_BOT_TOKEN, run `soul doctor`, "
    "then restart the daemon; until then nothing is heard or answered in Slack"
)


Note = Callable[[Payload], Awaitable[None]]


@dataclass(slots=True, eq=False)
class Listener:
    """The reader of envelopes, which passes them to the intake and counts those in progress for a clean stop.

    `take_note` gets every payload first, and `notes` those of their kinds. `judge` asks the gate about an author (id,
    channel, place) of an act that no cycle judges. `trouble` is Slack's last report that needs an admin, or empty.
    `on_not_stored` is called after a failed store: Slack redelivers for some minutes only, and a catch-up must follow.
    `note` is called with each arrival first.
    """

    reader: EventReader
    intake: Intake
    answers: PrivateAnswers
    surfaces: Surfaces
    judge: Callable[[str, str, Place], Awaitable[GateDecision]]
    take_note: Note
    notes: Mapping[str, Note]
    note: Callable[[Arrival], None]
    on_not_stored: Callable[[], None]
    emit: Emit
    trouble: str = ""
    _in_progress: int = 0
    _idle: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._idle.set()

    async def receive(self, body: Mapping[str, Any]) -> BoltResponse:
        """Store the arrival of an envelope's payload, if any, and return the acknowledgement.

        A user whose act has no effect is told why. Raises StoreError if the store fails.
        """
        if not meant_for(self.reader.identity, body):
            self.emit("slack.not_ours", event_id=str(body.get("event_id") or "")[:_NOTE_LENGTH])
            return BoltResponse(status=200, body="")
        payload = Payload(body)
        refused = await self._receive(payload)
        if refused and kind_of(payload) == "view_submission":  # the modal stays open with its input
            return BoltResponse(status=200, body=await self.answers.below_input(refused, payload))
        if refused:
            self.answers.tell(refused, payload)
        return BoltResponse(status=200, body="")

    async def _receive(self, payload: Payload) -> Sentence | None:
        with self._told_if_not_stored(payload.text("event_id")):
            await self.take_note(payload)
            if (note := self.notes.get(kind_of(payload))) is not None:
                await note(payload)
        self._notice_end(payload)
        arrival = await self._placed(read(self.reader, payload), payload)
        if isinstance(arrival, Request):
            self.surfaces.grant(arrival, payload)
            return None
        if arrival is None or isinstance(arrival, Sentence):
            return arrival
        judges = isinstance(arrival, Feedback | Complaint | Stop | Withdrawal)
        presses = isinstance(arrival, Decision | PickedAnswer | WhyAsked) and self.reader.is_from_elsewhere(payload)
        if (judges or presses) and not await self._is_admitted(arrival):
            return None
        if isinstance(arrival, NewMessage) and means_stop(arrival.perception.content):
            arrival = replace(arrival, stops=await self._is_admitted(_stop_of(arrival)))
        acceptance = await self._accept(arrival)
        self.surfaces.answer(arrival, acceptance, payload)
        void = _IGNORED.get(type(arrival), "") if acceptance is Acceptance.IGNORED else ""
        return Sentence(void) if void else None

    async def _accept(self, arrival: Arrival) -> Acceptance:
        self.note(arrival)
        self._in_progress += 1
        self._idle.clear()
        try:
            with self._told_if_not_stored(arrival.event_id):
                acceptance = await self.intake.accept(arrival)
        finally:
            self._in_progress -= 1
            if not self._in_progress:
                self._idle.set()
        self.emit("slack.heard", kind=type(arrival).__name__, event_id=arrival.event_id, became=acceptance.value)
        if acceptance is Acceptance.DUPLICATE:
            self.emit("slack.duplicate", event_id=arrival.event_id)
        return acceptance

    @contextmanager
    def _told_if_not_stored(self, event_id: str) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            self.emit("slack.store_failed", event_id=event_id, reason=error.message, hint=error.hint)
            self.on_not_stored()
            raise

    async def idle(self) -> None:
        await self._idle.wait()

    async def _is_admitted(self, arrival: Arrival) -> bool:
        """Return the gate's decision on the author of an act that no cycle judges. False without a timely decision."""
        if not isinstance(arrival, UserAct):
            return True
        place = self.reader.places.get(arrival.channel, Place.PRIVATE_CHANNEL)
        place = Place.DM if arrival.channel.startswith("D") else place
        try:
            async with asyncio.timeout(_GATE_TIMEOUT):
                decision = await self.judge(arrival.author, arrival.channel, place)
        except (ChannelError, TimeoutError) as error:
            self.emit(f"slack.{_REFUSED[type(arrival)]}", event_id=arrival.event_id, reason=str(error) or _TOO_LONG)
            return False
        if not decision.admitted:
            self.emit(f"slack.{_REFUSED[type(arrival)]}", event_id=arrival.event_id, reason=decision.reason)
        return decision.admitted

    async def _placed(self, found: Found, payload: Payload) -> Found:
        """Return an arrival with the place of its answer, or the sentence for a refused user."""
        if isinstance(found, AskedAbout | TypedCommand) and not found.channel:
            return await self.answers.placed(found, payload)
        return await self._of_manager(found) if isinstance(found, RoomWaySent) else found

    async def _of_manager(self, sent: RoomWaySent) -> RoomWaySent | Sentence:
        """Return the settings if the user may set them now, or the sentence of the refusal."""
        try:
            async with asyncio.timeout(_GATE_TIMEOUT):
                if await self.surfaces.manages(sent.author, sent.channel):
                    return sent
            reason, said = "they don't manage the channel", Sentence("room_not_yours")
        except (ChannelError, TimeoutError) as error:
            reason, said = str(error) or _TOO_LONG, Sentence("command_later")
        self.emit("slack.way_refused", event_id=sent.event_id, reason=reason)
        return said

    def _notice_end(self, payload: Payload) -> None:
        """Tell the admin if Slack ends the app."""
        kind, tokens = kind_of(payload), payload.event.part("tokens")
        if kind in _ENDED and (kind != "tokens_revoked" or self.reader.identity.user in str(tokens.data)):
            self.trouble = _ENDED[kind]
            self.emit("slack.revoked", reason=self.trouble, hint=_ENDED_HINT)


def _stop_of(message: NewMessage) -> Stop:
    key, perception = message.perception.conversation, message.perception
    return Stop(message.event_id, key.soul, key.workspace, key.channel, key.thread or perception.ts, perception.author)


class _StoreThenAcknowledge(AsyncMiddleware):
    """The one global middleware: it stores the arrival and then answers 200, which Bolt sends as the acknowledgement.

    If the store fails, the middleware raises, Bolt answers 500, and Slack delivers the event again. Without Bolt
    listeners, it acknowledges every kind of envelope. It takes Bolt's request itself: for a plain function Bolt parses
    the payload first, and fails at unforeseen ones.
    """

    def __init__(self, listener: Listener) -> None:
        self._listener = listener

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002  # Bolt's name
    ) -> BoltResponse:
        """Store the payload, then answer. No middleware follows."""
        return await self._listener.receive(req.body)


def bolt_app(listener: Listener, identity: SlackIdentity, client: SlackClient, emit: Emit) -> AsyncApp:
    """Return the Bolt app around one listener. It authorizes events with the known ids, without a call to Slack."""

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=identity.team,
            bot_token=client.web.token,
            bot_id=identity.bot,
            bot_user_id=identity.user,
        )

    logger = library_logger(emit)
    logger.setLevel(logging.ERROR)  # Bolt warns that a token is set twice, however the app is built
    app = AsyncApp(
        name="soul",
        logger=logger,
        client=client.web,
        authorize=authorize,
        attaching_conversation_kwargs_enabled=False,
    )
    logger.setLevel(logging.WARNING)
    app.use(_StoreThenAcknowledge(listener))
    return app


def library_logger(emit: Emit) -> logging.Logger:
    """Return a logger that turns warnings of Bolt and the SDK into events, without the secrets in URLs' queries."""
    logger = logging.Logger("slack", logging.WARNING)  # noqa: LOG001  # one per channel, not one per process
    logger.addHandler(_Events(emit))
    return logger


class _Events(logging.Handler):
    """The handler that turns a library's log records into `slack.library` events."""

    def __init__(self, emit: Emit) -> None:
        super().__init__()
        self._emit_event = emit

    def emit(self, record: logging.LogRecord) -> None:
        note = _ADDRESS_QUERY.sub("?…", record.getMessage())[:_NOTE_LENGTH]
        self._emit_event("slack.library", level=record.levelname.lower(), note=note)
