"""An installed service: a unit with its data and its credentials, below folders of a test."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from daemon.cli.installing import ServiceUnit
from daemon.local_slack.server import WorkspaceServer, serve_workspace
from daemon.memory.database import schema
from tests.systemd.conftest import REPOSITORY
from tests.workspace_client import WorkspaceClient

BOT, APP = "xoxb-1-canary-bot", "xapp-1-canary-app"


def install(unit: Path, data: Path, credentials: Path, *more: str) -> ServiceUnit:
    """Write a unit as scripts/install does, and a memory.db."""
    name = "soul.service" if "config" in str(unit) else "soul-system.service"
    text = (REPOSITORY / "systemd" / name).read_text()
    for word, value in {"@CODE@": REPOSITORY, "@DATA@": data, "@PYTHON@": "/usr", "@CREDENTIALS@": credentials}.items():
        text = text.replace(word, str(value))
    unit.parent.mkdir(parents=True, exist_ok=True)
    unit.write_text("\n".join((text, *more)))
    for folder in (data, credentials):
        folder.mkdir(mode=0o700, parents=True)
    schema.migrate(data / "memory.db")
    (credentials / "slack-bot-token").write_text(f"{BOT}\n")
    (credentials / "slack-app-token").write_text(f"{APP}\n")
    return ServiceUnit(unit)


@contextmanager
def workspace(**given: object) -> Iterator[WorkspaceServer]:
    """A workspace in a thread of its own, since the doctor runs its own event loop."""
    server, up, loop = serve_workspace(**given), threading.Event(), asyncio.new_event_loop()  # type: ignore[arg-type]  # options pass through
    end = asyncio.Event()

    async def serve() -> None:
        async with server:
            up.set()
            await end.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert up.wait(30)
        yield server
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(30)
        loop.close()


def move(server: WorkspaceServer, seconds: float) -> None:
    """Move the time of a workspace forward, from outside as people do."""

    async def forward() -> None:
        async with WorkspaceClient(server.page_url) as people:
            await people.advance(seconds)

    asyncio.run(forward())
