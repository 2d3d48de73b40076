"""The Bolt app, which stores every event before it acknowledges it to Slack (P1)."""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.middleware.async_middleware import AsyncMiddleware
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import EventReader
from daemon.channels.slack.home_acts import OPENS_DIALOG, dialog_sent, opened, pressed
from daemon.channels.slack.payloads import joined, meant_for, says_stop, session_stopped, taken_back, thumb_given
from daemon.channels.slack.private_answers import PrivateAnswers
from daemon.channels.slack.slash_commands import SlashCommands
from daemon.core.errors import ChannelError, StoreError
from daemon.core.perception import Place
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


class Listener:
    """The reader of envelopes, which passes them to the intake and counts those in progress for a clean stop.

    `take_note` gets every payload first. `judge` asks the gate about an author (id, channel, place) of an act that no
    cycle judges. `trouble` is Slack's last report that needs an admin, or empty. `on_not_stored` is called after a
    failed store: Slack redelivers for some minutes only, and a catch-up must follow. `note` is called with each arrival
    first, `handle` with each stored or known arrival and its payload. `commands` reads slash commands. `manages` checks
    that a person may manage a channel, by their ids.
    """

    def __init__(  # noqa: PLR0917  # one of each part it joins
        self,
        reader: EventReader,
        intake: Intake,
        judge: Callable[[str, str, Place], Awaitable[GateDecision]],
        take_note: Callable[[Mapping[str, Any]], Awaitable[None]],
        emit: Emit,
        on_not_stored: Callable[[], None],
        note: Callable[[Arrival], None],
        handle: Callable[[Arrival, Acceptance, Mapping[str, Any]], None],
        commands: SlashCommands,
        manages: Callable[[str, str], Awaitable[bool]],
    ) -> None:
        self._reader = reader
        self._intake = intake
        self._judge = judge
        self._take_note = take_note
        self._emit = emit
        self._unheard = on_not_stored
        self._note = note
        self._handle = handle
        self._commands = commands
        self._manages = manages
        self.trouble = ""
        self._in_progress = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def receive(self, body: Mapping[str, Any]) -> str:
        """Store the arrival of an envelope's payload, if any.

        Returns the key of the sentence that explains to the user why the act has no effect, or an empty string. Raises
        StoreError if the store fails.
        """
        if meant_for(self._reader.identity, body):
            return await self._receive(body)
        self._emit("slack.not_ours", event_id=str(body.get("event_id") or "")[:_NOTE_LENGTH])
        return ""

    async def _receive(self, body: Mapping[str, Any]) -> str:
        with self._told_if_not_stored(str(body.get("event_id") or "")):
            await self._take_note(body)
        arrival = await self._located(body)
        if isinstance(arrival, Sentence):
            return arrival.key
        if arrival is None:
            self._tell_of_end(body)
            return "press_void" if self._reader.is_unlisted(body) else ""
        judges = isinstance(arrival, Feedback | Complaint | Stop | Withdrawal)
        presses = isinstance(arrival, Decision | PickedAnswer | WhyAsked) and self._reader.is_from_elsewhere(body)
        if (judges or presses) and not await self._is_admitted(arrival):
            return ""
        if isinstance(arrival, NewMessage) and says_stop(arrival):
            arrival = replace(arrival, stops=await self._is_admitted(_stop_of(arrival)))
        self._note(arrival)
        self._in_progress += 1
        self._idle.clear()
        try:
            with self._told_if_not_stored(arrival.event_id):
                acceptance = await self._intake.accept(arrival)
        finally:
            self._in_progress -= 1
            if not self._in_progress:
                self._idle.set()
        self._emit("slack.heard", kind=type(arrival).__name__, event_id=arrival.event_id, became=acceptance.value)
        if acceptance is Acceptance.DUPLICATE:
            self._emit("slack.duplicate", event_id=arrival.event_id)
        self._handle(arrival, acceptance, body)
        return _IGNORED.get(type(arrival), "") if acceptance is Acceptance.IGNORED else ""

    @contextmanager
    def _told_if_not_stored(self, event_id: str) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            self._emit("slack.store_failed", event_id=event_id, reason=error.message, hint=error.hint)
            self._unheard()
            raise

    async def idle(self) -> None:
        await self._idle.wait()

    async def _is_admitted(self, arrival: Arrival) -> bool:
        """Return the gate's decision on the author of an act that no cycle judges. False without a timely decision."""
        if not isinstance(arrival, UserAct):
            return True
        place = self._reader.places.get(arrival.channel, Place.PRIVATE_CHANNEL)
        place = Place.DM if arrival.channel.startswith("D") else place
        try:
            async with asyncio.timeout(_GATE_TIMEOUT):
                decision = await self._judge(arrival.author, arrival.channel, place)
        except (ChannelError, TimeoutError) as error:
            self._emit(f"slack.{_REFUSED[type(arrival)]}", event_id=arrival.event_id, reason=str(error) or _TOO_LONG)
            return False
        if not decision.admitted:
            self._emit(f"slack.{_REFUSED[type(arrival)]}", event_id=arrival.event_id, reason=decision.reason)
        return decision.admitted

    async def _located(self, body: Mapping[str, Any]) -> Arrival | Sentence | None:
        """Return the arrival of a payload with the place of its answer, or the sentence for a refused user."""
        arrival = await self._commands.read(body, self._reader) if "command" in body else self._read(body)
        if isinstance(arrival, AskedAbout | TypedCommand) and not arrival.channel:
            return await self._commands.at_home(arrival)
        return await self._of_manager(arrival) if isinstance(arrival, RoomWaySent) else arrival

    async def _of_manager(self, sent: RoomWaySent) -> RoomWaySent | Sentence:
        """Return the settings if the user may set them now, or the sentence of the refusal."""
        try:
            async with asyncio.timeout(_GATE_TIMEOUT):
                if await self._manages(sent.author, sent.channel):
                    return sent
            reason, said = "they don't manage the channel", Sentence("room_not_yours")
        except (ChannelError, TimeoutError) as error:
            reason, said = str(error) or _TOO_LONG, Sentence("command_later")
        self._emit("slack.way_refused", event_id=sent.event_id, reason=reason)
        return said

    def _tell_of_end(self, body: Mapping[str, Any]) -> None:
        event = body.get("event")
        kind = str(event.get("type")) if isinstance(event, dict) else ""
        tokens = event.get("tokens") if isinstance(event, dict) else None
        ours = kind != "tokens_revoked" or (isinstance(tokens, dict) and self._reader.identity.user in str(tokens))
        if kind in _ENDED and ours:
            self.trouble = _ENDED[kind]
            self._emit("slack.revoked", reason=self.trouble, hint=_ENDED_HINT)

    def _read(self, body: Mapping[str, Any]) -> Arrival | None:
        if (act := opened(body, self._reader) or pressed(body, self._reader)) is not None:
            return None if act.home.startswith(OPENS_DIALOG) else act  # the arrival is the modal's submission
        if body.get("type") == "block_actions":
            return self._reader.action(body)
        if body.get("type") == "message_action":
            return self._reader.shortcut(body)
        if body.get("type") == "view_submission":
            return dialog_sent(self._reader, body)
        return (
            session_stopped(self._reader, body)
            or thumb_given(self._reader, body)
            or taken_back(self._reader, body)
            or joined(self._reader, body)
            or self._reader.event(body)
        )


def _stop_of(message: NewMessage) -> Stop:
    key, perception = message.perception.conversation, message.perception
    return Stop(message.event_id, key.soul, key.workspace, key.channel, key.thread or perception.ts, perception.author)


class _StoreThenAcknowledge(AsyncMiddleware):
    """The one global middleware: it stores the arrival and then answers 200, which Bolt sends as the acknowledgement.

    If the store fails, the middleware raises, Bolt answers 500, and Slack delivers the event again. Without Bolt
    listeners, it acknowledges every kind of envelope. It takes Bolt's request itself: for a plain function Bolt parses
    the payload first, and fails at unforeseen ones.
    """

    def __init__(self, listener: Listener, answers: PrivateAnswers) -> None:
        self._listener, self._answers = listener, answers

    async def async_process(
        self,
        *,
        req: AsyncBoltRequest,
        resp: BoltResponse,
        next: Callable[[], Awaitable[BoltResponse]],  # noqa: A002  # Bolt's name
    ) -> BoltResponse:
        """Store the payload, then answer. No middleware follows."""
        body = req.body
        void = await self._listener.receive(body)
        if void and body.get("type") == "view_submission":  # the modal stays open with its input
            return BoltResponse(status=200, body=await self._answers.below_input(void, body))
        if void:
            self._answers.tell(void, body)
        return BoltResponse(status=200, body="")


def bolt_app(
    listener: Listener, answers: PrivateAnswers, reader: EventReader, client: SlackClient, emit: Emit
) -> AsyncApp:
    """Return the Bolt app around one listener. It authorizes events with the known ids, without a call to Slack."""
    identity = reader.identity

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
    app.use(_StoreThenAcknowledge(listener, answers))
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
