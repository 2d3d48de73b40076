"""Parts for the tests of the Slack channel: the local workspace, posts, perceptions, drafts, presses of buttons."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from daemon.channels.slack.channel import SlackChannel
from daemon.channels.slack.refusals import SlackIdentity
from daemon.core.config import Settings
from daemon.core.perception import Place
from daemon.local_slack.server import WorkspaceServer
from tests.fakes import TIMEOUT, Events, FakeDrafts, FakeIntake
from tests.given import perception
from tests.near import NearClient

OURS = SlackIdentity(team="T1", user="U0SOUL", bot="B0SOUL")
YES, NO = "soul_approval_yes", "soul_approval_no"
TS = "1750000000.000100"


class Control:
    """Acts and looks in a workspace of the same process."""

    def __init__(self, server: WorkspaceServer) -> None:
        self.server = server
        self._near = NearClient(server)

    async def do(self, order: str, **fields: object) -> dict[str, Any]:
        return await self._near.post(order, **fields)

    async def see(self, view: str, **query: str) -> dict[str, Any]:
        return await self._near.get(view, **query)

    async def say(self, person: str, channel: str, text: str, **more: object) -> str:
        """Post a message of a user; gives its ts."""
        return str((await self.do("say", person=person, channel=channel, text=text, **more))["message"]["ts"])

    async def calls(self, method: str) -> list[dict[str, Any]]:
        return list((await self.see("calls", method=method))["calls"])

    async def sockets(self) -> list[Any]:
        return list((await self.see("sockets"))["sockets"])

    async def until(self, look: Callable[[], Awaitable[list[Any]]], number: int) -> list[Any]:
        """Wait until there are so many; looks again after each change of the workspace."""

        async def enough() -> list[Any] | None:
            found = await look()
            return found if len(found) >= number else None

        return await self._near.wait_for(enough, TIMEOUT) if number else await look()

    async def replies(self, channel: str, thread: str) -> list[dict[str, Any]]:
        found = (await self.see("messages", channel=channel, thread=thread))["messages"]
        return [message for message in found if message["ts"] != thread]

    async def fail(self, method: str, **fault: object) -> None:
        await self.do("fault", method=method, **fault)


def spoken(call: dict[str, Any]) -> str:
    """The words in a call of a streaming method, in either form."""
    chunks = call["args"].get("chunks") or []
    streamed = "".join(chunk["text"] for chunk in chunks if chunk["type"] == "markdown_text")
    return str(call["args"].get("markdown_text") or "") + streamed


def cards(call: dict[str, Any]) -> list[dict[str, Any]]:
    return [chunk for chunk in call["args"].get("chunks") or [] if chunk["type"] == "task_update"]


def settings_for(url: str, **more: Any) -> Settings:  # noqa: ANN401  # any setting
    return Settings(
        _env_file=None,
        SLACK_BOT_TOKEN=more.pop("bot_token", "xoxb-local-1"),
        SLACK_APP_TOKEN=more.pop("app_token", "xapp-1-A1-2-3"),
        SLACK_API_URL=url,
        **more,
    )


@asynccontextmanager
async def listening(channel: SlackChannel, intake: FakeIntake) -> AsyncIterator[None]:
    """The channel listening, from the first hello on."""
    ready = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(channel.listen(intake, ready))
        async with asyncio.timeout(TIMEOUT):
            await ready.wait()
        yield
        task.cancel()


def press(action_id: str = YES, value: str = "approve:a-1", **more: object) -> dict[str, object]:
    return {
        "type": "block_actions",
        "user": {"id": "U1", "team_id": "T1"},
        "channel": {"id": "C1"},
        "container": {"message_ts": TS},
        "actions": [{"action_id": action_id, "value": value, "action_ts": "9.1"}],
        **more,
    }


@asynccontextmanager
async def caught_up(channel: SlackChannel, intake: FakeIntake, events: Events) -> AsyncIterator[None]:
    """The channel listening, when it has read what was said before."""
    async with listening(channel, intake):
        await events.until("slack.caught_up")
        yield


async def draft(channel: SlackChannel, thread: str, text: str, room: str = "D0ADA") -> str:
    """Stream a text and leave the draft open; gives its ts."""
    log = FakeDrafts()
    speech = channel.speak(perception(channel=room, ts=thread, place=Place.DM), log.log)
    await speech.say(text)
    await speech.say("")
    await log.settled.wait()
    await speech.settle()
    return log.steps[1]


async def drafted(channel: SlackChannel, control: Control, text: str) -> tuple[str, str]:
    """A message of Ada's and a draft that answers it; gives both ts."""
    root = await control.say("Ada", "dm", "hi")
    return root, await draft(channel, root, text)
