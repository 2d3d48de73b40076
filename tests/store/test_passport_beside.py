"""A passport also holds plans, what is known of users as a whole, the soul's own state and the bytes of pictures."""

import json
import os
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path
from shutil import copytree

import pytest

from daemon.core.perception import Audience, ConversationKey, Readers
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.forgetting import forget_derived
from daemon.memory.knowledge.shared_files import SenseBytes, digest_of
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.exporting import export_passport
from daemon.memory.passport.importing import Imported, import_passport
from daemon.memory.passport.pictures import LARGEST_PICTURE, PictureRoom
from daemon.memory.passport.storing import Bounds
from daemon.memory.passport.verifying import verify_passport
from daemon.memory.people.forgetting import ForgettingPeople
from daemon.memory.people.known import KnownOfPerson
from daemon.memory.queues.intentions import Intentions
from tests.fakes import Events, FakeClock
from tests.store.beside import HOUR, PICTURE, WHISPER, WORKER, fill
from tests.store.parts import room
from tests.store.passports import HERE, WHERE, bytes_in

OWNER = Owner("minoan", "T1")


@pytest.fixture
async def passport(database: Database, clock: FakeClock, tmp_path: Path) -> Path:
    await fill(database, clock, tmp_path)
    await export_passport(database, tmp_path / "out", SenseBytes(tmp_path))
    return tmp_path / "out"


@pytest.fixture
async def two(clock: FakeClock, tmp_path: Path) -> AsyncIterator[Database]:
    """The memory of another home."""
    async with open_database(tmp_path / "two" / "memory.db", clock) as database:
        yield database


async def bring(database: Database, folder: Path, clock: FakeClock) -> Imported:
    bounds = Bounds(most_intentions=100, room=PictureRoom(SenseBytes(database.path.parent), 2**20))
    return await import_passport(database, folder, OWNER, clock, bounds)


def one_file(folder: Path, pattern: str, says: str = "") -> Path:
    [found] = [path for path in folder.rglob(pattern) if says in path.read_text()]
    return found


def rewrite(path: Path, **ours: object) -> None:
    content = json.loads(path.read_text())
    content["soul_daemon"] |= ours
    path.write_text(json.dumps(content))


def reasons(done: Imported) -> set[str]:
    return {one.reason for one in done.refused}


async def test_all_of_it_is_written_and_brought_elsewhere_byte_for_byte(
    passport: Path, clock: FakeClock, tmp_path: Path, two: Database
) -> None:
    before = bytes_in(passport)
    names = {name.rpartition("/")[2].partition("_")[0] for name in before if name.endswith(".json")}
    assert {"IN", "UM", "UV", "MOOD", "TOPIC", "ASK"} <= names
    assert before[f"memory/senses/{digest_of(PICTURE)[:2]}/{digest_of(PICTURE)}.jpg"] == PICTURE
    found = await verify_passport(passport, clock)
    assert (found.refused, found.lossless, found.chain) == ((), True, True)
    done = await bring(two, passport, clock)
    assert (done.refused, done.pictures) == ((), 1)
    await export_passport(two, tmp_path / "second", SenseBytes(tmp_path / "two"))
    assert bytes_in(tmp_path / "second") == before
    again = await bring(two, passport, clock)
    assert (again.stored, again.unchanged, again.refused, again.pictures) == (0, done.stored, (), 0)


async def test_a_plan_that_came_up_or_was_cancelled_stays(database: Database, passport: Path, clock: FakeClock) -> None:
    await database.run("UPDATE intentions SET state = 'cancelled', settled_ms = 1 WHERE content = 'Release'")
    await clock.sleep(2 * HOUR / 1000)
    assert await Intentions(database, clock, WORKER).fall_due() >= 1
    assert (await bring(database, passport, clock)).refused == ()
    assert await Intentions(database, clock, WORKER).fall_due() == 0
    await database.run("DELETE FROM intentions WHERE state <> 'waiting'")
    assert reasons(await bring(database, passport, clock)) == {"it ended here"}


async def test_a_plan_whose_time_has_passed_comes_not_up_late(passport: Path, clock: FakeClock, two: Database) -> None:
    await clock.sleep(2 * HOUR / 1000)
    assert (await bring(two, passport, clock)).refused == ()
    assert await Intentions(two, clock, WORKER).fall_due() == 0
    rows = await two.rows("SELECT slot, state FROM intentions ORDER BY slot")
    assert [tuple(row) for row in rows] == [
        ("reminder-a", "cancelled"),
        ("reminder-b", "cancelled"),
        ("weekly", "waiting"),
    ]
    assert (await bring(two, passport, clock)).refused == ()


@pytest.mark.parametrize(
    ("old", "waits"),
    [
        ({"cue": None, "unless_answered": True}, ("waiting", "silence")),
        ({"cue": None, "unless_answered": False}, ("waiting", "")),
        ({"cue": {"kind": "topic", "words": ["bees"]}, "unless_answered": False}, ("cancelled", "")),
    ],
)
async def test_a_plan_of_a_file_from_before_schema_17_waits_for_what_it_waited_for(
    passport: Path, clock: FakeClock, two: Database, old: dict[str, object], waits: tuple[str, str]
) -> None:
    rewrite(one_file(passport, "IN_*.json", "Call Ben"), **old)
    assert (await bring(two, passport, clock)).refused == ()
    [row] = await two.rows("SELECT state, cue FROM intentions WHERE content LIKE '%Call Ben%'")
    assert tuple(row) == waits
    assert (await bring(two, passport, clock)).stored == 0


FORGED: tuple[tuple[dict[str, object], str], ...] = (
    ({"audience": ""}, "it does not say who may hear it"),
    ({"audience": "operator:passport"}, "it is for others than those who read there"),
    ({"audience": "dm:D9"}, "it is for others than those who read there"),
    ({"conversation": None}, "soul_daemon.conversation: it should be a text"),
    ({"conversation": "minoan/T1/C1/", "channel": "C1", "place": "public_channel"}, "other people read"),
    ({"conversation": "other/T1/D1/"}, "its conversation is of another soul or workspace"),
    ({"slot": "idle"}, "its slot is none of a plan"),
    ({"every": "* * * * *"}, "less than 15 minutes apart"),
    ({"due_ms": 250_000_000_000_000}, "more than a year ahead"),
    ({"state": "running"}, "it is no intention"),
    ({"slot": "weekly"}, "another plan waits in its slot"),
)


async def test_a_forged_plan_is_refused_and_others_are_loaded(passport: Path, clock: FakeClock, tmp_path: Path) -> None:
    for number, (changes, reason) in enumerate(FORGED):
        forged = copytree(passport, tmp_path / f"forged{number}")
        rewrite(one_file(forged, "IN_*.json", "Call Ben"), **changes)
        async with open_database(tmp_path / f"{number}.db", clock) as two:
            await room(two, ConversationKey("minoan", "T1", "C1"), Audience.parse("channel:C1"))
            done = await bring(two, forged, clock)
            assert len(done.refused) == 1, changes
            assert reason in done.refused[0].reason
            assert len(await two.rows("SELECT 1 FROM intentions")) == 2, changes


async def test_no_value_of_any_field_ends_an_import(passport: Path, clock: FakeClock, two: Database) -> None:
    odd, folder = cycle((None, 5, -1.5, "x", [1], {"a": 1}, 2**70, "")), passport.parent / "odd"
    folder.mkdir()
    for path in sorted((passport / "memory").rglob("*.json")):
        content = json.loads(path.read_text())
        for fields in (content, content["soul_daemon"]):
            for name, value in list(fields.items()):
                fields[name] = next(odd)
                (folder / f"{path.stem}-{name}.json").write_text(json.dumps(content))
                fields[name] = value
    done = await bring(two, folder, clock)
    assert done.stored + done.unchanged + len(done.refused) == len(list(folder.iterdir()))


async def test_a_half_or_renamed_record_is_refused(passport: Path, clock: FakeClock, two: Database) -> None:
    model = one_file(passport, "UM_*.json")
    content = json.loads(model.read_text())
    del content["soul_daemon"]["whispers"]
    model.write_text(json.dumps(content))
    rewrite(one_file(passport, "MOOD_*.json"), audience="workspace:T1")
    rewrite(one_file(passport, "TOPIC_*.json"), conversation=f"{WHERE}7.0")
    done = await bring(two, passport, clock)
    assert reasons(done) == {
        "it is no user_model: soul_daemon.whispers: Field required",
        "its id is not that of what it is about",
        "what is known of its user here has no such version",
    }


async def test_a_model_that_claims_to_know_later_turns_lets_them_be_learned_from(
    passport: Path, clock: FakeClock, two: Database
) -> None:
    rewrite(one_file(passport, "UM_*.json"), modelled_to=2**50)
    await bring(two, passport, clock)
    newest = await two.one("SELECT max(seq) AS seq, (SELECT modelled_to FROM user_models) AS to_ FROM turns")
    assert newest is not None
    assert newest["to_"] == newest["seq"]


async def test_a_version_without_turns_stops_no_deletion(passport: Path, clock: FakeClock, tmp_path: Path) -> None:
    for name, turns in (("none", {}), ("odd", {"first": "x", "last": []})):
        rewrite(one_file(passport, "UV_*.json"), change={"conversation": str(WHERE), **turns})
        async with open_database(tmp_path / f"{name}.db", clock) as two:
            await bring(two, passport, clock)
            await two.write(lambda transaction: forget_derived(transaction, str(WHERE), "U1", 1, 5))
            assert [row["whispers"] for row in await two.rows("SELECT whispers FROM user_models")] == [""], name


async def test_nothing_of_a_person_who_was_forgotten_is_brought_back(
    database: Database, passport: Path, clock: FakeClock, tmp_path: Path
) -> None:
    people = ForgettingPeople(database, clock, Events(), tmp_path, tmp_path / "index")
    await people.finish(await people.ask("T1", "U1"))
    await bring(database, passport, clock)
    for table in ("intentions", "user_models", "user_model_history", "soul_state", "conversation_topics"):
        assert await database.rows(f"SELECT 1 FROM {table}") == [], table
    assert await database.rows("SELECT 1 FROM standing_questions") == []


async def test_a_persons_export_holds_no_private_words(database: Database, passport: Path, clock: FakeClock) -> None:
    own = await KnownOfPerson(database, clock, WORKER).export("U1", Readers(HERE, members_only=True), WHERE)
    assert "Call Ben" in json.dumps(own)
    for private in (WHISPER, "Why bees?", "count them", "calm"):
        assert private not in json.dumps(own)


async def test_a_hostile_picture_is_refused_by_name_and_the_rest_is_loaded(
    passport: Path, clock: FakeClock, tmp_path: Path, two: Database
) -> None:
    hostile = {
        f"{'a' * 64}.jpg": (PICTURE, "its bytes are not those of its digest"),
        "evil.jpg": (PICTURE, "it is no digest"),
        f"{digest_of(b'GIF89a')}.jpg": (b"GIF89a", "it is no JPEG"),
        f"{digest_of(PICTURE + b'!')}.jpg": (PICTURE + b"!", "no sense here shows it"),
        f"{'b' * 64}.jpg": (b"", f"it is larger than {LARGEST_PICTURE} bytes"),
    }
    for name, (content, _) in hostile.items():
        path = passport / "memory" / "senses" / name[:2] / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        if not content:
            os.truncate(path, 2**40)
    done = await bring(two, passport, clock)
    refused = {one.path.rpartition("/")[2]: one.reason for one in done.refused}
    assert (refused, done.pictures) == ({name: reason for name, (_, reason) in hostile.items()}, 1)
    assert SenseBytes(tmp_path / "two").names() == [digest_of(PICTURE)]


async def test_no_more_plans_and_pictures_are_brought_than_there_is_room_for(
    passport: Path, clock: FakeClock, tmp_path: Path, two: Database
) -> None:
    bounds = Bounds(most_intentions=2, room=PictureRoom(SenseBytes(tmp_path / "two"), 3))
    done = await import_passport(two, passport, OWNER, clock, bounds)
    assert reasons(done) == {
        "2 plans wait already: raise SOUL_SCHEDULE_MAX",
        "there is no room for more pictures: raise SOUL_SENSES_MB",
    }


async def test_a_link_is_no_picture(passport: Path, clock: FakeClock, tmp_path: Path, two: Database) -> None:
    path = passport / "memory" / "senses" / digest_of(PICTURE)[:2] / f"{digest_of(PICTURE)}.jpg"
    path.unlink()
    (tmp_path / "elsewhere").write_bytes(PICTURE)
    path.symlink_to(tmp_path / "elsewhere")
    done = await bring(two, passport, clock)
    assert (len(done.refused), done.pictures) == (1, 0)
