"""One daemon in Slack and on HTTP at once: each conversation stays in its channel."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from daemon.app.assembly import assemble, souls_of
from daemon.app.http_api import events_of, memory_of, pairing_of, readings_of, sessions_of
from daemon.channels.http.channel import HttpChannel
from daemon.channels.http.daemon_side import DaemonSide
from daemon.channels.several import SeveralChannels
from daemon.channels.slack.channel import SlackChannel
from daemon.core.concurrency import alongside
from daemon.core.perception import Audience, AudienceKind
from daemon.core.systemd import ServiceManager, Watchdog
from daemon.core.telemetry.metrics import Metrics
from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from daemon.memory.admin.replies import Backlog, StoredReplies
from daemon.shared.door import ContextDoor
from tests.fakes import TIMEOUT, Events, TurnableClock
from tests.given import CLOSING, OPENING
from tests.http.daemons import TOKEN, Stream, bearer
from tests.journeys.house import said, settings_for
from tests.models import FakeModel, Flow

SUBPROCESSES = ("summarizes_the_conversation",)


@asynccontextmanager
async def _daemon(workspace: WorkspaceServer, home: Path, model: FakeModel) -> AsyncIterator[HttpChannel]:
    """A daemon assembled as the composition root does it; gives its HTTP channel."""
    settings = settings_for(workspace, home, http_port=0, http_token=TOKEN)
    clock, events, metrics, stop, ready = TurnableClock(), Events(), Metrics(), asyncio.Event(), asyncio.Event()
    async with AsyncExitStack() as stack:
        slack = SlackChannel(settings, clock, events)
        stack.push_async_callback(slack.close)
        team = (await slack.identify()).team
        http = HttpChannel(
            settings,
            clock,
            events,
            soul=settings.name,
            workspace=team,
            personality={"": "# Minoan"}.get,
            metrics=metrics,
        )
        stack.push_async_callback(http.close)
        channel = SeveralChannels(slack, http)
        souls = souls_of(settings, events)
        built = await stack.enter_async_context(
            assemble(settings, channel, clock, events, workspace=team, souls=souls, llm_of=lambda _: model)
        )
        replies = StoredReplies(built.store.database)
        backlog = Backlog(built.store.database, clock, soul=settings.name, workspace=team)

        async def unready() -> tuple[str, ...]:
            await backlog.waiting()
            return () if channel.healthy() else ("not connected to Slack",)

        http.connect(
            DaemonSide(
                find_reply=replies.find,
                last_name=replies.last_name,
                enqueue=lambda conversation: backlog.enqueue(conversation, SUBPROCESSES),
                unready=unready,
                queues=backlog.waiting,
                sessions=(sessions := sessions_of(built, souls, team, slack.standing_of, slack.find_room)),
                contexts=ContextDoor(built.contexts, Audience(AudienceKind.WORKSPACE, team)),
                has_neighbours=built.hosting.has_neighbours,
                memory=memory_of(built, souls, team, sessions),
                pairing=pairing_of(built, souls, slack.standing_of),
                events=events_of(built),
                readings=readings_of(built),
            )
        )
        service = ServiceManager()
        async with alongside(built.live(stop, service, Watchdog(service, None), lambda _: ready.set())):
            async with asyncio.timeout(TIMEOUT):
                await ready.wait()
            yield http
            stop.set()
            await events.until("daemon.drained")


@pytest.fixture
async def workspace() -> AsyncIterator[WorkspaceServer]:
    async with serve_workspace(clock=TurnableClock()) as running:
        yield running


async def _ask(client: aiohttp.ClientSession, url: str, message: str, message_id: str) -> str:
    body = {"message": message, "session": "s", "message_id": message_id}
    async with client.post(f"{url}/api/soul/chat", json=body, headers=bearer()) as response:
        return str((await Stream(response).until("done")).data["text"])


async def test_both_users_are_answered_in_their_channel_and_neither_learns_of_the_other(
    workspace: WorkspaceServer, tmp_path: Path
) -> None:
    model = FakeModel()
    async with (
        WorkspaceClient(workspace.page_url) as people,
        aiohttp.ClientSession() as client,
        _daemon(workspace, tmp_path, model) as http,
    ):
        assert await _ask(client, http.url, "over http", "a") == "Echo: over http"
        dm = await people.open_dm("ada")
        await people.say("ada", dm, "in slack")

        async def answered() -> bool | None:
            return any("Echo: in slack" in said(post) for post in await people.posts_by_bot(dm)) or None

        await people.wait_for(answered, TIMEOUT)
        assert "over http" not in str(model.prompts[-1])
        assert await _ask(client, http.url, "over http again", "b") == "Echo: over http again"
        assert "in slack" not in str(model.prompts[-1])
        posts = await people.posts_by_bot(dm)
        assert "over http" not in str(posts)
        model.flows.append(flow := Flow())
        words = "<!channel> @here " + "word " * 6_000
        flow.end(OPENING, words, CLOSING)
        assert await _ask(client, http.url, "tell me all", "c") == words.strip(), "whole, as the soul said it"


async def test_readiness_background_jobs_and_metrics_come_from_the_running_daemon(
    workspace: WorkspaceServer, tmp_path: Path
) -> None:
    async with (
        aiohttp.ClientSession(headers=bearer()) as client,
        _daemon(workspace, tmp_path, FakeModel()) as http,
    ):
        async with client.get(f"{http.url}/readyz") as response:
            assert await response.json() == {"status": "ready"}
        await _ask(client, http.url, "hello", "a")
        async with client.post(f"{http.url}/api/soul/subprocess", json={"session": "s"}) as response:
            assert (response.status, await response.json()) == (202, {"queued": list(SUBPROCESSES)})
        async with client.get(f"{http.url}/metrics") as response:
            text = await response.text()
            assert 'soul_queue{queue="inbox"} 0.0' in text
            assert "soul_alarms 0.0" in text
