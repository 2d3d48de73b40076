"""Generated replies, delivered in every way while Slack refuses a call, and a judge of what people then see."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from itertools import count
from typing import Final

from msgspec.structs import replace
from pydantic import SecretStr

from daemon.channels.slack.channel import SlackChannel
from daemon.channels.slack.refusals import CANNOT_CHANGE, NO_METADATA, NO_STREAMS, PLACE, STREAM_OVER
from daemon.core.config import Settings
from daemon.core.errors import AccessLost, ChannelRefused
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports.library import Post
from daemon.core.ports.services import Clock, DraftLog, Task, TaskState
from daemon.core.value import Value
from daemon.local_slack.faults import MethodFault
from daemon.local_slack.model import Json, Streaming, WorkspaceMessage
from daemon.local_slack.server import WorkspaceServer, serve_workspace

LONGEST: Final = 60_000  # characters
CODES: Final = (
    *sorted(PLACE | NO_STREAMS | NO_METADATA | CANNOT_CHANGE | STREAM_OVER),
    *("invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "msg_too_long", "no_text", "invalid_arguments"),
    *("invalid_chunks", "streaming_mode_mismatch", "cannot_provide_both_markdown_text_and_chunks", "no_chunks"),
    *("too_many_attachments", "markdown_text_conflict", "invalid_arg_name", "a_code_of_tomorrow"),
)
"""Every error code that the daemon knows of, and one that nobody knows yet."""

_ROOM: Final = "D0ADA"
_TURNS: Final = 12  # of the loop, between two pieces of a reply
_MARK: Final = re.compile(r"mark(\d+)x")
_PIECES: Final = (
    "A plain sentence with a mark{}x in it. ",
    "- a list & its mark{}x\n    - nested <b> mark{}x\n",
    "| cell | mark{}x |\n|---|---|\n| 1 < 2 | mark{}x & more |\n\n",
    "```html\n<a href='mark{}x'>&amp;</a>\n```\n\n",
    "**Жирный** текст по-русски, mark{}x и ещё слова.\n\n",
    "日本語の文章です。mark{}x もうすこし。",
    "\u0646\u0635 \u0639\u0631\u0628\u064a mark{}x \u0648\u0643\u0644\u0645\u0627\u062a.\n",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f680 mark{}x e\u0301\u0302 ",
    "> quoted mark{}x\n> and _more_ ~struck~ `code`\n\n",
    "# Heading mark{}x\n\n",
    "1. first mark{}x\n2. second mark{}x\n\n",
    "https://example.org/mark{}x?a=1&b=2 and <@U0BEN> and <!channel> mark{}x. ",
    "word" * 120 + " mark{}x ",
    "&<>" * 40 + " mark{}x\n",
)


class Way(StrEnum):
    """How a reply is posted."""

    POSTED = "posted"
    REWRITTEN = "a draft rewritten"
    STREAMED = "streamed"
    LATER_PARTS = "the parts after the first"


REFUSED: Final = {
    Way.POSTED: ("chat.postMessage",),
    Way.REWRITTEN: ("chat.stopStream", "chat.update"),
    Way.STREAMED: ("chat.startStream", "chat.appendStream", "chat.stopStream"),
    Way.LATER_PARTS: ("chat.postMessage",),
}


class Case(Value):
    """One reply, one way of posting it, and the call that Slack refuses, `times` in a row."""

    reply: str
    way: Way
    method: str
    code: str
    times: int


class Outcome(StrEnum):
    """What became of a reply; all but the last are an end that somebody sees."""

    WHOLE = "whole"
    REFUSED = "refused for good"
    WAITING = "waits for the admin"
    SILENT = "dead in silence"


class _Rush:
    """A clock on which a sleep takes no time."""

    def __init__(self) -> None:
        self._now = 1_790_000_000.0

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        return int(self._now * 1000)

    def monotonic(self) -> float:
        """Seconds."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Move the time on at once."""
        self._now += max(seconds, 0.0)
        await asyncio.sleep(0)  # noqa: TID251  # this is the clock


def generated(choice: random.Random) -> str:
    """A reply of one to sixty thousand characters; every length on a logarithmic scale is as likely."""
    length, marks = int(LONGEST ** choice.random()), count()
    kinds = choice.sample(_PIECES, choice.randint(1, len(_PIECES)))
    reply = ""
    while len(reply) < length:
        reply += re.sub(r"\{\}", lambda _: f"{next(marks):04d}", choice.choice(kinds))
    return reply[:length].strip() or "!"


def cases(replies: Sequence[str]) -> list[Case]:
    """Every reply in every way; the refused call, its code and how often it is refused go in turns."""
    found, turns = list[Case](), {way: count() for way in Way}
    for reply in replies:
        for way, methods in REFUSED.items():
            turn = next(turns[way])
            code, rest = CODES[turn % len(CODES)], turn // len(CODES)
            found.append(Case(reply, way, methods[rest % len(methods)], code, (1, 100)[rest // len(methods) % 2]))
    return found


class Trial:
    """A channel in a workspace of its own, which goes through cases one by one."""

    def __init__(self, server: WorkspaceServer, channel: SlackChannel, clock: Clock) -> None:
        self._clock = clock
        self._server = server
        self._channel = channel
        self._keys = count()

    async def outcome(self, case: Case) -> Outcome:
        """Deliver one reply under its refusal, and judge what stands in the workspace afterwards."""
        workspace, key = self._server.workspace, f"k{next(self._keys)}"
        root = workspace.post(WorkspaceMessage(_ROOM, "U0ADA", "tell me")).ts
        parts = self._channel.split(case.reply, ConversationKey("minoan", self._server.team.id, _ROOM, ""))
        workspace.faults.clear()
        posts = [self._post(key, part, number, len(parts), root) for number, part in enumerate(parts)]
        if case.way is not Way.LATER_PARTS:
            self._refuse(case)
        if case.way is Way.STREAMED:
            posts[0] = replace(posts[0], draft=await self._streamed(parts[0], root))
        elif case.way is Way.REWRITTEN:
            posts[0] = replace(posts[0], draft=self._left_open(parts[0][:60], root))
        try:
            await self._deliver(case, posts)
        except ChannelRefused:
            return Outcome.REFUSED
        except AccessLost:
            return Outcome.WAITING
        else:
            return Outcome.WHOLE if self._stands(case.reply, root) else Outcome.SILENT
        finally:
            self._forget()

    async def _deliver(self, case: Case, posts: list[Post]) -> None:
        for number, post in enumerate(posts):
            if number == 1 and case.way is Way.LATER_PARTS:
                self._refuse(case)
            await self._channel.deliver(post)

    def _refuse(self, case: Case) -> None:
        body: Json = {"ok": False, "error": case.code}
        self._server.workspace.faults.add(MethodFault(case.method, body=body), case.times)

    def _post(self, key: str, body: str, number: int, parts: int, root: str) -> Post:
        conversation = ConversationKey("minoan", self._server.team.id, _ROOM, "")
        return Post(f"{key}-{number}", conversation, body, root, "U0ADA", root, number, number == parts - 1)

    async def _streamed(self, text: str, root: str) -> str | None:
        """Stream a part with a card, as a cycle does; gives the draft's ts, None if none was opened."""
        opened: list[str] = []

        async def note(ts: str) -> None:
            opened.append(ts)

        async def nothing() -> None:
            return None

        asked = Perception.of_message(
            conversation=ConversationKey("minoan", self._server.team.id, _ROOM, ""),
            ts=root,
            author="U0ADA",
            content="tell me",
            place=Place.DM,
            audience=Audience(AudienceKind.DM, _ROOM),
        )
        speech = self._channel.speak(asked, DraftLog(nothing, note, nothing))
        await speech.show(Task("1", "Reading", TaskState.IN_PROGRESS, "details " * 30))
        for start in range(0, len(text), 700):
            await speech.say(text[start : start + 700])
            await self._client_turns()
        await speech.settle()
        return opened[-1] if opened else None

    async def _client_turns(self) -> None:
        """Let the requests of the speech cross with what is said next."""
        for _ in range(_TURNS):
            await self._clock.sleep(0.05)

    def _left_open(self, text: str, root: str) -> str:
        """A draft as a daemon leaves it that was killed."""
        draft = WorkspaceMessage(
            _ROOM, self._server.bot_user.id, text, thread_ts=root, streaming=Streaming.OPEN, in_chunks=False
        )
        return self._server.workspace.post(draft).ts

    def _stands(self, reply: str, root: str) -> bool:
        """Whether the whole reply stands after its question, with every mark in order, and nothing is unfinished."""
        shown: list[str] = []
        for message in self._server.workspace.state.timeline(_ROOM).everything():
            if message.ts <= root:
                continue
            if message.streaming is Streaming.OPEN:
                return False
            blocks = [str(block["text"]) for block in message.blocks if block["type"] == "markdown"]
            shown.append("".join(blocks) or message.text)
        marks = _MARK.findall("".join(shown))
        # a link may be written as its address with a label, which repeats a mark
        return bool(shown) and list(dict.fromkeys(marks)) == _MARK.findall(reply)

    def _forget(self) -> None:
        """Empty the workspace, so that a thousand cases take no more memory than one."""
        workspace = self._server.workspace
        workspace.calls.clear()
        workspace.state.sessions.clear()
        timeline = workspace.state.timeline(_ROOM)
        for message in reversed(timeline.everything()):
            timeline.remove(message.ts)


@asynccontextmanager
async def trial() -> AsyncIterator[Trial]:
    """A fresh workspace and a channel in it, on a clock that never waits."""
    clock = _Rush()
    async with serve_workspace(clock=clock) as server:
        settings = Settings(
            _env_file=None,
            SLACK_BOT_TOKEN=SecretStr(server.bot_token),
            SLACK_APP_TOKEN=SecretStr(server.app_token),
            SLACK_API_URL=server.api_url,
        )
        channel = SlackChannel(settings, clock, lambda *_, **__: None)
        try:
            yield Trial(server, channel, clock)
        finally:
            await channel.close()
