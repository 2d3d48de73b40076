"""`soul mcp`: the tools of `POST /mcp` over stdio, for clients that start a program. Each call asks the daemon."""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from daemon.core.config import environment
from daemon.core.http import UNCOMPRESSED, bound_responses, is_clear_text_abroad

if TYPE_CHECKING:
    import httpx2

    from daemon.channels.http.mcp import ToolAnswer

_DEFAULT_URL: Final = "http://127.0.0.1:8766"
_FILE: Final = Path("~/.config/soul/session.json")
_CONNECTING_S: Final = 10.0
_ANSWERING_S: Final = 1_000.0  # a little longer than the daemon waits for a reply of the soul
_OTHERS: Final = 0o077
_NO_KEY: Final = (
    "There is no key. What to do: have the admin make one with `soul sessions keys add`, and write it with the address "
    f"into {_FILE} (chmod 600), or set SOUL_KEY and SOUL_URL."
)


@click.command("mcp")
def mcp_command() -> None:
    """Serve the soul's tools to an MCP client over standard input and output.

    It asks the daemon at SOUL_URL with SOUL_KEY, else as the plugin's options say, else as
    ~/.config/soul/session.json does. It starts without a daemon, too: then each call says so.
    """
    asyncio.run(_serve(place_in(environment(), _FILE.expanduser())))


@dataclass(frozen=True, slots=True)
class DaemonPlace:
    """The address of the daemon, and the key for it. `fault` says why it can't be asked."""

    url: str
    key: str = field(repr=False)
    fault: str = ""


def place_in(env: Mapping[str, str], path: Path) -> DaemonPlace:
    """Return address and key from one place: an address set by a repository gets no key of the user's file.

    A file that other users can read is ignored. Over plain http a key goes to this machine alone.
    """
    url, key = env.get("SOUL_URL", ""), env.get("SOUL_KEY", "")
    if not url and not key:
        url, key = env.get("CLAUDE_PLUGIN_OPTION_URL", ""), env.get("CLAUDE_PLUGIN_OPTION_KEY", "")
    if not url and not key:
        url, key = _kept(path)
    url, key = url.strip().rstrip("/") or _DEFAULT_URL, key.strip()
    if not key.isascii() or not key.isprintable():
        return DaemonPlace(
            url, "", "The key holds odd characters. What to do: copy it anew from `soul sessions keys add`."
        )
    if not url.startswith(("http://", "https://")):
        return DaemonPlace(url, "", "SOUL_URL is no address. What to do: set it as http://127.0.0.1:8766 or https://…")
    if is_clear_text_abroad(url):
        fault = "Over plain http the key goes to this machine alone. What to do: set https://…, or use an ssh tunnel."
        return DaemonPlace(url, "", fault)
    return DaemonPlace(url, key, "" if key else _NO_KEY)


def _kept(path: Path) -> tuple[str, str]:
    """Return address and key of the user's own file. Empty if there is none, or if other users can read it."""
    with suppress(OSError, ValueError, RecursionError), path.open(encoding="utf-8") as file:
        if path.stat().st_mode & _OTHERS:
            return "", ""
        kept = json.load(file)
        if isinstance(kept, dict):
            return str(kept.get("url") or ""), str(kept.get("key") or "")
    return "", ""


async def _serve(place: DaemonPlace) -> None:
    from mcp.server.stdio import stdio_server

    from daemon.channels.http.mcp_server import new_server

    server = new_server(Relay(place).use)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


class Relay:
    """The relay that passes each call on to the daemon, or returns a sentence on why it can't."""

    def __init__(self, place: DaemonPlace) -> None:
        self._place = place

    async def use(self, name: str, arguments: Mapping[str, object]) -> "ToolAnswer":
        """Return the daemon's answer to a call."""
        from daemon.channels.http.mcp import ToolAnswer

        if self._place.fault:
            return ToolAnswer(self._place.fault, refused=True)
        refusals = list[str]()
        try:
            return await self._ask(name, arguments, refusals)
        except Exception as error:  # noqa: BLE001 - the client gets a sentence on any failure
            return ToolAnswer(refusals[-1] if refusals else _sentence(self._place.url, error), refused=True)

    async def _ask(self, name: str, arguments: Mapping[str, object], refusals: list[str]) -> "ToolAnswer":
        import httpx2
        from mcp import Client, types
        from mcp.client.streamable_http import streamable_http_client

        from daemon.channels.http.mcp import ToolAnswer

        async def note(response: "httpx2.Response") -> None:
            if response.status_code >= httpx2.codes.BAD_REQUEST:
                refusals.append(_refusal(response.status_code, await response.aread()))

        abroad = self._place.url.startswith("https://")
        async with (
            httpx2.AsyncClient(
                headers={"Authorization": f"Bearer {self._place.key}", **UNCOMPRESSED},
                timeout=httpx2.Timeout(_CONNECTING_S, read=_ANSWERING_S),
                event_hooks={"response": [bound_responses(each_event=True), note]},
                trust_env=abroad,  # no proxy lies between two programs of one machine
            ) as http,
            Client(streamable_http_client(f"{self._place.url}/mcp", http_client=http), cache=None) as client,
        ):
            result = await client.call_tool(name, dict(arguments))
            text = "".join(one.text for one in result.content if isinstance(one, types.TextContent))
            return ToolAnswer(text, refused=bool(result.is_error))


def _refusal(status: int, body: bytes) -> str:
    with suppress(ValueError, RecursionError, TypeError, KeyError):
        error = json.loads(body)["error"]
        what_to_do = f" What to do: {error['hint']}." if error["hint"] else ""
        return f"{error['message']}{what_to_do}"
    return f"The daemon answered with status {status}. What to do: see its log."


def _sentence(url: str, error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    reason = str(error)[:200] or type(error).__name__
    return (
        f"The daemon can't be reached at {url}: {reason}. "
        "What to do: start it with `soul run`, or set SOUL_URL to where it is; then try again."
    )


def mcp_reference() -> str:
    """Return `hooks/tools.json`: descriptions of the tools for sessions while no daemon answers."""
    import daemon
    from daemon.channels.http.mcp import TOOLS
    from daemon.channels.http.mcp_server import INSTRUCTIONS

    tools = [
        {
            "name": one.name,
            "description": one.description,
            "inputSchema": one.schema,
            "annotations": {"readOnlyHint": one.reads_only, "destructiveHint": False},
        }
        for one in TOOLS
    ]
    server = {"serverInfo": {"name": "soul", "version": daemon.__version__}, "instructions": INSTRUCTIONS}
    return json.dumps({"server": server, "tools": tools}, ensure_ascii=False, indent=1) + "\n"
