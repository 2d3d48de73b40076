"""A workspace without HTTP: it answers what the readers of a room are asked about, and tells of changes."""

from typing import Any

from tests.fakes import Events, FakeClock
from tests.leaks.ground import Change, Ground, Kind, Room, Turned

TEAM, SOUL_USER = "T0LOCAL", "U0SOUL"


class SlackOf:
    """Answers as Slack would, by what is true now; stands in for `SlackClient`."""

    def __init__(self, ground: Ground, clock: FakeClock) -> None:
        self._ground, self.clock, self.emit = ground, clock, Events()

    async def call(self, method: str, **arguments: object) -> dict[str, Any]:
        """The answer to a read; lists fit on one page."""
        match method:
            case "conversations.info":
                return {"channel": self._room(self._named(arguments["channel"]))}
            case "conversations.members":
                return {"members": [*map(user_id, sorted(self._named(arguments["channel"]).inside)), SOUL_USER]}
            case "users.info":
                return {"user": self.user(str(arguments["user"])[2:].capitalize())}
            case "users.conversations":
                mine = [
                    one for one in self._ground.rooms.values() if str(arguments["user"]) in map(user_id, one.inside)
                ]
                heard = [one for one in mine if one.kind is Kind.PRIVATE and not one.deaf]
                return {"channels": [self._room(one) for one in heard if not one.archived]}
        raise AssertionError(f"nobody asks for {method}")

    def user(self, name: str) -> dict[str, Any]:
        return {"id": user_id(name), "name": name, "team_id": TEAM, "is_restricted": name in self._ground.guests}

    def event(self, turned: Turned) -> dict[str, Any]:
        """What the app hears of a change that has happened."""
        if turned.change is Change.STANDING:
            return {"type": "user_change", "user": self.user(turned.person)}
        room = self._ground.rooms[turned.room]
        kind = "group" if room.kind is Kind.PRIVATE else "channel"
        shared = "shared" if room.name in self._ground.shared else "unshared"
        named: dict[Change, dict[str, Any]] = {
            Change.JOIN: {"type": "member_joined_channel", "user": user_id(turned.person)},
            Change.LEAVE: {"type": "member_left_channel", "user": user_id(turned.person)},
            Change.CONVERT: {
                "type": "message",
                "subtype": f"channel_convert_to_{'private' if kind == 'group' else 'public'}",
            },
            Change.ARCHIVE: {"type": f"{kind}_{'archive' if room.archived else 'unarchive'}"},
            Change.RENAME: {"type": f"{kind}_rename"},
            Change.SHARE: {"type": f"channel_{shared}"},
            Change.SOUL: {"type": f"{kind}_left"}
            if room.deaf
            else {"type": "member_joined_channel", "user": SOUL_USER},
        }
        where: object = room_id(room.name)
        if turned.change is Change.RENAME:
            where = {"id": where, "name": "another"}
        return {**named[turned.change], "channel": where}

    def _named(self, channel: object) -> Room:
        return next(one for one in self._ground.rooms.values() if room_id(one.name) == channel)

    def _room(self, room: Room) -> dict[str, Any]:
        return {
            "id": room_id(room.name),
            "is_channel": room.kind in (Kind.PUBLIC, Kind.PRIVATE),
            "is_private": room.kind is not Kind.PUBLIC,
            "is_mpim": room.kind is Kind.GROUP_DM,
            "is_ext_shared": room.name in self._ground.shared,
            "is_archived": room.archived,
            "num_members": len(room.inside) + 1,
        }


def user_id(name: str) -> str:
    return f"U0{name.upper()}"


def room_id(name: str) -> str:
    return f"D0{name[6:].upper()}" if name.startswith("dm of ") else f"C0{name.upper()}"
