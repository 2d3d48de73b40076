"""For tests of threads that go from the soul Ada to the soul Ben, on one memory.db."""

from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.core.ports.arrivals import NewMessage
from daemon.memory.database import Database
from daemon.memory.queues.handoffs import Handoff
from daemon.memory.queues.presence import Presence
from tests.fakes import FakeClock
from tests.given import LEASE, SOUL, TEAM, effect, new_message, thread
from tests.store.parts import Stores

ROOM = thread("100.000001")
BENS = replace(ROOM, soul="ben")
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
TO_BEN, TO_ADA = Handoff("ben", "U1", "100.000001"), Handoff(SOUL, "U1", "100.000001")


async def host(database: Database, clock: FakeClock, *souls: str) -> None:
    """Have a living daemon host these souls: this process."""
    presence = Presence(database, clock, soul=SOUL, workspace=TEAM, kind="slack", version="1", lease=LEASE)
    await presence.beat("connected", {"souls": {name: [] for name in souls}})


def said(
    ts: str = "100.000001", words: str = "the kiln is cold", *, event: str = "", addressed: bool = True
) -> NewMessage:
    """A message in the thread, as it arrives for the soul that names the channel."""
    message = new_message(ts, words, event=event, conversation=ROOM, audience=EVERYBODY, addressed=addressed)
    return replace(message, receiver="UBOT", perception=replace(message.perception, place=Place.PUBLIC_CHANNEL))


async def hand(stores: Stores, to: Handoff = TO_BEN, reply: str = "I see.") -> None:
    """Answer what waits, and hand the thread over with the answer."""
    claim = await stores.claim()
    await stores.commits.commit(replace(effect(claim, reply), handoff=to))


async def where(database: Database, ts: str) -> list[str]:
    rows = await database.rows("SELECT conversation FROM inbox WHERE ts = :ts ORDER BY conversation", ts=ts)
    return [row["conversation"] for row in rows]


async def summary(database: Database, key: ConversationKey = BENS) -> str:
    row = await database.one("SELECT summary FROM working_memory WHERE conversation = :id", id=str(key))
    return row["summary"] if row else ""
