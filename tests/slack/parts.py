"""Stand-ins for what surrounds the Slack channel, and the hands that move the local workspace."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from daemon.channels.slack.api.identity import SlackIdentity
from daemon.channels.slack.channel import SlackChannel
from daemon.core.config import Settings
from daemon.core.errors import StoreBusy
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Modality, Perception, Place
from daemon.core.ports import Acceptance, Arrival, NewMessage, Post
from daemon.local_slack.server import WorkspaceServer

OURS = SlackIdentity(team="T1", user="U0SOUL", bot="B0SOUL")


class Events:
    """An Emit that remembers, and can be waited on."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, object]]] = []
        self._changed = asyncio.Event()

    def __call__(self, event: str, /, **fields: object) -> None:
        """Remember one event."""
        self.told.append((event, fields))
        self._changed.set()

    def named(self, event: str) -> list[dict[str, object]]:
        """The fields of every such event."""
        return [fields for name, fields in self.told if name == event]

    async def until(self, event: str, times: int = 1) -> list[dict[str, object]]:
        """Wait until it was told so often."""
        await self.when(lambda: len(self.named(event)) >= times)
        return self.named(event)

    async def when(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds; looked at whenever anything is told."""
        async with asyncio.timeout(20):
            while not holds():
                self._changed.clear()
                await self._changed.wait()


class FakeIntake:
    """An intake in memory: takes an utterance once per channel and ts, and a failing one while `broken`."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.broken = 0
        self.mark: str | None = None
        self.threads: tuple[ConversationKey, ...] = ()
        self.known: tuple[str, ...] = ()
        self.changed = asyncio.Event()
        self._seen: set[tuple[str, ...]] = set()

    async def accept(self, arrival: Arrival) -> Acceptance:
        """Store an arrival once."""
        if self.broken:
            self.broken -= 1
            raise StoreBusy("another process holds the database")
        key = (
            (arrival.perception.conversation.channel, arrival.perception.ts)
            if isinstance(arrival, NewMessage)
            else (arrival.event_id,)
        )
        if key in self._seen:
            return Acceptance.DUPLICATE
        self._seen.add(key)
        self.arrivals.append(arrival)
        self.changed.set()
        return Acceptance.ACCEPTED

    async def watermark(self, soul: str, workspace: str) -> str | None:
        """The mark."""
        return self.mark

    async def advance_watermark(self, soul: str, workspace: str, ts: str) -> None:
        """Move the mark."""
        self.mark = max(self.mark or "", ts)

    async def open_threads(self, soul: str, workspace: str, since_ms: int, limit: int) -> tuple[ConversationKey, ...]:
        """What the test put there."""
        return self.threads[:limit]

    async def known_channels(self, soul: str, workspace: str, limit: int) -> tuple[str, ...]:
        """What the test put there."""
        return self.known[:limit]

    def said(self) -> list[NewMessage]:
        """Utterances alone."""
        return [arrival for arrival in self.arrivals if isinstance(arrival, NewMessage)]

    async def until(self, number: int) -> list[Arrival]:
        """Wait for so many arrivals."""
        async with asyncio.timeout(20):
            while len(self.arrivals) < number:
                self.changed.clear()
                await self.changed.wait()
        return self.arrivals


class QuickClock:
    """The system's time, many times faster, for waits that are long in life."""

    def __init__(self, factor: float = 50.0) -> None:
        self._factor = factor
        self._start = time.monotonic()
        self._epoch = time.time()

    def now_ms(self) -> int:
        """Real milliseconds: what is compared with Slack's timestamps must not run ahead."""
        return int(time.time() * 1000)

    def monotonic(self) -> float:
        """Seconds, fast."""
        return (time.monotonic() - self._start) * self._factor

    async def sleep(self, seconds: float) -> None:
        """Wait a fraction."""
        await asyncio.sleep(max(0.0, seconds / self._factor))


class Hands:
    """The workspace's control API."""

    def __init__(self, server: WorkspaceServer, http: aiohttp.ClientSession) -> None:
        self.server = server
        self._http = http

    async def do(self, order: str, **fields: object) -> dict[str, Any]:
        """Give an order."""
        async with self._http.post(f"{self.server.url}/_control/{order}", json=fields) as response:
            answer: dict[str, Any] = await response.json()
            assert response.status == 200, answer
            return answer

    async def see(self, view: str, **query: str) -> dict[str, Any]:
        """Look at something."""
        async with self._http.get(f"{self.server.url}/_control/{view}", params=query) as response:
            answer: dict[str, Any] = await response.json()
            assert response.status == 200, answer
            return answer

    async def say(self, person: str, channel: str, text: str, **more: object) -> str:
        """Let somebody say something; its ts."""
        return str((await self.do("say", person=person, channel=channel, text=text, **more))["message"]["ts"])

    async def calls(self, method: str) -> list[dict[str, Any]]:
        """Calls of a Web API method."""
        return list((await self.see("calls", method=method))["calls"])

    async def sockets(self) -> list[Any]:
        """The open sockets."""
        return list((await self.see("sockets"))["sockets"])

    async def until(self, look: Callable[[], Awaitable[list[Any]]], number: int) -> list[Any]:
        """Look again and again until there are so many."""
        async with asyncio.timeout(20):
            while len(found := await look()) < number:
                pass
        return found

    async def replies(self, channel: str, thread: str) -> list[dict[str, Any]]:
        """What stands in a thread below its root."""
        found = (await self.see("messages", channel=channel, thread=thread))["messages"]
        return [message for message in found if message["ts"] != thread]

    async def fail(self, method: str, **fault: object) -> None:
        """Let the next call of a method go wrong."""
        await self.do("fault", method=method, **fault)


def spoken(call: dict[str, Any]) -> str:
    """The words that a call of a streaming method brought, in either form."""
    chunks = call["args"].get("chunks") or []
    told = "".join(chunk["text"] for chunk in chunks if chunk["type"] == "markdown_text")
    return str(call["args"].get("markdown_text") or "") + told


def cards(call: dict[str, Any]) -> list[dict[str, Any]]:
    """The task cards that a call of a streaming method brought."""
    return [chunk for chunk in call["args"].get("chunks") or [] if chunk["type"] == "task_update"]


def settings_for(url: str, **more: Any) -> Settings:  # noqa: ANN401  # any setting
    """Settings that point at a workspace."""
    return Settings(
        _env_file=None,
        SLACK_BOT_TOKEN=more.pop("bot_token", "xoxb-local-1"),
        SLACK_APP_TOKEN=more.pop("app_token", "xapp-1-A1-2-3"),
        SLACK_API_URL=url,
        **more,
    )


def perception(
    *,
    channel: str = "C1",
    thread: str = "",
    ts: str = "1750000000.000100",
    source: str = "U1",
    place: Place = Place.PUBLIC_CHANNEL,
    team: str = "T1",
    soul: str = "minoan",
    modality: Modality = Modality.WORDS,
) -> Perception:
    """Words in a public channel unless said otherwise."""
    key = ConversationKey(soul, team, channel, thread)
    audience = Audience(AudienceKind.CHANNEL, channel)
    return Perception(f"{team}/{channel}/{ts}", key, modality, "hello", source, audience, place, ts, 0)


def post(
    channel: str = "C1",
    body: str = "Hello *there*.",
    reply_to: str = "",
    **more: Any,  # noqa: ANN401  # any field
) -> Post:
    """A post of one part."""
    return Post(
        key=more.pop("key", "k1"),
        conversation=ConversationKey(more.pop("soul", "minoan"), more.pop("team", "T1"), channel, reply_to),
        body=body,
        reply_to=reply_to,
        recipient=more.pop("recipient", "U0ADA"),
        newer_than_ts=more.pop("newer_than_ts", reply_to),
        **more,
    )


@asynccontextmanager
async def listening(channel: SlackChannel, intake: FakeIntake) -> AsyncIterator[None]:
    """The channel listening, from the first hello on."""
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(channel.listen(intake, ready))
        async with asyncio.timeout(20):
            await ready.wait()
        yield
        task.cancel()
