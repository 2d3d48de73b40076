"""The Web API client raises one error for each outcome of a call; the preflight checks both tokens."""

from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.installation import REQUIRED_SCOPES, check_tokens, fetch_identity
from daemon.core.config import Settings
from daemon.core.errors import ChannelError, ChannelRefused, ConfigError, DeliveryUncertain, NotDelivered
from daemon.core.ports.services import SystemClock
from tests.fakes import Events, FakeClock
from tests.loopback import served
from tests.slack.conftest import Wire
from tests.slack.parts import settings_for


class Server:
    """A real HTTP server that gives the same answer to every method."""

    def __init__(self) -> None:
        self.answer: web.Response | None = None
        self.asked: list[str] = []
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer, or drop the connection if there is no answer."""
        self.asked.append(request.match_info["method"])
        if self.answer is None:
            assert request.transport is not None
            request.transport.abort()
            return web.Response()
        return web.Response(status=self.answer.status, headers=self.answer.headers, body=self.answer.body)


@pytest.fixture
async def odd() -> AsyncIterator[Server]:
    server = Server()
    application = web.Application()
    application.router.add_route("*", "/api/{method}", server.handle)
    async with served(application) as url:
        server.url = f"{url}/api/"
        yield server


@pytest.fixture
async def door(odd: Server, events: Events) -> AsyncIterator[SlackClient]:
    client = SlackClient(settings_for(odd.url), FakeClock(), events)
    yield client
    await client.close()


def answer(status: int = 200, text: str = "", content_type: str = "application/json", **headers: str) -> web.Response:
    return web.Response(status=status, text=text, content_type=content_type, headers=headers)


async def raised(client: SlackClient, method: str, **arguments: str) -> ChannelError:
    with pytest.raises(ChannelError) as caught:
        await client.call(method, **arguments)
    return caught.value


async def test_each_outcome_of_a_call_raises_its_own_error(odd: Server, events: Events) -> None:
    for given, write, read in (
        (None, DeliveryUncertain, NotDelivered),
        (answer(500, '{"ok": false}'), DeliveryUncertain, NotDelivered),
        (answer(503, '{"ok": false, "error": "anything"}'), DeliveryUncertain, NotDelivered),
        (answer(502, "<html>Bad gateway</html>", "text/html"), DeliveryUncertain, NotDelivered),
        (answer(502, "bad", "text/plain"), DeliveryUncertain, NotDelivered),
        (answer(200, "ok", "text/plain"), DeliveryUncertain, NotDelivered),
        (answer(200, "{"), DeliveryUncertain, NotDelivered),
        (answer(200, "[1]"), DeliveryUncertain, NotDelivered),
        (answer(200, "null"), DeliveryUncertain, NotDelivered),
        (answer(200, '{"ok": false, "error": "internal_error"}'), DeliveryUncertain, NotDelivered),
        (answer(200, '{"ok": false, "error": "fatal_error"}'), DeliveryUncertain, NotDelivered),
        (answer(200, '{"ok": false}'), DeliveryUncertain, NotDelivered),
        (answer(429, "{}"), NotDelivered, NotDelivered),
        (answer(200, '{"ok": false, "error": "ratelimited"}'), NotDelivered, NotDelivered),
        (answer(200, '{"ok": false, "error": "is_archived"}'), ChannelRefused, ChannelRefused),
    ):
        odd.answer = given
        odd.asked.clear()
        client = SlackClient(settings_for(odd.url), FakeClock(), events)
        said = (given.status, given.text) if given else "no answer"
        assert type(await raised(client, "chat.postMessage", channel="C1", text="x")) is write, said
        assert odd.asked == ["chat.postMessage"], "a write is sent once"
        assert type(await raised(client, "users.info", user="U1")) is read, said
        await client.close()


async def test_a_good_answer_comes_with_its_headers(
    door: SlackClient, odd: Server, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd.answer = answer(200, '{"ok": true, "ts": "1.2"}', **{"X-OAuth-Scopes": "chat:write, users:read"})
    assert await door.call("chat.postMessage", channel="C1") == {"ok": True, "ts": "1.2"}
    assert (await door.answer("auth.test"))[1]["x-oauth-scopes"] == "chat:write, users:read"
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    assert (await door.call("auth.test"))["ok"], "no proxy of the environment is used on loopback"
    away = SlackClient(settings_for("https://slack.com/api/"), FakeClock(), events)
    assert away.web.proxy == "http://127.0.0.1:1"
    await away.close()


async def test_an_invalid_retry_after_becomes_a_bounded_pause(door: SlackClient, odd: Server) -> None:
    pauses = {"7": 7.0, "soon": 10.0, "nan": 10.0, "-3": 0.0, "9e9": 3600.0}
    held = dict[str, float]()
    for channel, header in enumerate(pauses):
        odd.answer = answer(429, "{}", **{"Retry-After": header})
        error = await raised(door, "chat.postMessage", channel=f"C{channel}")
        assert isinstance(error, NotDelivered), header
        held[header] = error.retry_after
    assert held == pauses


async def test_after_a_429_a_channel_is_paced_for_a_minute_and_others_are_not(odd: Server, events: Events) -> None:
    clock = FakeClock(auto=True)
    client = SlackClient(settings_for(odd.url), clock, events)
    odd.answer = answer(429, "{}", **{"Retry-After": "2"})
    with pytest.raises(NotDelivered):
        await client.call("chat.postMessage", channel="C1")
    odd.answer = answer(200, '{"ok": true}')
    with pytest.raises(NotDelivered):
        await client.call("chat.postMessage", channel="C1")
    await clock.sleep(2)
    began = clock.monotonic()
    for _ in range(3):
        await client.call("chat.postMessage", channel="C1")
    await client.call("chat.postMessage", channel="C2")
    assert clock.monotonic() - began == 2.0
    await clock.sleep(60)
    began = clock.monotonic()
    for _ in range(3):
        await client.call("chat.postMessage", channel="C1")
    assert clock.monotonic() == began
    await client.close()


async def test_a_refused_connection_is_surely_not_sent(events: Events) -> None:
    client = SlackClient(settings_for("http://127.0.0.1:1/api/"), FakeClock(), events)
    assert isinstance(await raised(client, "chat.postMessage", channel="C1"), NotDelivered)
    await client.close()
    await client.close()


def test_missing_and_swapped_tokens_are_found_without_a_call() -> None:
    for bot, app, word in (
        (None, "xapp-1", "SLACK_BOT_TOKEN is not set"),
        ("xoxb-1", None, "SLACK_APP_TOKEN is not set"),
        ("xapp-1", "xoxb-1", "swapped"),
        ("xoxp-1", "xapp-1", "not a bot token"),
        ("xoxb-1", "xoxb-2", "not an app-level token"),
    ):
        with pytest.raises(ConfigError, match=word):
            check_tokens(settings_for("http://127.0.0.1:1/", bot_token=bot, app_token=app))


async def test_a_token_that_slack_refuses_is_a_config_error(on: Wire, client: SlackClient, settings: Settings) -> None:
    for method, body, word in (
        ("auth.test", {"ok": False, "error": "account_inactive"}, "SLACK_BOT_TOKEN: account_inactive"),
        ("auth.test", {"ok": True, "team_id": "T1", "user_id": "U1"}, "bot user"),
        ("apps.connections.open", {"ok": False, "error": "missing_scope"}, "connections:write"),
        ("apps.connections.open", {"ok": False, "error": "invalid_auth"}, "SLACK_APP_TOKEN: invalid_auth"),
    ):
        await on.control.fail(method, body=body)
        with pytest.raises(ConfigError, match=word):
            await fetch_identity(client, settings, SystemClock(), on.events)


async def test_an_unreachable_slack_is_retried_and_logged(on: Wire, client: SlackClient, settings: Settings) -> None:
    await on.control.fail("auth.test", times=6, status=503)
    clock = FakeClock(auto=True)
    identity = await fetch_identity(client, settings, clock, on.events)
    assert clock.slept == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert len(on.events.named("slack.unreachable")) == 6
    assert (identity.team, identity.user) == ("T0LOCAL", on.control.server.bot_user.id)
    assert "chat:write" in identity.scopes
    assert not on.events.named("slack.scopes_missing")


async def test_an_app_that_lacks_scopes_starts_and_logs_them(on: Wire, client: SlackClient, settings: Settings) -> None:
    await on.control.do("scopes", scopes=[scope for scope in REQUIRED_SCOPES if scope not in {"users:read", "im:read"}])
    await fetch_identity(client, settings, FakeClock(), on.events)
    (missing,) = on.events.named("slack.scopes_missing")
    assert missing["scopes"] == "im:read users:read"


async def test_the_app_id_is_read_from_the_app_token(odd: Server, events: Events) -> None:
    odd.answer = answer(200, '{"ok": true, "team_id": "T1", "user_id": "U1", "bot_id": "B1", "url": "x"}')
    settings = settings_for(odd.url, app_token="xapp-1-A123-456-abc")
    client = SlackClient(settings, FakeClock(), events)
    identity = await fetch_identity(client, settings, FakeClock(), events)
    assert (identity.app, identity.scopes) == ("A123", frozenset())
    await client.close()
