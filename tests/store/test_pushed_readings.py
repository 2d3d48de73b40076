"""Where a reading for a person is perceived: found in few steps, also of a person who said very much elsewhere."""

import itertools

import pytest

from daemon.core.perception import BESIDE
from daemon.core.sensing import NowhereToPerceive, ProgramSense, PushedReading
from daemon.memory.database import Database
from daemon.memory.senses.pushed import PushedReadings
from tests.fakes import FakeClock
from tests.given import SOUL, TEAM
from tests.store.counting import count_steps

MANY = 1_000  # messages
FEW_STEPS = 20_000  # steps; to look through the person's half of 20,000 messages takes 70,000
_IDS = (f"r{number}" for number in itertools.count())


async def _had(database: Database, channel: str, *talks: tuple[str, str, int], place: str = "dm") -> None:
    """Conversations there, each of a thread, of who speaks in it, and when last (ms)."""
    audience = f"dm:{channel}" if place == "dm" else f"workspace:{TEAM}"
    for thread, author, last_ms in talks:
        room = f"{SOUL}/{TEAM}/{channel}/{thread}"
        await database.run(
            """
            INSERT INTO conversations (id, soul, workspace, channel, thread, place, audience, last_ms)
            VALUES (:room, :soul, :team, :channel, :thread, :place, :audience, :last)
            """,
            room=room,
            soul=SOUL,
            team=TEAM,
            channel=channel,
            thread=thread,
            place=place,
            audience=audience,
            last=last_ms,
        )
        await _said(database, room, author, audience, 2)


async def _said(database: Database, room: str, author: str, audience: str, times: int) -> None:
    await database.run(
        """
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :times)
        INSERT INTO turns (conversation, speaker, author, name, ts, body, audience, trace_id, said_ms)
        SELECT :room, CASE WHEN i % 2 THEN 'soul' ELSE 'person' END, CASE WHEN i % 2 THEN 'tess' ELSE :author END, '',
               i || '.0', 'hello', :audience, '', i FROM n
        """,
        room=room,
        author=author,
        audience=audience,
        times=times,
    )


async def _found(database: Database, person: str, thread: str = "") -> str:
    """In which conversation a reading for a person is perceived, without soul and workspace; '' for none."""
    reading = PushedReading(SOUL, TEAM, "token", next(_IDS), ProgramSense("ci"), "It is red.", person, thread)
    try:
        (one,), _ = await PushedReadings(database, FakeClock(auto=True)).push(reading)
    except NowhereToPerceive:
        return ""
    return one.removeprefix(f"{SOUL}/{TEAM}/")


@pytest.fixture
async def talks(database: Database) -> Database:
    """Direct messages of several people, in threads and in none, and two talks in a channel."""
    await _had(database, "D1", ("", "U1", 5), ("1.0", "U1", 90), ("2.0", "U1", 80))
    await _had(database, "D2", ("1.0", "U2", 5), ("2.0", "U2", 9), (BESIDE, "U2", 99))
    await _had(database, "D3", ("", "U3", 5), ("3.0", "U3", 4))
    await database.run("UPDATE conversations SET handed_to = 'ben' WHERE thread = '' AND channel = 'D3'")
    await _had(database, "D4", ("4.0", "U4", 4))
    await database.run("DELETE FROM turns WHERE author = 'U4'")
    await _had(database, "C1", ("", "U1", 1), ("5.0", "U5", 99), place="thread")
    return database


ASKED = tuple((person, thread) for person in ("U1", "U2", "U3", "U4", "U5", "U6") for thread in ("", "1.0", "4.0"))
ANSWERS = ("D1/", "D1/1.0", "", "D2/2.0", "D2/1.0", "", "D3/3.0", *[""] * 11)


async def test_a_reading_for_a_person_is_perceived_in_no_thread_or_the_newest_they_wrote_in(talks: Database) -> None:
    assert [await _found(talks, *asked) for asked in ASKED] == list(ANSWERS)
    for person in ("U1", "U2", "U3", "U4", "U5"):
        await _said(talks, f"{SOUL}/{TEAM}/C1/", person, f"workspace:{TEAM}", MANY)
    await talks.run("DELETE FROM sensed")  # no more than sixty are taken in a minute
    assert [await _found(talks, *asked) for asked in ASKED] == list(ANSWERS)


async def test_where_a_person_reads_alone_is_found_without_a_look_at_all_that_they_said(talks: Database) -> None:
    await _said(talks, f"{SOUL}/{TEAM}/C1/", "U1", f"workspace:{TEAM}", 20 * MANY)
    counter = await count_steps(talks)
    assert await _found(talks, "U1") == "D1/"
    assert counter.steps <= FEW_STEPS
