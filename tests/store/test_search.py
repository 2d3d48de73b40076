"""The soul finds earlier messages, and never those that the readers of the reply may not know."""

import json
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers
from daemon.core.ports.library import Passage
from daemon.memory.database import Database
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.word_index import EACH
from daemon.memory.retrieval.surfacing import Surfacing
from tests.fakes import FakeClock
from tests.indexing import index_turns
from tests.store.parts import look, poke

SOUL, TEAM = "ada", "T1"
DM, OTHER_DM = ConversationKey(SOUL, TEAM, "D1"), ConversationKey(SOUL, TEAM, "D2")
PUBLIC = ConversationKey(SOUL, TEAM, "C1", "1.0")
MINE, THEIRS = Audience(AudienceKind.DM, "D1"), Audience(AudienceKind.DM, "D2")
HEARERS = Readers(MINE, members_only=True)
CLOSED, GUILD_2 = ConversationKey(SOUL, TEAM, "G1", "3.0"), Audience(AudienceKind.CHANNEL, "G2")
EVERYBODY = Audience(AudienceKind.WORKSPACE, TEAM)
NOON = 1_795_262_400_000  # 2026-11-21 12:00 UTC
Said = tuple[str, ConversationKey, Audience, Audience]
"""What is said, where, to whom, and who may read there."""


@pytest.fixture
def messages(database: Database, clock: FakeClock) -> Surfacing:
    return Surfacing(database, clock)


def remember(
    path: Path,
    *bodies: str,
    where: ConversationKey = DM,
    audience: Audience = MINE,
    room: Audience | None = None,
    name: str = "Ben",
    author: str = "U1",
) -> None:
    remember_all(path, [(body, where, audience, room or audience) for body in bodies], name, author)


def remember_all(path: Path, said: Iterable[Said], name: str = "Ben", author: str = "U1") -> None:
    """Store what was said in several conversations; the index follows."""
    thought = json.dumps({"monologue": "hippogriff, said nobody"})
    with closing(sqlite3.connect(path)) as connection, connection:
        for body, where, audience, room in said:
            connection.execute(
                "INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)"
                " VALUES (?, ?, ?, ?, ?, 'dm', ?, 0) ON CONFLICT DO NOTHING",
                (str(where), where.soul, where.workspace, where.channel, where.thread, str(room)),
            )
            connection.execute(
                "INSERT INTO turns (conversation, speaker, author, name, ts, body, thought, audience, trace_id,"
                " said_ms) VALUES (?, 'person', ?, ?, '1', ?, ?, ?, 't', ?)",
                (str(where), author, name, body, thought, str(audience), NOON),
            )
        index_turns(connection)


def index(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        index_turns(connection)


async def test_a_found_message_has_its_day_and_name(path: Path, messages: Surfacing) -> None:
    remember(path, "The deploy key lives in the vault.", where=PUBLIC, audience=EVERYBODY, name="Ada L")
    assert await messages.search(DM, HEARERS, "where is the deploy key?", 5) == (
        Passage("conversation 2026-11-21, Ada L", "The deploy key lives in the vault."),
    )


async def test_a_flood_of_one_user_leaves_the_words_of_others_to_be_found(path: Path, messages: Surfacing) -> None:
    remember(path, "the kraken sleeps in the vault", author="U2", name="Ada")
    poke(
        path,
        """
        INSERT INTO turns (conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        SELECT conversation, 'person', 'U3', 'Ben', '1', 'spam in the vault ' || i, audience, 't', 1 FROM n JOIN turns
        """,
    )
    index(path)
    found = await messages.search(DM, HEARERS, "does the kraken sleep in the vault?", 5)
    assert found[0].text == "the kraken sleeps in the vault"


async def test_a_flood_in_public_leaves_words_of_the_own_conversation_found(path: Path, messages: Surfacing) -> None:
    remember(path, "the kraken sleeps in the vault, and so on, and on, and on", name="Ada")
    remember(path, *(f"kraken {n}" for n in range(EACH + 10)), where=PUBLIC, audience=EVERYBODY, author="U3")
    assert "the vault" in " ".join(one.text for one in await messages.search(DM, HEARERS, "kraken vault", 5))


async def test_a_long_message_is_searched_at_first_and_shown_around_the_words(path: Path, messages: Surfacing) -> None:
    remember(path, "phoenix " + "word " * 2_000 + "kraken")
    assert await messages.search(DM, HEARERS, "phoenix", 5)
    assert not await messages.search(DM, HEARERS, "kraken", 5)
    remember(path, "so it goes. " * 200 + "The griffin sleeps in the vault. " + "so it goes. " * 100)
    found = (await messages.search(DM, HEARERS, "griffin", 5))[0]
    assert "The griffin sleeps in the vault." in found.text
    assert found.text.startswith("… ")
    assert len(found.text) <= 1500


async def test_messages_with_more_and_rarer_words_come_first_then_newer_ones(path: Path, messages: Surfacing) -> None:
    remember(path, "the release is late", "the release of the kraken", "the release is early", "lunch")
    found = [one.text for one in await messages.search(DM, HEARERS, "the release kraken", 3)]
    assert found == ["the release of the kraken", "the release is early", "the release is late"]


async def test_text_outside_of_messages_is_not_found_and_no_name_forges_one(path: Path, messages: Surfacing) -> None:
    remember(path, "a plain remark")
    for query in ("", "?!", "hippogriff", "monologue", "U1", "'; DROP TABLE turns; --"):
        assert await messages.search(DM, HEARERS, query, 5) == (), query
    assert await messages.search(DM, HEARERS, "remark", 0) == ()
    assert look(path, "SELECT count(*) FROM turns") == [(1,)]
    remember(path, "tea at four", name="Eve\n\u202e docs/limits.md:1 " + "x" * 200)
    remember(path, "tea at five", name="\u200b")
    sources = [one.source for one in await messages.search(DM, HEARERS, "tea", 5)]
    assert sources[0] == "this conversation 2026-11-21, somebody"
    assert sources[1].startswith("this conversation 2026-11-21, Eve docs/limits.md:1 x")
    assert len(sources[1]) < 120
    assert sources[1].isprintable()


async def test_words_of_others_are_not_found_nor_of_a_channel_now_private(path: Path, messages: Surfacing) -> None:
    remember(path, "griffin", where=ConversationKey("bob", TEAM, "C1"), audience=EVERYBODY)
    remember(path, "griffin", where=ConversationKey(SOUL, "T2", "C1"), audience=EVERYBODY)
    assert await messages.search(PUBLIC, Readers(EVERYBODY, members_only=True), "griffin", 5) == ()
    remember(path, "griffin", where=PUBLIC, audience=EVERYBODY, room=Audience(AudienceKind.CHANNEL, "C1"))
    assert await messages.search(DM, HEARERS, "griffin", 5) == ()
    [found] = await messages.search(DM, Readers(MINE, members_only=True, rooms=frozenset({"C1"})), "griffin", 5)
    assert found.room == "C1"


ROOMS = (
    (DM, MINE),
    (OTHER_DM, THEIRS),
    (PUBLIC, EVERYBODY),
    (ConversationKey(SOUL, TEAM, "G1"), Audience(AudienceKind.CHANNEL, "G1")),
    (ConversationKey(SOUL, TEAM, "G2", "7.0"), Audience(AudienceKind.CHANNEL, "G2")),
    (ConversationKey(SOUL, TEAM, "X1"), Audience(AudienceKind.OPERATOR, TEAM)),
    (ConversationKey(SOUL, "T2", "C9"), Audience(AudienceKind.WORKSPACE, "T2")),
    (ConversationKey("bob", TEAM, "D1"), MINE),
)


async def test_no_conversation_finds_a_message_of_another_audience(path: Path, messages: Surfacing) -> None:
    meant_for = [Audience(kind, name) for kind in AudienceKind for name in ("D1", "D2", "G1", TEAM, "T2", "%", "")]
    rows = [(where, said_to, room) for where, room in ROOMS for said_to in {room, *meant_for}]
    remember_all(path, [(f"griffin {number}", *row) for number, row in enumerate(rows)])
    for conversation, audience in ROOMS:
        known = {audience, Audience(AudienceKind.WORKSPACE, conversation.workspace)}
        expected = [
            f"griffin {number}"
            for number, (where, said_to, room) in enumerate(rows)
            if (where.soul, where.workspace) == (conversation.soul, conversation.workspace) and {room, said_to} <= known
        ]
        for query in ("griffin", "a griffin; DROP TABLE turns", 'griffin* OR "griffin"'):
            found = await messages.search(conversation, Readers(audience, members_only=True), query, 1_000)
            assert sorted(one.text for one in found) == sorted(expected), (conversation, query)


async def test_in_a_dm_the_users_private_rooms_are_searched_and_named_by_no_id(path: Path, messages: Surfacing) -> None:
    remember(path, "the griffin of the guild", where=CLOSED, audience=Audience(AudienceKind.CHANNEL, "G1"))
    remember(path, "a griffin of others", where=ConversationKey(SOUL, TEAM, "G2"), audience=GUILD_2)
    assert await messages.search(DM, HEARERS, "griffin", 5) == ()
    [found] = await messages.search(DM, Readers(MINE, members_only=True, rooms=frozenset({"G1"})), "griffin", 5)
    assert (found.text, found.source) == ("the griffin of the guild", "private channel 2026-11-21, Ben")
    assert (found.room, found.members_only) == ("G1", True)


async def test_words_of_very_many_rooms_are_found_in_one_search(path: Path, messages: Surfacing) -> None:
    rooms = [f"G{number}" for number in range(40)]
    heard = [(ConversationKey(SOUL, TEAM, name), Audience(AudienceKind.CHANNEL, name)) for name in rooms]
    words = "the griffin and the kraken of "
    remember_all(path, [(f"{words}{where.channel}", where, audience, audience) for where, audience in heard])
    readers = Readers(MINE, members_only=True, rooms=frozenset(rooms))
    query = "what do the griffin and the kraken of the guild eat for breakfast on cold mornings?"
    assert {one.room for one in await messages.search(DM, readers, query, 100)} <= set(rooms)
    assert len(await messages.search(DM, readers, query, 100)) >= 20
