"""The Bolt app that hands every event to the intake before Slack is told that it arrived (P1).

All the work is one global middleware: it stores the arrival and only then answers 200, which Bolt sends as the
acknowledgement. If the intake can't store, the middleware raises, Bolt answers 500, nothing is acknowledged and Slack
delivers again. Listeners would add nothing but a second place; none are registered, so every kind of envelope, message
subtypes and foreign buttons included, is acknowledged here.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse

from daemon.channels.slack.api.client import SlackClient
from daemon.channels.slack.incoming.event_reader import Reader
from daemon.core.errors import ChannelError, StoreError
from daemon.core.ports import Acceptance, Arrival, Decision, Emit, Intake

_ADDRESS_QUERY: Final = re.compile(r"\?\S+")
_NOTE_LENGTH: Final = 300
_TELLING: Final = 1.0  # seconds
_VOID: Final = "That changed nothing: you weren't the one who was asked, or it has been decided or has expired already."


class Listener:
    """Reads envelopes and offers them to the intake; counts those on their way, so that a stop can wait for them.

    `unheard` is called when one could not be stored: Slack repeats it for some minutes only, so history must be read.
    """

    def __init__(self, reader: Reader, intake: Intake, emit: Emit, unheard: Callable[[], None]) -> None:
        self._reader = reader
        self._intake = intake
        self._emit = emit
        self._unheard = unheard
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def hear(self, body: Mapping[str, Any]) -> Decision | None:
        """Store what an envelope's payload brings, if it is for us; gives a decision that counts for nothing.

        Raises StoreError when it could not be stored.
        """
        arrival = self._read(body)
        if arrival is None:
            return None
        self._under_way += 1
        self._idle.clear()
        try:
            acceptance = await self._intake.accept(arrival)
        except StoreError as error:
            self._emit("slack.store_failed", event_id=arrival.event_id, reason=error.message, hint=error.hint)
            self._unheard()
            raise
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()
        self._emit("slack.heard", kind=type(arrival).__name__, event_id=arrival.event_id, became=acceptance.value)
        if acceptance is Acceptance.DUPLICATE:
            self._emit("slack.duplicate", event_id=arrival.event_id)
        return arrival if isinstance(arrival, Decision) and acceptance is Acceptance.IGNORED else None

    async def idle(self) -> None:
        """Wait until nothing is on its way to the intake."""
        await self._idle.wait()

    def _read(self, body: Mapping[str, Any]) -> Arrival | None:
        if body.get("type") == "block_actions":
            return self._reader.action(body)
        return self._reader.event(body)


def bolt_app(listener: Listener, reader: Reader, client: SlackClient, emit: Emit) -> AsyncApp:
    """The stock AsyncApp around one listener; it authorizes events by what the preflight learned, without a call."""
    identity = reader.identity

    async def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=identity.team,
            bot_token=client.web.token,
            bot_id=identity.bot,
            bot_user_id=identity.user,
        )

    async def store_then_acknowledge(body: Mapping[str, Any]) -> BoltResponse:
        void = await listener.hear(body)
        if void is not None:
            await _tell_it_is_void(client, void, emit)
        return BoltResponse(status=200, body="")

    logger = library_logger(emit)
    logger.setLevel(logging.ERROR)  # Bolt warns that a token is set twice, whichever way it is built
    app = AsyncApp(
        name="soul",
        logger=logger,
        client=client.web,
        authorize=authorize,
        attaching_conversation_kwargs_enabled=False,
    )
    logger.setLevel(logging.WARNING)
    app.use(store_then_acknowledge)
    return app


async def _tell_it_is_void(client: SlackClient, void: Decision, emit: Emit) -> None:
    """Tell whoever pressed, and nobody else, that it counts for nothing; briefly, for Slack waits for us."""
    try:
        async with asyncio.timeout(_TELLING):
            await client.call("chat.postEphemeral", channel=void.channel, user=void.author, text=_VOID)
    except (ChannelError, TimeoutError) as error:
        emit("slack.void_untold", channel=void.channel, reason=str(error) or "it took too long")


def library_logger(emit: Emit) -> logging.Logger:
    """A logger of our own for Bolt and the SDK: warnings become events, without the tickets that their URLs carry."""
    logger = logging.Logger("slack", logging.WARNING)  # noqa: LOG001  # one per channel, not one per process
    logger.addHandler(_Events(emit))
    return logger


class _Events(logging.Handler):
    """Turns a library's log records into `slack.library` events."""

    def __init__(self, emit: Emit) -> None:
        super().__init__()
        self._emit_event = emit

    def emit(self, record: logging.LogRecord) -> None:
        """Tell one record, shortened."""
        note = _ADDRESS_QUERY.sub("?…", record.getMessage())[:_NOTE_LENGTH]
        self._emit_event("slack.library", level=record.levelname.lower(), note=note)
