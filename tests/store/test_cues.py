"""Cues: found by their words at a bounded cost, reported once, and gone with all that belongs to them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.perception import Audience, AudienceKind, Readers
from daemon.core.ports.arrivals import NewMessage
from daemon.core.topics import keys_of_topic, keys_of_words, speaks_of, stands_in, words_heard
from daemon.memory.database import Database
from daemon.memory.people.names import PeopleNames
from daemon.memory.queues.cue_matching import MOST_CUES, CueMatching, HeardMessage
from daemon.memory.queues.cues import LASTS_MS, LONGEST_MS, Cue
from daemon.memory.queues.intention_rows import NewIntention
from daemon.memory.queues.intentions import Intentions, cancel_intentions
from daemon.memory.queues.internal_events import store_internal_event
from daemon.memory.records import Worker
from tests.fakes import FakeClock
from tests.given import DM, LEASE, SOUL, TEAM, edited, new_message, thread
from tests.store.counting import count_steps
from tests.store.parts import Stores, intend, look, poke, room

WORKER = Worker("worker-1", SOUL, TEAM, int(LEASE * 1000))
PUBLIC = Audience(AudienceKind.WORKSPACE, TEAM)
ROOM = thread("1.000000")


@pytest.fixture
def cues(database: Database, clock: FakeClock) -> CueMatching:
    return CueMatching(database, clock, WORKER)


def waits(clock: FakeClock, topic: str = "", **more: object) -> NewIntention:
    until = clock.now_ms() + LASTS_MS
    cue = Cue(until, topic=topic, **more)  # type: ignore[arg-type]  # as each test says
    return NewIntention(slot=f"reminder-{topic}{sorted(more.items())}", content=f"of {topic}", behalf="U1", cue=cue)


def said(clock: FakeClock, text: str, *, number: int = 1, author: str = "U2") -> NewMessage:
    ts = f"{clock.now_ms() / 1000 + number:.6f}"
    return new_message(ts, text, conversation=ROOM, author=author, audience=PUBLIC)


async def heard(stores: Stores, cues: CueMatching, clock: FakeClock, text: str, number: int = 1) -> HeardMessage:
    await stores.inbox.accept(said(clock, text, number=number))
    found = await cues.next_heard()
    assert found is not None
    return found


async def found_by(cues: CueMatching, text: str) -> list[str]:
    words = words_heard(text)
    return [one.topic for one in await cues.candidates(keys_of_words(words)) if speaks_of(one.topic, words)]


def test_a_topic_is_known_by_its_telling_words_in_any_form() -> None:
    for topic, text, speaks in (
        ("the release", "When is the RELEASE?", True),
        ("the release", "two releases", True),
        ("the release", "Releasenotes sind da", True),
        ("the release", "we are relieved", False),
        ("Freigabe", "die Freigaben sind durch", True),
        ("the release party", "the release is late", False),
        ("release of the Android app", "the android release is out", True),
        ("release of the Android app", "the app is out", False),
        ("発売", "発売はいつですか", True),
        ("выпуск", "весь выпуск", True),
        ("v2.3", "v2.3 is out", True),
        ("that", "that", False),
        ("", "anything", False),
    ):
        words = words_heard(text)
        assert speaks_of(topic, words) is speaks, (topic, text)
        if speaks:
            assert keys_of_topic(topic) & keys_of_words(words), "what speaks of a topic is found by its keys"


@settings(max_examples=60, deadline=None)
@given(topic=st.text(max_size=120), text=st.text(max_size=300))
def test_whatever_is_written_what_speaks_of_a_topic_is_found_by_its_keys(topic: str, text: str) -> None:
    words = words_heard(f"{text} {topic}")
    if speaks_of(topic, words):
        assert keys_of_topic(topic) & keys_of_words(words)
        assert stands_in(topic, [f"{text} {topic}"])
    assert not any(key.startswith("@") for key in keys_of_words(words)), "no word passes for a person"


async def test_a_cue_is_stored_with_its_intention_found_by_words_and_gone_with_it(
    database: Database, clock: FakeClock, cues: CueMatching, path: Path
) -> None:
    assert await intend(database, clock, waits(clock, "the release"), waits(clock, "the budget")) == ()
    assert await found_by(cues, "releases are out") == ["the release"]
    assert await found_by(cues, "nothing of interest") == []
    assert look(path, "SELECT cue, due_ms - created_ms FROM intentions") == [("topic", LASTS_MS)] * 2
    names = [str(row[0]) for row in look(path, "SELECT slot FROM intentions")]
    await database.write(lambda it: cancel_intentions(it, DM, names, clock.now_ms()))
    assert look(path, "SELECT 1 FROM cues UNION ALL SELECT 1 FROM cue_words") == []
    assert look(path, "SELECT id FROM vector_queue WHERE id LIKE 'CU_%' ORDER BY id") == [("CU_1",), ("CU_2",)]


async def test_a_cue_beyond_its_bounds_is_refused(database: Database, clock: FakeClock, path: Path) -> None:
    until = clock.now_ms() + LASTS_MS
    for cue in (
        Cue(0, topic="release"),
        Cue(10**15, topic="release"),
        Cue(until, topic="release", fires=0),
        Cue(until, topic="release", fires=11),
        Cue(until, topic="the and of"),
        Cue(until),
        Cue(until, silence_ms=1),
        Cue(until, silence_ms=LONGEST_MS),
    ):
        [refused] = await intend(database, clock, NewIntention(slot="s", behalf="U1", cue=cue))
        assert refused.startswith("s: "), cue
        assert look(path, "SELECT count(*) FROM intentions") == [(0,)], cue


async def test_words_are_queued_only_while_something_waits_for_words_and_move_a_silence_from_then_on(
    database: Database, clock: FakeClock, stores: Stores, path: Path
) -> None:
    await room(database, ROOM, PUBLIC)
    await intend(database, clock, waits(clock, silence_ms=3_600_000), key=ROOM)
    due = "SELECT due_ms FROM intentions WHERE cue = 'silence'"
    [(first,)] = look(path, due)
    await stores.inbox.accept(said(clock, "earlier", number=-60))
    assert look(path, due) == [(first,)]
    await stores.inbox.accept(said(clock, "later", number=60))
    assert look(path, due) == [(int(str(first)) + 60_000,)]
    assert look(path, "SELECT count(*) FROM heard_words") == [(0,)]
    await intend(database, clock, waits(clock, "the release"))
    await stores.inbox.accept(said(clock, "hello", number=61))
    assert look(path, "SELECT count(*) FROM heard_words") == [(1,)]


async def test_a_report_is_made_once_by_two_daemons_at_once(stores: Stores, others: Stores, cues: CueMatching) -> None:
    await intend(stores.database, stores.clock, waits(stores.clock, "the release", fires=5))
    second = CueMatching(others.database, stores.clock, Worker("worker-2", SOUL, TEAM, int(LEASE * 1000)))
    message = await heard(stores, cues, stores.clock, "the release")
    assert await second.next_heard() == message
    [cue] = await cues.candidates(keys_of_words(["release"]))
    reports = await asyncio.gather(*(one.report(message, [cue]) for one in (cues, second, cues, second)))
    assert sorted(reports) == [0, 0, 0, 1]
    assert look(stores.path, "SELECT modality, author, body FROM inbox WHERE modality = 'time'") == [
        ("time", "U1", "of the release")
    ]


async def test_while_it_is_reported_nothing_else_is_and_how_it_ends_counts(
    database: Database, clock: FakeClock, stores: Stores, cues: CueMatching, path: Path
) -> None:
    await intend(database, clock, waits(clock, "the release", fires=2))
    for number, (state, left) in enumerate((("ignored", 2), ("answered", 1), ("stale", 1), ("dead", 1)), 1):
        message = await heard(stores, cues, clock, "the release", number)
        [cue] = await cues.candidates(keys_of_words(["release"]))
        assert await cues.report(message, [cue]) == 1
        assert await cues.candidates(keys_of_words(["release"])) == ()
        await database.run("UPDATE inbox SET state = :to WHERE modality = 'time' AND state = 'new'", to=state)
        assert look(path, "SELECT fires_left, pending, hits FROM cues") == [(left, "", number)]
    message = await heard(stores, cues, clock, "the release", 9)
    [cue] = await cues.candidates(keys_of_words(["release"]))
    await cues.report(message, [cue])
    await database.run("UPDATE inbox SET state = 'answered', settled_ms = 7 WHERE modality = 'time' AND state = 'new'")
    assert look(path, "SELECT state, fired, settled_ms FROM intentions") == [("due", 2, 7)]
    assert look(path, "SELECT 1 FROM cues UNION ALL SELECT 1 FROM cue_words") == []


async def test_a_message_that_was_edited_meanwhile_is_held_against_the_cues_anew(
    database: Database, clock: FakeClock, stores: Stores, cues: CueMatching, path: Path
) -> None:
    await intend(database, clock, waits(clock, "the release"))
    message = await heard(stores, cues, clock, "the release")
    [cue] = await cues.candidates(keys_of_words(["release"]))
    await stores.inbox.accept(edited(message.message.ts, "the canteen", conversation=ROOM))
    assert await cues.report(message, [cue]) == 0
    again = await cues.next_heard()
    assert again is not None
    assert (again.message.content, again.revision) == ("the canteen", 1)
    poke(path, "UPDATE inbox SET body = ''")
    assert await cues.report(again, [cue]) == 0


async def test_one_about_which_the_platform_cannot_be_asked_rests_and_holds_up_no_other(
    database: Database, clock: FakeClock, stores: Stores, cues: CueMatching, path: Path
) -> None:
    await intend(database, clock, waits(clock, "the release"))
    first = await heard(stores, cues, clock, "the release", 1)
    await stores.inbox.accept(said(clock, "another", number=2))
    await cues.put_off(first)
    other = await cues.next_heard()
    assert other is not None
    assert other.message.content == "another"
    await cues.report(other, [])
    for _ in range(20):
        await clock.advance(3_600)
        if (again := await cues.next_heard()) is None:
            break
        await cues.put_off(again)
    assert look(path, "SELECT count(*) FROM heard_words") == [(0,)]


async def test_messages_that_are_gone_or_spoilt_are_dropped_and_hold_up_no_other(
    database: Database, clock: FakeClock, stores: Stores, cues: CueMatching, path: Path
) -> None:
    await intend(database, clock, waits(clock, "the release"), waits(clock, "the budget"))
    for number in range(1, 131):
        await stores.inbox.accept(said(clock, "the release", number=number))
    poke(path, "UPDATE inbox SET body = '' WHERE rowid % 2 = 0")
    poke(path, "UPDATE inbox SET audience = 'whoever' WHERE rowid % 2 = 1")
    poke(path, "DELETE FROM inbox WHERE rowid % 5 = 0")
    assert await cues.next_heard() is None
    assert look(path, "SELECT count(*) FROM heard_words") == [(0,)]
    poke(path, "UPDATE intentions SET place = 'nowhere' WHERE content LIKE '%budget'")
    found = await cues.candidates(keys_of_words(["release", "budget"]))
    assert [one.topic for one in found] == ["the release"]


async def test_a_silence_is_believed_only_once_all_was_heard(database: Database, clock: FakeClock, path: Path) -> None:
    await room(database, ROOM, PUBLIC)
    await intend(database, clock, waits(clock, silence_ms=3_600_000), key=ROOM)
    await clock.advance(3_700)
    begun_now = Intentions(database, clock, WORKER)
    assert await begun_now.fall_due() == 0
    await clock.advance(70)
    poke(
        path,
        "INSERT INTO unread_places (soul, workspace, channel, thread, state, since, heard_ms, due_ms)"
        " VALUES (?, ?, 'C1', '', 'due', '1.0', 0, 0)",
        SOUL,
        TEAM,
    )
    assert await begun_now.fall_due() == 0
    poke(path, "UPDATE unread_places SET state = 'read'")
    await clock.advance(70)
    assert await begun_now.fall_due() == 1
    assert await begun_now.fall_due() == 0
    assert look(path, "SELECT count(*) FROM inbox WHERE modality = 'time'") == [(1,)]


async def test_a_report_that_is_cut_off_is_neither_repeated_nor_lost(
    stores: Stores, clock: FakeClock, cues: CueMatching, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await intend(stores.database, clock, waits(clock, "the release"))
    message = await heard(stores, cues, clock, "the release")
    found = await cues.candidates(keys_of_words(["release"]))

    async def stored_and_cut_off(*args: Any, **more: Any) -> None:  # noqa: ANN401  # as they are
        await store_internal_event(*args, **more)
        raise KeyError("cut off")

    with monkeypatch.context() as cut_off:
        cut_off.setattr("daemon.memory.queues.cue_matching.store_internal_event", stored_and_cut_off)
        with pytest.raises(KeyError):
            await cues.report(message, found)
    reports = "SELECT count(*) FROM inbox WHERE modality = 'time'"
    assert look(path, reports) == [(0,)]
    assert await cues.next_heard() == message
    assert await cues.report(message, found) == 1
    assert await cues.next_heard() is None
    assert look(path, reports) == [(1,)]


async def test_people_are_known_by_the_names_that_the_readers_may_know(database: Database, clock: FakeClock) -> None:
    names = PeopleNames(database, clock, WORKER)

    def meet(person: str, name: str, audience: Audience) -> None:
        poke(
            database.path,
            "INSERT INTO user_models (soul, workspace, person, audience, version, name, updated_ms)"
            " VALUES (?, ?, ?, ?, 0, ?, 0)",
            *(SOUL, TEAM, person, str(audience), name),
        )

    for person, name in (("U2", "Ben"), ("U3", "Ben Miller"), ("U4", "Åsa Öberg"), ("U5", "Åsa Lind")):
        meet(person, name, PUBLIC)
    meet("U6", "Zoe", Audience(AudienceKind.DM, "D6"))
    members = Readers(Audience(AudienceKind.DM, "D1"), members_only=True)

    async def named(name: str, readers: Readers = members) -> Sequence[str]:
        return await names.named(name, DM, readers)

    assert await named("ben") == ("U2",)
    assert await named("Miller") == ("U3",)
    assert await named("asa") == ("U4", "U5")
    assert await named("Zoe") == ()
    assert await named("") == ()
    assert await named("ben", replace(members, members_only=False)) == ()


async def _held_against(stores: Stores, cues: CueMatching, clock: FakeClock, number: int) -> None:
    """All that the store does for one message that speaks of nothing, from its arrival on."""
    text = "two looms stand idle in the hall, and who has the key?"
    message = await heard(stores, cues, clock, text, number)
    assert await cues.candidates(keys_of_words(words_heard(text)) | {"@U2"}) == ()
    assert await cues.report(message, []) == 0


async def test_a_message_costs_as_many_steps_however_many_cues_wait(stores: Stores, cues: CueMatching) -> None:
    counter = await count_steps(stores.database)
    steps = []
    for number, more in enumerate((10, 10_000)):
        new = [replace(waits(stores.clock, f"topic{number}x"), slot=f"s{number}")]
        await intend(stores.database, stores.clock, *new)
        poke(stores.path, _MANY_INTENTIONS, more)
        poke(stores.path, _MANY_CUES)
        poke(stores.path, "INSERT OR IGNORE INTO cue_words SELECT soul, workspace, topic, seq FROM cues")
        await _held_against(stores, cues, stores.clock, 10 * number + 1)
        before = counter.steps
        await _held_against(stores, cues, stores.clock, 10 * number + 2)
        steps.append(counter.steps - before)
    print(f"steps={steps}")
    assert look(stores.path, "SELECT count(*) > 10000 FROM cues") == [(1,)]
    assert steps[1] <= 1.1 * steps[0]


_MANY_INTENTIONS = """
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
    INSERT INTO intentions (id, conversation, soul, workspace, slot, due_ms, every, process, params, content, behalf,
      place, audience, state, reason, fired, created_ms, settled_ms, faults, cue)
    SELECT 'x' || ifnull((SELECT max(seq) FROM cues), 0) || '-' || i, conversation, soul,
      workspace, 'x' || id || i, due_ms, every, process, params, content, behalf, place, audience, state, reason,
      fired, created_ms, settled_ms, faults, cue
    FROM (SELECT * FROM intentions ORDER BY rowid DESC LIMIT 1), n
"""
_MANY_CUES = """
    INSERT INTO cues SELECT NULL, id, soul, workspace, 'about' || id, '', 0, 0, due_ms, 1, '', 0 FROM intentions
    WHERE id LIKE 'x%' AND id NOT IN (SELECT intention FROM cues)
"""


async def test_a_message_is_held_against_a_bounded_number_of_cues(stores: Stores, cues: CueMatching) -> None:
    await intend(stores.database, stores.clock, waits(stores.clock, "the release"))
    poke(stores.path, _MANY_INTENTIONS, 700)
    poke(stores.path, _MANY_CUES)
    poke(stores.path, "INSERT INTO cue_words SELECT soul, workspace, 'relea', seq FROM cues WHERE seq > 1")
    poke(stores.path, "UPDATE cues SET topic = 'the release'")
    assert len(await cues.candidates(["relea"])) == MOST_CUES
