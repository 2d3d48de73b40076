"""The client of Slack's Web API, with its rate limits: each call is sent once, and errors tell the outcomes apart."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from daemon.channels.slack.refusals import DEAD_TOKEN
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ChannelRefused, DeliveryUncertain, NotDelivered
from daemon.core.http import is_loopback
from daemon.core.lru import Lru
from daemon.core.ports.services import Clock, Emit

_PACED_FOR: Final = 60.0  # seconds of evenly spaced calls after a 429
_SPACING: Final = 1.0
_QUEUE: Final = 2.0  # the longest wait for a slot in seconds; with a longer queue a call fails with the time to wait
_MOST_LIMITS: Final = 1000
_MINUTE: Final = 60.0

_POSTING: Final = frozenset({"chat.postMessage"})
"""Methods that Slack counts for each channel."""


@dataclass(slots=True)
class _Limit:
    """The rate limit of one method (for posts, of one method in one channel), in monotonic seconds."""

    held_until: float
    paced_until: float
    next_slot: float


class Pacing:
    """The delays after a 429: a pause until Retry-After is over, then one call a second for a minute."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._limits = Lru[tuple[str, str], _Limit](_MOST_LIMITS)

    def pause_needed(self, method: str, channel: str) -> float:
        """Return the seconds before this method may be called again, or 0.0 if a slot is free or near."""
        now, limit = self._clock.monotonic(), self._limits.get(_key(method, channel))
        if limit is None:
            return 0.0
        queue = limit.next_slot - now if now < limit.paced_until else 0.0
        return max(0.0, limit.held_until - now, queue if queue > _QUEUE else 0.0)

    def throttled(self, method: str, channel: str, retry_after: float) -> None:
        key, until = _key(method, channel), self._clock.monotonic() + retry_after
        self._limits[key] = _Limit(held_until=until, paced_until=until + _PACED_FOR, next_slot=until)

    async def wait_for_slot(self, method: str, channel: str) -> None:
        limit = self._limits.get(_key(method, channel))
        if limit is None:
            return
        now = self._clock.monotonic()
        if now >= limit.paced_until:
            self._limits.pop(_key(method, channel), None)
            return
        slot = max(now, limit.next_slot)
        limit.next_slot = slot + _SPACING
        if slot > now:
            await self._clock.sleep(slot - now)


class Window:
    """The rate limit of `per_minute` calls in any minute."""

    def __init__(self, clock: Clock, per_minute: int) -> None:
        self._clock = clock
        self._per_minute = per_minute
        self._taken: deque[float] = deque()

    def take(self) -> bool:
        if self.wait_needed() > 0:
            return False
        self._taken.append(self._clock.monotonic())
        return True

    def note(self) -> None:
        """Count a call that was made without waiting for a slot."""
        self._taken.append(self._clock.monotonic())

    def wait_needed(self) -> float:
        """Return the seconds until a slot is free, or 0.0."""
        now = self._clock.monotonic()
        while self._taken and now - self._taken[0] >= _MINUTE:
            self._taken.popleft()
        beyond = len(self._taken) - self._per_minute
        return 0.0 if beyond < 0 else self._taken[beyond] + _MINUTE - now

    async def wait_for_slot(self) -> None:
        while not self.take():
            await self._clock.sleep(self.wait_needed())


def _key(method: str, channel: str) -> tuple[str, str]:
    """Return the key of a rate limit: Slack counts posts in each channel, other methods in the whole workspace."""
    return method, channel if method in _POSTING else ""


Json = dict[str, Any]

_TIMEOUT: Final = aiohttp.ClientTimeout(total=20, connect=10)
_RESPONSES: Final = "https://hooks.slack.com"  # the origin of every response_url
_FILES: Final = "https://files.slack.com"  # the origin of every upload URL
READS_A_MINUTE: Final = 40  # reads of history and channels; Slack allows 50 of each method (tier 3)
_SOCKET_URL_LIFE: Final = 20.0  # seconds; Slack's URLs are valid for a short time only
_DEFAULT_RETRY_AFTER: Final = 10.0
_LONGEST_RETRY_AFTER: Final = 3600.0
_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500

# Methods that change nothing: a retry is always safe. All others are writes.
_READS: Final = frozenset(
    {
        "auth.test",
        "apps.connections.open",
        "chat.getPermalink",
        "conversations.history",
        "conversations.info",
        "conversations.members",
        "conversations.replies",
        "files.info",
        "files.getUploadURLExternal",  # reserves an upload that no user sees
        "users.conversations",
        "users.info",
        "users.list",
    }
)
_POSTED_READS: Final = frozenset({"auth.test", "apps.connections.open", "files.getUploadURLExternal"})
_ANSWERS: Final = frozenset(
    {
        ("agents.sessions.rename", "session_not_found"),  # the session has never been opened
        *(("reactions.add", code) for code in ("already_reacted", "message_not_found")),
        *(("reactions.remove", code) for code in ("no_reaction", "message_not_found")),
    }
)
"""Refusals that are an expected answer and are not logged as failures."""
# Reads that share one tier; catch-up makes most of them, and waits for the others.
_HISTORY: Final = frozenset({"conversations.history", "conversations.replies", "users.conversations"})
# Error codes with which Slack declines a call for now, before it does anything.
_NOT_NOW: Final = frozenset(
    {"ratelimited", "rate_limited", "request_timeout", "team_added_to_org", "org_login_required", "accesslimited"}
)
# Error codes of a failure inside Slack: a write may have happened or not.
_BROKE: Final = frozenset({"internal_error", "fatal_error", "service_unavailable"})

_HINTS: Final[Mapping[str, str]] = {
    "missing_scope": "add the scope in the app's settings, reinstall the app, then run `soul doctor`",
    "not_in_channel": "invite the soul to the channel",
    "is_archived": "the channel is archived",
    "restricted_action_read_only_channel": "let the app post in this channel, or take it out",
    "restricted_action_thread_locked": "an admin has locked the thread",
    **dict.fromkeys(DEAD_TOKEN, "check SLACK_BOT_TOKEN and SLACK_APP_TOKEN, then run `soul doctor`"),
}
_BEFORE_SENDING: Final = (
    aiohttp.ClientConnectorError,
    aiohttp.ClientHttpProxyError,
    aiohttp.ConnectionTimeoutError,
    aiohttp.InvalidURL,
)


class SlackClient:
    """The client that makes all Web API calls of one channel: one HTTP session, one token, Slack's rate limits."""

    def __init__(self, settings: Settings, clock: Clock, emit: Emit) -> None:
        self._settings = settings
        self.clock = clock
        self.emit = emit
        self._pacing = Pacing(clock)
        self._reads = Window(clock, READS_A_MINUTE)
        self._web: AsyncWebClient | None = None
        self._socket_url, self._socket_url_until = "", 0.0

    @property
    def web(self) -> AsyncWebClient:
        if self._web is None:
            token = self._settings.slack_bot_token
            self._web = AsyncWebClient(
                token=token.get_secret_value() if token else None,
                base_url=self._settings.slack_api_url,
                session=aiohttp.ClientSession(timeout=_TIMEOUT),
                retry_handlers=[],
            )
            if is_loopback(URL(self._settings.slack_api_url).host or ""):
                self._web.proxy = None  # the SDK takes a proxy from the environment and ignores NO_PROXY
        return self._web

    async def close(self) -> None:
        """Close the HTTP session. A later call opens a new one."""
        web, self._web = self._web, None
        if web is not None and web.session is not None:
            await web.session.close()

    def keep_socket_url(self, url: str) -> None:
        """Keep a socket URL that was requested to check the token, for the first socket that is opened."""
        self._socket_url, self._socket_url_until = url, self.clock.monotonic() + _SOCKET_URL_LIFE

    def take_socket_url(self) -> str:
        """Return the kept URL once, or an empty string if there is none or it is too old."""
        url, self._socket_url = self._socket_url, ""
        return url if self.clock.monotonic() < self._socket_url_until else ""

    async def wait_to_read(self) -> None:
        """Wait until the history can be read without delaying reads that a reply waits for."""
        while (wait := self._reads.wait_needed()) > 0:
            await self.clock.sleep(wait)

    async def call(self, method: str, **arguments: object) -> Json:
        """Call a method once and return Slack's answer.

        Raises NotDelivered (nothing happened, or a read without an answer), DeliveryUncertain (a write that may have
        happened) or ChannelRefused (`ok: false`, with Slack's code).
        """
        return (await self.answer(method, **arguments))[0]

    async def respond(self, url: str, words: Mapping[str, object]) -> None:
        """Send an answer to the `response_url` of an interaction.

        Raises ChannelError if Slack did not take it, and ChannelRefused if the URL has neither Slack's origin nor the
        API's.
        """
        if not _same_origin(url, self._settings.slack_api_url, _RESPONSES):
            raise ChannelRefused("this is no address of Slack's", code="invalid_url")
        try:
            status = await self._post(url, json=words)
        except (aiohttp.ClientError, OSError) as error:
            raise DeliveryUncertain(f"Slack gave no answer at the response_url ({type(error).__name__})") from error
        if status != HTTPStatus.OK:
            raise ChannelRefused(f"Slack refused the response_url: status {status}", code="response_url")

    async def upload(self, url: str, content: bytes) -> None:
        """Upload a file to the URL that Slack gave for it. No user sees the file yet.

        Raises NotDelivered, or ChannelRefused if the URL has neither Slack's origin nor the API's.
        """
        if not _same_origin(url, self._settings.slack_api_url, _FILES):
            raise ChannelRefused("this is no address of Slack's for files", code="invalid_url")
        try:
            status = await self._post(url, data=content, allow_redirects=False)
        except (aiohttp.ClientError, OSError) as error:
            raise NotDelivered(f"Slack took no file ({type(error).__name__})") from error
        if status != HTTPStatus.OK:
            raise NotDelivered(f"Slack took no file: status {status}")

    async def _post(self, url: str, **arguments: Any) -> int:  # noqa: ANN401  # aiohttp's
        """Return the status of a request beside the Web API's methods."""
        session = self.web.session
        assert session is not None  # made together with the SDK's client
        async with session.post(url, proxy=self.web.proxy, **arguments) as response:
            return response.status

    async def answer(self, method: str, **arguments: object) -> tuple[Json, Mapping[str, str]]:
        """Call a method like `call`, and return the answer with the response's headers (names in lower case)."""
        channel = str(arguments.get("channel") or arguments.get("channel_id") or "")
        if pause := self._pacing.pause_needed(method, channel):
            raise NotDelivered(f"Slack wants a pause before the next {method}", retry_after=pause)
        await self._pacing.wait_for_slot(method, channel)
        if method in _HISTORY:
            self._reads.note()
        try:
            return await self._send(method, arguments)
        except SlackApiError as error:
            failure = self._judge(method, channel, error)
        except _BEFORE_SENDING as error:
            failure = NotDelivered(f"Slack can't be reached for {method}: {type(error).__name__}")
            failure.__cause__ = error
        except (aiohttp.ClientError, OSError, ValueError, AttributeError) as error:
            # Timeouts are OSErrors; the SDK raises the last two for bodies that don't match their content type.
            failure = _unknown(method, type(error).__name__)
            failure.__cause__ = error
        if not (isinstance(failure, ChannelRefused) and (method, failure.code) in _ANSWERS):
            self.emit("slack.call_failed", method=method, reason=failure.message, kind=type(failure).__name__)
        raise failure

    async def _send(self, method: str, arguments: Mapping[str, object]) -> tuple[Json, Mapping[str, str]]:
        given = {name: value for name, value in arguments.items() if value is not None}
        if method in _READS:
            verb = "POST" if method in _POSTED_READS else "GET"
            response = await self.web.api_call(method, http_verb=verb, params=given)
        else:
            response = await self.web.api_call(method, json=given)
        if not isinstance(response.data, dict):
            raise ValueError("the answer is not a JSON object")  # noqa: TRY004  # an unreadable answer, not a misuse
        return response.data, {str(name).lower(): str(value) for name, value in response.headers.items()}

    def _judge(self, method: str, channel: str, error: SlackApiError) -> ChannelError:
        """Return the error for a call that was throttled, refused or broken."""
        response = error.response
        status = int(getattr(response, "status_code", 0) or getattr(response, "status", 0) or 0)
        data = getattr(response, "data", None)
        code = str(data.get("error") or "") if isinstance(data, dict) else ""
        if status == _TOO_MANY or code in _NOT_NOW:
            pause = _retry_after(getattr(response, "headers", {}))
            self._pacing.throttled(method, channel, pause)
            failure: ChannelError = NotDelivered(
                f"Slack takes no {method} just now ({code or status})", retry_after=pause
            )
        elif not code or code in _BROKE or status >= _SERVER_FAULT:
            failure = _unknown(method, code or f"status {status}")
        else:
            failure = ChannelRefused(f"Slack refused {method}: {code}", code=code, hint=_HINTS.get(code, ""))
        failure.__cause__ = error
        return failure


def _same_origin(url: str, *others: str) -> bool:
    try:
        return URL(url).origin() in [URL(other).origin() for other in others]
    except ValueError:
        return False


def _unknown(method: str, why: str) -> ChannelError:
    message = f"Slack gave no usable answer to {method} ({why})"
    return NotDelivered(message) if method in _READS else DeliveryUncertain(message)


def _retry_after(headers: Mapping[str, str]) -> float:
    try:
        seconds = float(headers.get("Retry-After", _DEFAULT_RETRY_AFTER))
    except ValueError:
        return _DEFAULT_RETRY_AFTER
    return min(max(seconds, 0.0), _LONGEST_RETRY_AFTER) if seconds == seconds else _DEFAULT_RETRY_AFTER  # noqa: PLR0124  # NaN
