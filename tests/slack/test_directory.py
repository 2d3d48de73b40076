"""What is known of users stays right while an event or a gap in the events makes it be forgotten."""

from collections.abc import Mapping
from typing import Any, cast

import pytest

from daemon.channels.slack.access.people import Directory
from daemon.channels.slack.api.client import SlackClient
from daemon.core.errors import NotDelivered
from tests.fakes import FakeClock

TEAM = "T0LOCAL"


class Forgetful:
    """Slack, where so many times what is known of one of two users is forgotten while the other is asked about."""

    def __init__(self, times: int) -> None:
        self.directory = Directory(cast(SlackClient, self), FakeClock())
        self._left = times

    async def call(self, method: str, **arguments: object) -> Mapping[str, Any]:
        assert method == "users.info"
        if self._left:
            self._left -= 1
            self.directory.forget_user("U0ADA" if arguments["user"] == "U0BEN" else "U0BEN")
        return {"ok": True, "user": {"id": arguments["user"], "team_id": TEAM, "name": "somebody"}}


async def test_who_is_forgotten_while_others_are_asked_about_is_asked_about_again() -> None:
    users = await Forgetful(3).directory.users(["U0ADA", "U0BEN"])
    assert [(user.id, user.is_outsider(TEAM)) for user in users if user] == [("U0ADA", False), ("U0BEN", False)]


async def test_who_is_forgotten_again_and_again_is_not_known_and_not_taken_for_an_outsider() -> None:
    with pytest.raises(NotDelivered, match="forgotten while"):
        await Forgetful(100).directory.users(["U0ADA", "U0BEN"])
