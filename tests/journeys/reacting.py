"""The app's own reactions, as the journeys see them."""

from typing import Final

from daemon.channels.slack.installation import manifest
from tests.journeys.house import House

SCOPES: Final[tuple[str, ...]] = tuple(manifest()["oauth_config"]["scopes"]["bot"])  # type: ignore[index] # a manifest's shape
"""Those of an app that may set no reaction."""


async def marks(house: House, channel: str, ts: str) -> list[str]:
    """The app's own reactions at a message."""
    found = [one for one in await house.people.messages(channel, thread="*") if one["ts"] == ts]
    (message,) = found
    return [one["name"] for one in message.get("reactions", []) if "U0SOUL" in one["users"]]


async def marked(house: House, channel: str, ts: str, *names: str) -> None:
    async def so() -> bool:
        return await marks(house, channel, ts) == list(names)

    await house.people.wait_for(so)
