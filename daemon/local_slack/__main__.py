"""The process that serves a workspace: `python -m daemon.local_slack --port 8765`, stopped by SIGTERM or Ctrl-C."""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Sequence

from daemon.core.errors import ConfigError
from daemon.local_slack.faults import Profile
from daemon.local_slack.server import serve_workspace


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until a signal. Prints `{url, page_url, api_url, bot_token, app_token, bot_user, team}` as a JSON line."""
    options = _parser().parse_args(arguments)
    try:
        asyncio.run(_serve(options))
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m daemon.local_slack", description="A local Slack workspace on loopback."
    )
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 picks a free one")
    parser.add_argument("--bot-token", default="", help="bot token to accept; generated when missing")
    parser.add_argument("--app-token", default="", help="app-level token to accept; generated when missing")
    parser.add_argument("--bot-name", default="Soul", help="name of the app")
    parser.add_argument("--limits", choices=[str(profile) for profile in Profile], default="off", help="rate limits")
    return parser


async def _serve(options: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with serve_workspace(**vars(options)) as workspace:
        address = {
            "url": workspace.url,
            "page_url": workspace.page_url,
            "api_url": workspace.api_url,
            "bot_token": workspace.bot_token,
            "app_token": workspace.app_token,
            "bot_user": workspace.bot_user.id,
            "team": workspace.team.id,
        }
        sys.stdout.write(json.dumps(address) + "\n")
        sys.stdout.flush()
        await stop.wait()


if __name__ == "__main__":
    sys.exit(main())
