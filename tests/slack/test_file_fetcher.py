"""Files come from Slack's hosts or the Web API's alone, within bounds, and the token goes nowhere else."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from pydantic import SecretStr

from daemon.channels.slack.api import SlackClient
from daemon.channels.slack.event_reader import CANVAS, LIST
from daemon.channels.slack.files import FileFetcher
from daemon.core.config import Settings
from daemon.core.errors import FileRefused, NotDelivered
from daemon.core.ports.services import SharedFile
from tests.fakes import Events, FakeClock
from tests.loopback import served

_AWAY = "http://127.0.0.1:9/whole"


@dataclass
class Host:
    """A server that plays the Web API's host; `tokens` holds what each request showed."""

    url: str = ""
    tokens: list[str] = field(default_factory=list)

    async def serve(self, request: web.Request) -> web.StreamResponse:
        self.tokens.append(request.headers.get("Authorization", ""))
        name = request.match_info["name"]
        if name in (moves := {"moved": f"{self.url}/whole", "round": f"{self.url}/round", "away": _AWAY}):
            raise web.HTTPFound(moves[name])
        if name == "endless":
            return await self._endless(request)
        plain = {
            "whole": web.Response(body=b"the bytes", content_type="image/png"),
            "page": web.Response(text="<html>Sign in</html>", content_type="text/html"),
            "packed": web.Response(body=b"x", headers={"Content-Encoding": "gzip"}),
            "busy": web.Response(status=503),
        }
        return plain.get(name) or web.Response(status=404)

    async def _endless(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while True:
            await response.write(b"x" * 1_000_000)
            await asyncio.sleep(0)


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    found = Host()
    app = web.Application()
    app.router.add_get("/{name}", found.serve)
    async with served(app) as url:
        found.url = url
        yield found


@pytest.fixture
async def fetcher(host: Host) -> AsyncIterator[FileFetcher]:
    settings = Settings.model_construct(slack_bot_token=SecretStr("xoxb-1"), slack_api_url=f"{host.url}/api/")
    client = SlackClient(settings, FakeClock(), Events())
    yield FileFetcher(client, settings.slack_api_url)
    await client.close()


def at(url: str, size: int = 9, media_type: str = "image/png") -> SharedFile:
    return SharedFile("F1", "a.png", media_type, size, url)


async def refused(fetcher: FileFetcher, file: SharedFile) -> str:
    with pytest.raises(FileRefused) as caught:
        await fetcher.fetch(file)
    return str(caught.value.args[0].key)


async def test_a_file_is_fetched_with_the_token(fetcher: FileFetcher, host: Host) -> None:
    for name in ("whole", "moved"):
        assert await fetcher.fetch(at(f"{host.url}/{name}")) == b"the bytes", name
    assert set(host.tokens) == {"Bearer xoxb-1"}


async def test_no_other_address_gets_a_request(fetcher: FileFetcher, host: Host) -> None:
    for url in (
        "https://evil.example/a.png",
        "https://slack.com.evil.example/a.png",
        "https://evilslack.com/a.png",
        "http://files.slack.com/a.png",
        "https://files.slack.com:8443/a.png",
        "https://user@files.slack.com/a.png",
        "http://127.0.0.1:9/a.png",
        "file:///etc/passwd",
        "not an address",
        "https://[::1",
    ):
        assert await refused(fetcher, at(url)) == "file_elsewhere", url
    assert host.tokens == []


async def test_what_is_no_file_within_bounds_is_refused(fetcher: FileFetcher, host: Host) -> None:
    reasons = dict.fromkeys(("round", "missing", "page", "packed"), "file_gone")
    reasons |= {"away": "file_elsewhere", "endless": "file_too_large"}
    assert {name: await refused(fetcher, at(f"{host.url}/{name}")) for name in reasons} == reasons
    with pytest.raises(NotDelivered):
        await fetcher.fetch(at(f"{host.url}/busy"))  # that may change


async def test_a_page_of_slack_s_or_a_too_large_file_is_not_asked_for(fetcher: FileFetcher, host: Host) -> None:
    for media, key in ((CANVAS, "file_canvas"), (LIST, "file_list")):
        assert await refused(fetcher, SharedFile("F1", "Plan", media, url=f"{host.url}/whole")) == key
    with pytest.raises(FileRefused) as caught:
        await fetcher.fetch(at(f"{host.url}/whole", size=5_000_000_000))
    assert str(caught.value.args[0]) == "it has 5,000 MB, and 20 MB are the most that I take"
    assert host.tokens == []
