"""A passport holds every memory as a file: lossless both ways, byte for byte, and a hostile one harms nothing."""

import asyncio
import json
import os
from pathlib import Path
from shutil import copytree, rmtree
from tempfile import mkdtemp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from daemon.core.errors import StoreError
from daemon.memory.database import Database, open_database
from daemon.memory.knowledge.records.forget import forget
from daemon.memory.knowledge.records.kinds import Episode, Fact, Record, Sense, Trust
from daemon.memory.knowledge.records.ledger import broken_at
from daemon.memory.knowledge.records.links import links_from
from daemon.memory.knowledge.records.store import get, put, select
from daemon.memory.knowledge.turn_index import reword_turns
from daemon.memory.mirror_folders import MANIFEST
from daemon.memory.passport.entries import Owner
from daemon.memory.passport.exporting import export_passport
from daemon.memory.passport.importing import Imported, import_passport
from daemon.memory.passport.verifying import verify_passport
from daemon.memory.people.tombstones import tombstone_of
from daemon.memory.records import Turn
from tests.fakes import FakeClock
from tests.store.passport_page import page
from tests.store.passports import (
    BEES,
    DAY,
    EPISODE,
    HERE,
    MADE,
    SAID,
    SENSE,
    bytes_in,
    records,
    remember,
    summarize,
    turns,
    words,
    write,
)

OWNER = Owner("minoan", "T1")


async def bring(database: Database, folder: Path) -> Imported:
    return await import_passport(database, folder, OWNER, FakeClock(auto=True))


@settings(max_examples=6)
@given(
    st.lists(turns, max_size=4),
    st.lists(records, max_size=6),
    st.none() | st.tuples(words, st.integers(-5, 1), st.integers(1, 99)),
)
def test_what_is_written_and_brought_elsewhere_is_written_there_byte_for_byte(
    said: list[Turn], made: list[Record], summary: tuple[str, int, int] | None
) -> None:
    folder = Path(mkdtemp())

    async def both() -> None:
        async with open_database(folder / "one.db", FakeClock(auto=True)) as one:
            await one.write(lambda transaction: remember(transaction, said, made))
            if summary is not None:
                await one.write(lambda transaction: summarize(transaction, *summary))
            await export_passport(one, folder / "first")
            before = bytes_in(folder / "first")
            assert (await export_passport(one, folder / "first")).written == 0
        async with open_database(folder / "two.db", FakeClock(auto=True)) as two:
            done = await bring(two, folder / "first")
            assert (done.refused, done.stored) == ((), 1 + len(said) + len(made) + (summary is not None))
            await export_passport(two, folder / "second")
            assert await broken_at(two) is None
            assert (await bring(two, folder / "first")).unchanged == done.stored
        assert bytes_in(folder / "second") == before

    try:
        asyncio.run(both())
    finally:
        rmtree(folder)


async def test_the_samples_of_the_seed_load_and_lose_nothing(database: Database, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", EP_001={**EPISODE, "moon": {"phase": 0.5}}, SMEM_001=SENSE)
    found = await verify_passport(folder, FakeClock(auto=True))
    assert (found.records, found.refused, found.lossless, found.chain) == (2, (), True, None)

    await bring(database, folder)

    episode, sense = [await database.read(lambda t, one=one: get(t, one)) for one in ("EP_001", "SMEM_001")]  # type: ignore[misc]
    assert isinstance(episode, Episode)
    assert isinstance(sense, Sense)
    assert (episode.situation.location_context, episode.workflow.pending_items[1]) == ("mobile_ssh", "Commit changes")
    assert episode.extra == {"moon": {"phase": 0.5}, "turn_refs": ["TU_001", "TL_001"]}
    assert (sense.qualia.intensity, str(sense.audience)) == (0.8, "operator:passport")
    assert [one.target for one in await database.read(lambda t: links_from(t, "SMEM_001"))] == ["EP_001"]
    await export_passport(database, tmp_path / "out")
    again = await verify_passport(tmp_path / "out", FakeClock(auto=True))
    assert (again.records, again.lossless, again.chain) == (2, True, True)


async def test_turns_of_another_house_keep_their_ids_and_their_links(database: Database, tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in",
        a={"turn_id": "TU_001", "speaker": "user", "text_excerpt": "Hello", "created_at": "2026-01-28T10:00:00"},
        b={"turn_id": "TL_001", "speaker": "llm", "text_excerpt": "Hi", "created_at": "2026-01-28T10:00:00"},
        c=EPISODE,
    )
    done = await bring(database, folder)
    assert (done.stored, done.refused) == (3, ())
    assert (await bring(database, folder)).unchanged == 3
    await export_passport(database, tmp_path / "out")
    files = bytes_in(tmp_path / "out")
    assert json.loads(files["memory/turns/user/2026/01/TU_001.json"])["created_at"] == "2026-01-28T10:00:00.000Z"
    assert json.loads(files["memory/turns/llm/2026/01/TL_001.json"])["episode_id"] == "EP_001"


HOSTILE: tuple[tuple[object, str], ...] = (
    ({"episode_id": "../../../etc/passwd"}, "its id is none of its kind"),
    ({"episode_id": "EP_20260128_001/../../x"}, "its id is none of its kind"),
    ({"episode_id": "EP_1\n"}, "its id is none of its kind"),
    ({"episode_id": 5}, "its id is none of its kind"),
    ({"episode_id": "EP_1", "tags": "one"}, "tags"),
    ({"episode_id": "EP_2", "summary": None}, "summary"),
    ({"type": "virus", "episode_id": "EP_3"}, "a type that no memory has"),
    ({"hello": 1}, "neither a type nor an id"),
    ([], "no JSON object"),
    ("{", "no JSON"),
    ('{"episode_id": "EP_4", "episode_id": "EP_5"}', "stands there twice"),
    ('{"episode_id": "EP_6", "x": NaN}', "a number is none"),
    ('{"episode_id": "EP_7", "x": "\\ud800"}', "can't be stored"),
    ('{"episode_id": "EP_8", "x": ' + "[" * 5_000 + "]" * 5_000 + "}", "too deep"),
    ('{"episode_id": "EP_10", "x": "' + "a" * 3_000_000 + '"}', "larger than"),
    ({"episode_id": "EP_11", "created_at": "yesterday"}, "names no moment"),
    ({"episode_id": "EP_15", "created_at": 5}, "names no moment"),
    ({"episode_id": "EP_16", "soul_daemon": {"significance": 11}}, "CHECK constraint failed"),
    ({"episode_id": "EP_17", "soul_daemon": {"significance": "5"}}, "soul_daemon.significance: it should be"),
    ({"episode_id": "EP_12", "created_at": "0001-01-01T00:00:00+23:59"}, "too long ago"),
    ({"episode_id": "EP_13", "soul_daemon": {"audience": "everybody"}}, "everybody"),
    ({"episode_id": "EP_14", "soul_daemon": {"audience": "workspace:T2", "workspace": "T1"}}, "another workspace"),
    ({"subject": "a", "predicate": "b", "object": "c", "soul_daemon": {"trust": "own"}}, "no quotation proves it"),
)


async def test_a_hostile_file_is_refused_by_name_and_the_rest_is_loaded(database: Database, tmp_path: Path) -> None:
    bad = {f"bad{number}": content for number, (content, _) in enumerate(HOSTILE)}
    done = await bring(database, write(tmp_path / "in", good=SENSE, **bad))
    assert done.stored == 1
    refused = {one.path: one.reason for one in done.refused}
    assert set(refused) == {f"{name}.json" for name in bad}
    for name, (content, reason) in zip(bad, HOSTILE, strict=True):
        assert reason in refused[f"{name}.json"], str(content)[:80]


async def test_links_pipes_and_folders_without_end_are_not_followed(database: Database, tmp_path: Path) -> None:
    folder = write(tmp_path / "in", good=SENSE)
    (folder / "link.json").symlink_to("/etc/passwd")
    (folder / "away").symlink_to("/")
    os.mkfifo(folder / "pipe.json")
    write(folder / "/".join("abcdefghij"), deep=EPISODE)
    done = await bring(database, folder)
    assert done.stored == 1
    assert {one.path: one.reason for one in done.refused} == {
        "link.json": "it is a link",
        "away": "it is a link",
        "pipe.json": "it is no plain file",
        "a/b/c/d/e/f/g/h/i": "it lies too deep",
    }


async def test_what_rests_on_a_refused_file_is_refused_in_any_order_and_in_a_circle(
    database: Database, tmp_path: Path
) -> None:
    def on(*targets: str, **ours: object) -> dict[str, object]:
        return {"soul_daemon": {"links": [{"relation": "sources", "target": one} for one in targets], **ours}}

    folder = write(
        tmp_path / "in",
        bad={"type": "journal", "journal_id": "JN_9", **on(trust="god")},
        on_bad={"type": "journal", "journal_id": "JN_1", **on("JN_9")},
        on_that={"type": "core", "core_id": "core_1", **on("JN_1", "EP_1")},
        good={"episode_id": "EP_1", **on()},
        there={"type": "journal", "journal_id": "JN_3", **on("JN_4")},
        back={"type": "journal", "journal_id": "JN_4", **on("JN_3")},
    )
    assert {one.path: one.reason.partition(":")[0] for one in (await bring(database, folder)).refused} == {
        "bad.json": "it is no journal",
        "on_bad.json": "it rests on JN_9, which is not there",
        "on_that.json": "it rests on JN_1, which is not there",
        "there.json": "it rests on JN_4, which is not there",
        "back.json": "it rests on JN_3, which is not there",
    }
    assert [row["id"] for row in await database.rows("SELECT id FROM records")] == ["EP_1"]


async def test_a_quotation_has_to_stand_in_the_words_of_its_claimant_and_no_more_people_hear_of_it(
    database: Database, tmp_path: Path
) -> None:
    await database.write(lambda transaction: remember(transaction, [], []))
    everybody = {"soul": "minoan", "workspace": "T1", "audience": "workspace:T1"}

    def proposed(quote: str, by: str = "U1", target: str = "TU_7") -> object:
        link = {"relation": "evidence", "target": target, "quote": quote}
        ours = {"trust": "own", "person": "U1", "claimed_by": by, "links": [link]}
        return {"subject": quote, "predicate": by, "object": target, "soul_daemon": ours}

    folder = write(
        tmp_path / "in",
        turn={"turn_id": "TU_7", "user_id": "U1", "text_excerpt": SAID},
        true=proposed("keep BEES on the  roof"),
        forged=proposed("I hate everybody"),
        others=proposed("keep bees on the roof", by="U2"),
        nowhere=proposed("keep bees on the roof", target="TU_8"),
        wide={"episode_id": "EP_1", "turn_refs": ["TU_1"], "soul_daemon": everybody},
    )
    done = await bring(database, folder)
    assert done.stored == 2
    assert {one.path: one.reason for one in done.refused} == {
        "wide.json": "EP_1 would be heard by more people than TU_1",
        "forged.json": "its quotation does not stand in TU_7",
        "others.json": "no quotation proves it",
        "nowhere.json": "it rests on TU_8, which is not there",
    }


async def test_what_is_here_is_never_changed_and_none_forgotten_comes_back(database: Database, tmp_path: Path) -> None:
    fact = replace(BEES, trust=Trust.NOTED, claimed_by="")
    stored = await database.write(lambda transaction: put(transaction, fact, DAY))
    await export_passport(database, tmp_path / "out")
    [path] = (tmp_path / "out").rglob("sem_*.json")
    path.write_bytes(path.read_bytes().replace(b'"bees"', b'"wasps"'))
    [refused] = (await bring(database, tmp_path / "out")).refused
    assert refused.reason == "it is here already and says something else"

    await database.write(lambda transaction: forget(transaction, [stored.id], DAY, "asked"))
    [refused] = (await bring(database, tmp_path / "out")).refused
    assert refused.reason == "it was forgotten here"
    assert await database.read(lambda transaction: select(transaction, Fact, "1 = 1")) == []
    stone = tombstone_of("T1", "U1", DAY, DAY)
    await database.run(
        "INSERT INTO tombstones (id, workspace, salt, digest, state, asked_ms, forgotten_ms)"
        " VALUES (:id, 'T1', :salt, :digest, 'done', 0, :forgotten_ms)",
        id=stone.id,
        salt=stone.salt,
        digest=stone.digest,
        forgotten_ms=stone.forgotten_ms,
    )
    said = {"turn_id": "TU_7", "user_id": "U1", "text_excerpt": SAID, "created_at": "2026-01-20T00:00:00Z"}
    later = {**said, "turn_id": "TU_8", "created_at": "2026-02-20T00:00:00Z"}
    done = await bring(database, write(tmp_path / "in", before=said, later=later))
    assert (done.stored, [one.reason for one in done.refused]) == (1, ["its person asked to be forgotten"])


async def test_unknown_fields_of_what_is_no_record_are_left_out_and_counted(database: Database, tmp_path: Path) -> None:
    await database.write(lambda transaction: remember(transaction, [], []))
    await database.write(lambda transaction: summarize(transaction, "They spoke.", 1, 3))
    await export_passport(database, tmp_path / "out")
    ours = _session(tmp_path / "out")
    foreign = {**ours, "mood": {"of": "the room", "at": "noon"}, "seal\n": ""}
    said = {"turn_id": "TU_900", "text_excerpt": "the red kiln", "translation": "der rote Ofen", "episode_id": "EP_9"}
    await database.run("DELETE FROM working_memory")
    folder = write(tmp_path / "in", session=foreign, said={**said, "created_at": "2026-01-28T10:00:00"}, visit=EPISODE)
    done = await bring(database, folder)
    assert (done.stored, done.refused, done.left_out) == (3, (), 5)
    assert set(done.fields) == {"mood.of", "mood.at", "seal", "translation", "episode_id"}
    again = await bring(database, folder)
    assert (again.stored, again.unchanged, again.refused, again.left_out) == (0, 3, (), 0)
    await export_passport(database, tmp_path / "out")
    assert _session(tmp_path / "out") == ours
    found = await verify_passport(folder, FakeClock(auto=True))
    assert (found.refused, found.lossless, len(found.lost)) == ((), False, 2)


def _session(folder: Path) -> dict[str, object]:
    [file] = (folder / "memory" / "session").iterdir()
    found: dict[str, object] = json.loads(file.read_text())
    return found


async def test_unknown_fields_go_with_the_words_that_they_belong_to(database: Database, tmp_path: Path) -> None:
    said = {"turn_id": "TU_900", "user_id": "U9", "text_excerpt": "the red kiln", "translation": "der rote Ofen"}
    more = {"turn_id": "TU_901", "user_id": "U9", "text_excerpt": "it smokes"}
    visit = {**EPISODE, "turn_refs": ["TU_900", "TU_901"], "transcript": "the red kiln"}
    await bring(database, write(tmp_path / "in", TU_900=said, TU_901=more, EP_001=visit))
    await database.write(lambda transaction: reword_turns(transaction, "minoan/T1/passport/", "", "a blue kiln", DAY))
    await database.write(lambda transaction: forget(transaction, ["TU_900"], DAY, "edited"))
    await export_passport(database, tmp_path / "out")
    everything = b"".join(bytes_in(tmp_path / "out").values()).decode()
    assert "blue kiln" in everything
    assert "red kiln" not in everything
    assert "Ofen" not in everything


async def test_an_id_that_a_passport_brought_is_never_given_again(database: Database, tmp_path: Path) -> None:
    await bring(
        database, write(tmp_path / "in", a={"episode_id": "EP_20260128_007", "created_at": "2026-01-28T10:00:00Z"})
    )
    episode = Episode(soul="s", workspace="T1", audience=HERE, channel="", text="", at_ms=DAY, trust=Trust.INFERRED)
    assert (await database.write(lambda transaction: put(transaction, episode, DAY))).id == "EP_20260128_008"


async def test_a_changed_missing_or_added_file_shows(database: Database, tmp_path: Path) -> None:
    def change(path: Path) -> None:
        path.write_bytes(path.read_bytes().replace(b"approved", b"rejected"))

    def add(path: Path) -> None:
        write(path.parent, EP_002={**EPISODE, "episode_id": "EP_002"})

    def forge(path: Path) -> None:
        (path.parents[4] / MANIFEST).write_text("{}")

    await bring(database, write(tmp_path / "in", a=EPISODE, b=SENSE))
    await export_passport(database, tmp_path / "out")
    for harm in (change, Path.unlink, add, forge):
        copy = copytree(tmp_path / "out", tmp_path / harm.__name__)
        [path] = copy.rglob("EP_001.json")
        assert (copy / MANIFEST).exists()
        harm(path)
        assert (await verify_passport(copy, FakeClock(auto=True))).chain is False, harm


async def test_a_row_that_is_no_memory_keeps_no_other_from_being_written_and_other_files_are_left_alone(
    database: Database, tmp_path: Path
) -> None:
    await database.write(lambda transaction: remember(transaction, [], MADE))
    await database.run("UPDATE records SET at_ms = -1, audience = 'nobody' WHERE kind = 'journal'")
    await database.run("UPDATE records SET at_ms = 900000000000000000 WHERE kind = 'sense'")
    done = await export_passport(database, tmp_path / "out")
    assert (done.records, [name.partition("_")[0] for name in done.failed]) == (3, ["SMEM", "JN"])
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(StoreError, match="holds other files"):
        await export_passport(database, tmp_path / "mine")
    assert bytes_in(tmp_path / "mine") == {"letter.txt": b"dear"}


async def test_what_is_gone_goes_from_a_passport_that_is_brought_up_to_date(database: Database, tmp_path: Path) -> None:
    await bring(database, write(tmp_path / "in", a=EPISODE, b=SENSE))
    await export_passport(database, tmp_path / "out")
    await database.write(lambda transaction: forget(transaction, ["SMEM_001"], DAY, "asked"))
    done = await export_passport(database, tmp_path / "out")
    assert (done.records, done.removed) == (1, 1)
    assert not list((tmp_path / "out").rglob("SMEM_*"))


def test_the_published_fields_are_those_that_are_declared() -> None:
    published = Path(__file__).parents[2] / "docs" / "passport" / "README.md"
    assert published.read_text(encoding="utf-8") == page(), (
        "python -m tests.store.passport_page docs/passport/README.md"
    )


async def test_a_summary_that_claims_to_cover_later_turns_hides_none(database: Database, tmp_path: Path) -> None:
    await database.write(lambda transaction: remember(transaction, [], MADE))
    await database.write(lambda transaction: summarize(transaction, "They spoke", 1, 1))
    await export_passport(database, tmp_path / "first")
    [file] = (tmp_path / "first").rglob("SESS_*.json")
    content = json.loads(file.read_text())
    for up_to, expected in ((2**50, (0, [1])), (10**30, (1, []))):
        content["soul_daemon"]["summarized_to"] = up_to
        file.write_text(json.dumps(content))
        async with open_database(tmp_path / f"{up_to}.db", FakeClock(auto=True)) as two:
            done = await bring(two, tmp_path / "first")
            covered = [row["summarized_to"] for row in await two.rows("SELECT summarized_to FROM working_memory")]
            assert (len(done.refused), covered) == expected
            assert (await bring(two, tmp_path / "first")).unchanged == done.stored
        verified = await verify_passport(tmp_path / "first", FakeClock(auto=True))
        assert len(verified.refused) == len(done.refused), up_to


async def test_a_memory_whose_file_names_no_place_opens_no_conversation(database: Database, tmp_path: Path) -> None:
    await database.write(lambda transaction: remember(transaction, [], MADE))
    await export_passport(database, tmp_path / "first")
    for file in (tmp_path / "first").rglob("EP_*.json"):
        content = json.loads(file.read_text())
        content["soul_daemon"]["place"] = ""  # as files from before schema 17 have it
        file.write_text(json.dumps(content))
    for file in [*(tmp_path / "first").rglob("SMEM_*.json"), *(tmp_path / "first").rglob("JR_*.json")]:
        file.unlink()
    async with open_database(tmp_path / "two.db", FakeClock(auto=True)) as two:
        await bring(two, tmp_path / "first")
        assert await two.rows("SELECT 1 FROM records WHERE kind = 'episode'")
        assert await two.rows("SELECT 1 FROM conversations WHERE place = 'terminal'") == []
