"""Asks each person once, in direct messages, whether to answer what they wrote while the daemon was away."""

from collections.abc import Callable, Sequence
from typing import Final

from daemon.core.errors import NotDelivered, StoreError
from daemon.core.last_line import in_short
from daemon.core.perception import Place
from daemon.core.ports.channel import Channel
from daemon.core.ports.clock import Clock
from daemon.core.ports.telemetry import Emit
from daemon.core.sentences import Words
from daemon.memory.queues.late_offers import LateOffers, MissedMessage
from daemon.runtime.askable import sees_room
from daemon.soul import Soul

_EVERY_S: Final = 2.0
_ROOMS_NAMED: Final = 5


class LateAsking:
    """Asks for one soul; `on_due` is called when a post waits to be sent."""

    def __init__(
        self, offers: LateOffers, channel: Channel, soul: Callable[[], Soul], emit: Emit, on_due: Callable[[], None]
    ) -> None:
        self._offers = offers
        self._channel = channel
        self._soul = soul
        self._emit = emit
        self._on_due = on_due

    async def run(self, clock: Clock) -> None:
        """Look every few seconds until cancelled. Raises StoreError."""
        while True:
            done = await self._offers.lapse(lambda language: self._soul().words_in(language).say("away_lapsed"))
            for person in await self._offers.people():
                done += await self._ask(person)
            if done:
                self._on_due()
            await clock.sleep(_EVERY_S)

    async def _ask(self, person: str) -> bool:
        try:
            return await self._ask_in_dm(person)
        except StoreError:
            raise
        except NotDelivered:
            return False  # the platform can't say now
        except Exception as error:  # noqa: BLE001 - one person's room must not keep the others from being asked
            await self._offers.drop(person)
            self._emit("away.not_asked", reason=in_short(error))
            return False

    async def _ask_in_dm(self, person: str) -> bool:
        """Ask about what a person wrote in rooms that they may still see; the rest of it is let go."""
        room, missed = await self._channel.find_room(person), await self._offers.of(person)
        rooms = {one.channel: one.place for one in missed}
        seen = [name for name, place in rooms.items() if await sees_room(self._channel, person, room, name, place)]
        about = [one for one in missed if one.channel in seen]
        await self._offers.drop(person, [one.id for one in about])
        if not any(not one.asked for one in about):
            return False
        words = self._soul().words_in(about[-1].language)
        listed = ", ".join(await self._named(about, words))
        body = words.say("away_ask", rooms=listed, count=len(about))
        return await self._offers.ask(person, room, body, (words.say("away_yes"), words.say("away_no")), about)

    async def _named(self, about: Sequence[MissedMessage], words: Words) -> list[str]:
        """Where the messages stand; only what everybody may know has its name."""
        rooms = {one.channel: one.place for one in about}
        names = await self._channel.names_of(list(rooms))
        named = dict.fromkeys(_named(place, names.get(channel, ""), words) for channel, place in rooms.items())
        listed = list(named)
        more = [words.say("away_in_more")] if len(listed) > _ROOMS_NAMED else []
        return listed[:_ROOMS_NAMED] + more


def _named(place: Place, name: str, words: Words) -> str:
    if place is Place.DM:
        return words.say("away_in_dm")
    return words.say("away_in_room", name=f"#{name}") if name else words.say("away_in_private")
