"""Machines on which sessions of Claude Code run: keys, and what the hooks of a session send."""

from itertools import count
from typing import Any

from daemon.core.sessions import Visibility
from daemon.memory.shared.keys import KeyAdmin
from tests.http.daemons import Got, HttpHome, bearer

ELSEWHERE = "far/boot/1/4711/99"
_IDS = count(1)


class Machine:
    """A client that sends what the hooks of one session would send."""

    def __init__(self, home: HttpHome, key: str, session: str, **where: object) -> None:
        self.home, self.key, self.session = home, key, session
        self.where: dict[str, object] = {
            "process": ELSEWHERE,
            "host": "far",
            "root": "/home/ada/secret-place/api",
            "branch": "main",
        } | where
        self.ahead_ms = 0

    async def send(self, hook: str, *, lag: int = 0, at: int | None = None, id_: str = "", **fields: Any) -> Got:  # noqa: ANN401  # JSON
        """Send one event; `lag` ms after it happened, or as if it had happened `at` ms by the client's clock."""
        now = self.home.clock.now_ms() + self.ahead_ms
        given = {"session_id": self.session, "hook_event_name": hook, "cwd": "/home/ada/secret-place/api"}
        body = {
            "id": id_ or f"e{next(_IDS)}",
            "sent_ms": now - lag if at is None else at,
            "now_ms": now,
            "hook": given | fields,
            **self.where,
        }
        return await self.home.ask("POST", "/api/sessions/events", headers=bearer(self.key), json=body)

    async def start(self, source: str = "startup", **fields: Any) -> str:  # noqa: ANN401  # JSON
        """Begin; gives what the session reads."""
        got = await self.send("SessionStart", source=source, **fields)
        assert got.status == 200, got.body
        assert got.json["note"] is None
        return str(got.json["context"])

    async def row(self) -> dict[str, Any]:
        """The session as its owner sees it."""
        got = await self.home.ask("GET", "/api/sessions", headers=bearer(self.key))
        (row,) = [one for one in got.json if one["id"] == self.session]
        return dict(row)

    async def state(self) -> tuple[str, str | None]:
        """Its state, and why."""
        row = await self.row()
        return row["state"], row["reason"]


async def key_of(
    home: HttpHome,
    person: str = "UADA",
    visibility: Visibility = Visibility.PROJECT,
    *,
    remember: bool = False,
    direct: bool = False,
) -> str:
    """A new key."""
    admin = KeyAdmin(home.database, home.clock, "root")
    return (await admin.add(person, visibility, remember=remember, direct=direct))[1]


async def revoke(home: HttpHome, key: str) -> None:
    """End a key."""
    await KeyAdmin(home.database, home.clock, "root").revoke(key.split("-")[2])
