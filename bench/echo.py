"""The smallest Slack bot: the stock Bolt stack, one chat.postMessage for every DM and mention, no memory.

Run as a process of its own: `python -m bench.echo API_URL BOT_TOKEN APP_TOKEN`.
"""

import asyncio
import sys
from typing import Any

from slack_bolt.adapter.socket_mode.async_handler import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient


async def echo(event: dict[str, Any], client: AsyncWebClient) -> None:
    """Answer a message with its own text, in its thread."""
    if event.get("subtype") is None and (event["type"] == "app_mention" or event.get("channel_type") == "im"):
        await client.chat_postMessage(channel=event["channel"], thread_ts=event["ts"], text=event["text"])


async def main(api_url: str, bot_token: str, app_token: str) -> None:
    """Serve until ended by a signal."""
    client = AsyncWebClient(token=bot_token, base_url=api_url, trust_env_in_session=False)
    app = AsyncApp(client=client)
    app.event("message")(echo)
    app.event("app_mention")(echo)
    await AsyncSocketModeHandler(app, app_token).start_async()  # type: ignore[no-untyped-call]  # Bolt's


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
