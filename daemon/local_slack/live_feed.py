"""The feed as Server-Sent Events: pages update live and tests need no polling."""

import json
from contextlib import suppress

from aiohttp import web

from daemon.local_slack.people_acting import PeopleActing
from daemon.local_slack.request_args import ControlArgs
from daemon.local_slack.workspace import Workspace


class LiveFeed:
    """The endpoint GET /_control/events."""

    def __init__(self, workspace: Workspace, people: PeopleActing) -> None:
        self._workspace = workspace
        self._people = people
        self._readers: dict[str, int] = {}

    async def handle(self, request: web.Request, args: ControlArgs) -> web.StreamResponse:
        """Stream changes until the reader disconnects or the workspace stops."""
        person = self._people.person(args.text("person")).id if args.text("person") else ""
        seen = request.headers.get("Last-Event-ID", "") or args.text("after")
        feed = self._workspace.feed
        after = min(int(seen), feed.cursor) if seen.isdigit() else feed.cursor
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        await response.prepare(request)
        self._count(person, 1)
        with suppress(ConnectionError):
            try:
                await response.write(f"event: ready\ndata: {json.dumps({'cursor': after})}\n\n".encode())
                async for batch in feed.follow(person, after):
                    if request.transport is None or request.transport.is_closing():
                        break
                    frames = (
                        f"id: {c.number}\nevent: {c.kind}\ndata: {json.dumps(c.as_seen_by(person))}\n\n" for c in batch
                    )
                    await response.write("".join(frames).encode())
            finally:
                self._count(person, -1)
        return response

    def _count(self, person: str, step: int) -> None:
        self._readers[person] = self._readers.get(person, 0) + step
        if person:
            self._workspace.set_presence(person, present=self._readers[person] > 0)
