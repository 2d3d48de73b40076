"""A speech service on loopback that a test can make misbehave."""

import asyncio

from aiohttp import web


class Endpoint:
    """An OpenAI-compatible speech endpoint; `mood` says how it behaves."""

    def __init__(self) -> None:
        self.mood, self.url = "well", ""
        self.heard: list[dict[str, str]] = []
        self.keys: list[str] = []
        self.more = asyncio.Event()

    async def speech(self, request: web.Request) -> web.StreamResponse:
        self.heard.append(await request.json())
        self.keys.append(request.headers.get("Authorization", ""))
        match self.mood:
            case "refuses":
                return web.json_response({"error": "no secrets for you"}, status=401)
            case "says html":
                return web.Response(text="<html>", content_type="text/html")
            case "is empty":
                return web.Response(body=b"", content_type="audio/mpeg")
            case "redirects":
                return web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"})
        response = web.StreamResponse(headers={"Content-Type": "audio/mpeg"})
        await response.prepare(request)
        await response.write(b"first")
        await self.more.wait()
        if self.mood == "breaks":
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.write(b" second")
        await response.write_eof()
        return response
