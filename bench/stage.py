"""One workspace, one bot in it (ours or the bare echo), the users who write to it, and the replies they see."""

import asyncio
import json
import re
import tempfile
from asyncio.subprocess import Process
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from bench.host import cpu_seconds, resident_mib
from bench.processes import end, spawn, workspace_process
from daemon.core.concurrency import alongside
from daemon.core.ports.services import SystemClock
from tests.workspace_client import WorkspaceClient

Json = dict[str, Any]
PEOPLE: Final = ("ada", "ben", "chloe")
MARK: Final = re.compile(r"mark\d{5}")
_POLL: Final = 0.01
_START: Final = 30.0
_ENDS: Final = frozenset({"chat.postMessage", "chat.stopStream"})


class Bot(StrEnum):
    """The bot that is measured."""

    OURS = "ours"
    ECHO = "echo"


@dataclass(slots=True)
class Stage:
    """A bot in a fresh workspace; a figure starts and stops it as often as it needs, with one lasting home."""

    bot: Bot
    home: Path
    address: Json
    people: WorkspaceClient
    clock: SystemClock
    settings: Mapping[str, str]
    process: Process | None = None
    said: int = 0
    answers: dict[str, float] = field(default_factory=dict)
    _streams: dict[str, str] = field(default_factory=dict)
    _seen: int = 0
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self) -> float:
        """Start the bot; returns the seconds until its first socket was open."""

        async def look() -> bool:
            return await self.people.sockets() > 0

        began = self.clock.monotonic()
        await self.spawn()
        try:
            await self.people.wait_for(look, _START)
        except TimeoutError as error:
            last = (self.home / "log").read_text(encoding="utf-8").splitlines()[-1:]
            raise RuntimeError(f"{self.bot} opened no socket; its log ends: {''.join(last)}") from error
        return self.clock.monotonic() - began

    async def spawn(self) -> None:
        """Start the bot without waiting for its sockets."""
        keys = [self.address[name] for name in ("api_url", "bot_token", "app_token")]
        if self.bot is Bot.ECHO:
            self.process = await spawn(self.home, "bench.echo", *keys)
            return
        names = ("SLACK_API_URL", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN")
        own = {
            "SOUL_LEARN_AFTER": "0",
            "SOUL_HOME": str(self.home),
            "SOUL_HTTP_PORT": "0",
        }
        settings = {**dict(zip(names, keys, strict=True)), **own, **self.settings}
        self.process = await spawn(self.home, "daemon", "run", settings=settings)

    async def stop(self, *, kill: bool = False) -> None:
        """Stop the bot, if it runs, and wait until the workspace has no socket of it."""

        async def look() -> bool:
            return await self.people.sockets() == 0

        if self.process is not None:
            process, self.process = self.process, None
            await end(process, kill=kill)
            await self.people.wait_for(look, _START)

    @property
    def pid(self) -> int:
        """The running bot's process."""
        assert self.process is not None
        return self.process.pid

    @property
    def memory(self) -> float:
        """The bot's resident memory in MiB."""
        return resident_mib(self.pid)

    @property
    def cpu(self) -> float:
        """The bot's processor time so far, in seconds."""
        return cpu_seconds(self.pid)

    def marked(self, words: str = "") -> str:
        """Words with a unique mark, by which a reply shows which message it answers."""
        self.said += 1
        return f"mark{self.said:05d} {words or 'please'}"

    async def say(self, person: str, channel: str, text: str, thread: str = "") -> Json:
        """Post a message of a user; gives the message."""
        return await self.people.say(person, channel, text, thread=thread)

    async def reply_to(self, message: Json, within: float = 10.0) -> float:
        """Wait for the finished reply under a message; seconds from the event to it. Raises TimeoutError."""
        async with asyncio.timeout(within):
            while message["ts"] not in self.answers:
                await self._news.wait()
        return self.answers[message["ts"]] - float(message["ts"])

    async def answered(self, messages: Sequence[Json], within: float) -> int:
        """Wait until every message has a reply of its own, or until the time is over; gives how many have."""
        ends = self.clock.monotonic() + within
        while (found := sum(one["ts"] in self.answers for one in messages)) < len(messages):
            if self.clock.monotonic() > ends:
                break
            await self.clock.sleep(_POLL)
        return found

    async def quiet(self, seconds: float = 0.7, within: float = 30.0) -> None:
        """Wait until no Web API call was made for a while."""
        ends = self.clock.monotonic() + within
        since, last = self.clock.monotonic(), self._seen
        while self.clock.monotonic() - since < seconds and self.clock.monotonic() < ends:
            await self.clock.sleep(_POLL)
            if self._seen != last:
                since, last = self.clock.monotonic(), self._seen

    async def until(self, reached: Callable[[], Awaitable[bool]], within: float) -> bool:
        """Poll until a condition holds; False when the time is over."""
        ends = self.clock.monotonic() + within
        while not await reached():
            if self.clock.monotonic() > ends:
                return False
            await self.clock.sleep(0.1)
        return True

    async def replies(self, channels: Sequence[str]) -> list[Json]:
        """The posts of the bot in some channels, oldest first, each with the text that users see as `shown`."""
        found = [post for channel in channels for post in await self.people.posts_by_bot(channel)]
        return sorted(({**post, "shown": shown(post)} for post in found), key=lambda post: float(post["ts"]))

    async def follow(self) -> None:
        """Keep `answers` up to date from the workspace's own log of calls, until cancelled."""
        while True:
            for call in await self.people.calls(after=self._seen):
                self._seen = call["number"]
                self._take(call)
            self._news.set()
            self._news = asyncio.Event()
            await self.clock.sleep(_POLL)

    def _take(self, call: Json) -> None:
        if not call["answer"].get("ok"):
            return
        if call["method"] == "chat.startStream":
            self._streams[call["answer"]["ts"]] = call["args"].get("thread_ts", "")
        elif call["method"] in _ENDS:
            under = call["args"].get("thread_ts") or self._streams.get(call["args"].get("ts", ""), "")
            self.answers.setdefault(under, call["at"])


@asynccontextmanager
async def stage(bot: Bot, **settings: str) -> AsyncIterator[Stage]:
    """A fresh workspace and a bot ready to start; at the end all processes are stopped and all files removed."""
    async with AsyncExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=f"bench-{bot}-")))
        (home / "workspace").mkdir()
        address = await stack.enter_async_context(workspace_process(home / "workspace"))
        people = await stack.enter_async_context(WorkspaceClient(address["page_url"]))
        set_up = Stage(bot, home, address, people, SystemClock(), settings)
        async with alongside(set_up.follow()):
            try:
                yield set_up
            finally:
                if set_up.process is not None:
                    await end(set_up.process, kill=True)


def shown(post: Json) -> str:
    """The text of a message as a user reads it: its Markdown blocks where it has any, else its text."""
    blocks = [block["text"] for block in post.get("blocks") or () if block.get("type") == "markdown"]
    return "\n".join(blocks) if blocks else str(post["text"])


def times_answered(messages: Sequence[Json], replies: Sequence[Json]) -> list[int]:
    """The number of replies to each message: those that repeat its mark, or stand under it without a mark."""
    counts = []
    for message in messages:
        mark = MARK.search(message["text"])
        assert mark is not None
        counts.append(sum(_answers(reply, message["ts"], mark[0]) for reply in replies))
    return counts


def _answers(reply: Json, ts: str, mark: str) -> bool:
    marks = MARK.findall(reply["shown"])
    return mark in marks if marks else reply.get("thread_ts") == ts


def everything(value: object) -> str:
    """A structure as text, to search in."""
    return json.dumps(value, ensure_ascii=False)
