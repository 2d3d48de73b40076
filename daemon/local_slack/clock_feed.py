"""The workspace's time for its app: a separate daemon can follow the clock (no part of Slack)."""

import json
from contextlib import suppress

from aiohttp import web

from daemon.local_slack.workspace import Workspace


class ClockFeed:
    """The endpoint GET /clock, with one of the app's tokens as bearer token:

    Server-Sent Events of `{now}`, in seconds. The first comes at once, and one after each move of the clock.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Stream the time until the reader disconnects or the workspace stops."""
        app = self._workspace.state.app
        if request.headers.get("Authorization", "").removeprefix("Bearer ") not in {app.bot_token, app.app_token}:
            return web.json_response({"ok": False, "error": "invalid_auth"}, status=403)
        feed = self._workspace.feed
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        with suppress(ConnectionError):
            await response.prepare(request)
            after = feed.cursor
            await response.write(self._now())
            async for batch in feed.follow("", after):
                if request.transport is None or request.transport.is_closing():
                    break
                if any(change.kind in {"clock", "reset"} for change in batch):
                    await response.write(self._now())
        return response

    def _now(self) -> bytes:
        return f"data: {json.dumps({'now': self._workspace.clock.now()})}\n\n".encode()
