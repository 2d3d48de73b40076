"""The library: which files of a folder are indexed, which never are, and what a query finds."""

import asyncio
import os
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daemon.core.errors import StoreError
from daemon.core.ports.library import IndexedFile, IndexedPassage, Passage
from daemon.core.words import likeness, terms_of, words_of
from daemon.memory.database import Database, open_database
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.knowledge.library import COMPARED, LibraryIndex
from daemon.tools import library as walking
from daemon.tools.library import (
    MOST_CHARACTERS,
    MOST_LINES,
    MOST_PASSAGES,
    SIZE_CAP,
    LibraryFile,
    cut,
    name_folders,
    read_text,
    walk,
)
from daemon.tools.library_folders import EVERY, FolderLibrary
from tests.fakes import TIMEOUT, Events, FakeClock
from tests.store.parts import look, poke

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n"


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def indexed(path: Path) -> set[object]:
    return {row[0] for row in look(path, "SELECT DISTINCT path FROM library_passages")}


# -- what is found ---------------------------------------------------------------------------------------------------


async def test_a_passage_is_cited_by_folder_path_line_and_read_on_there(docs: Path, library: FolderLibrary) -> None:
    (docs / "api").mkdir()
    (docs / "api" / "limits.md").write_text("\n\nThe rate limit is 50 a minute.\n", encoding="utf-8")
    await library.index()
    assert await library.search("what is the rate limit?", 5) == (
        Passage("docs/api/limits.md:3", "The rate limit is 50 a minute."),
    )
    text = "\n\n".join(f"# Part {number}\n\n{'clay ' * 250}" for number in range(4))
    (docs / "kilns.md").write_text(f"{text}\n\n# Heat\n\nkilns crack\n")
    await library.index()
    [found] = await library.search("kilns crack", 1)
    assert (found.document, found.source) == ("docs/kilns.md", f"docs/kilns.md:{found.line}")
    whole = await library.read_on("docs/kilns.md", 1, 99)
    assert whole[-1] == found
    assert await library.read_on("docs/kilns.md", found.line, 99) == (found,)
    assert len(await library.read_on("docs/kilns.md", 1, 2)) == 2
    for path, line in (("docs/kilns.md", 999), ("docs/absent.md", 1), ("docs/../kilns.md", 1), ("docs", 1), ("", 1)):
        assert await library.read_on(path, line, 9) == ()


async def test_folders_are_known_with_sizes_and_what_vanished_is_not_read(docs: Path, library: FolderLibrary) -> None:
    assert library.folders == {}
    for name in ("a", "b"):
        (docs / f"{name}.md").write_text(f"clay {name}")
    await library.index()
    assert library.folders == {"docs": 2}
    (docs / "a.md").unlink()
    assert await library.search("clay", 9) != ()
    assert await library.read_on("docs/a.md", 1, 9) == (), "although the index still holds it"
    await library.index()
    assert library.folders == {"docs": 1}


async def test_the_open_part_searches_counts_and_reads_its_own_folders_alone(
    tmp_path: Path, index: LibraryIndex, clock: FakeClock, events: Events
) -> None:
    words = [f"{letter * 4}word" for letter in "abcdefghijkl"]
    opened = [tmp_path / f"folder{number}" for number in range(60)]
    for folder in opened:
        folder.mkdir()
    write(opened[0], a="some of aaaaword")
    write(opened[59], a=" ".join(words[1:]))
    whole = FolderLibrary([], index, clock, events, open_to_all=opened)
    await whole.index()
    part = whole.open_part()
    assert part is not None
    assert [one.source for one in await part.search(" ".join(words), 5)] == ["folder59/a.md:1", "folder0/a.md:1"]
    for name in ("closed", "opened"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"clay {name}")
    both = FolderLibrary([tmp_path / "closed"], index, clock, events, open_to_all=[tmp_path / "opened"])
    await both.index()
    part = both.open_part()
    assert part is not None
    assert (both.folders, part.folders) == ({"closed": 1, "opened": 1}, {"opened": 1})
    assert await part.read_on("closed/a.md", 1, 9) == ()
    [one] = await part.read_on("opened/a.md", 1, 9)
    assert (one.text, one.members_only) == ("clay opened", False)


async def test_what_a_query_finds_and_in_which_order(docs: Path, library: FolderLibrary) -> None:
    write(docs, a="deploy on monday", b="deploy the gyroscope on friday", c="deploy never", d="this is how it is")
    write(docs, e="Limits apply", f="liver")
    write(docs, holidays="Twenty-eight days a year.", other="Twenty-eight days a year.")
    write(docs, long="\n".join(["falcon " * 20] * 400), short="a falcon is a bird among many other birds of prey")
    await library.index()

    async def found(query: str, limit: int = 10) -> list[str]:
        return [one.source for one in await library.search(query, limit)]

    by_words = await found("deploy gyroscope")
    assert by_words[0] == "docs/b.md:1", "more and rarer words come first"
    assert len(by_words) == 3
    falcons = await found("falcon")
    assert [source.partition(":")[0] for source in falcons].count("docs/long.md") == 2, "at most two of one file"
    assert "docs/short.md:1" in falcons
    assert [len(await found("deploy", limit)) for limit in (-1, 0, 1, 2, 9)] == [0, 0, 1, 2, 3]
    assert await found("LIMIT") == ["docs/e.md:1"], "a word finds its inflections"
    assert set(await found("is it how we deploy")) == {"docs/a.md:1", "docs/b.md:1", "docs/c.md:1"}
    assert await found("is it so?") == [], "words that say nothing find nothing"
    assert (await found("how about holidays"))[0] == "docs/holidays.md:1", "the name of a file finds it"


WORDS = ("alpha", "beta", "gamma", "delta", "NEAR", "AND", "or", "not", "body", "alphabet", "42", "x1")
BODIES = ("alpha beta", "gamma NEAR delta", "alphabet 42", "body or not", "x1 x1 beta", "AND", "nothing here")


def finds(body: str, query: str) -> bool:
    return any(likeness(term, word) > 0 for term in terms_of(query) for word in words_of(body))


QUERIES = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from((*WORDS, '"', "*", "^", "(", ")", ":", "-", "{", "}", "+", "\0", "_")), max_size=8).map(
        " ".join
    ),
)


def test_any_text_is_a_query_and_finds_what_plain_python_finds(path: Path, clock: FakeClock) -> None:
    with asyncio.Runner() as runner:
        opened = open_database(path, clock)
        index = LibraryIndex(runner.run(opened.__aenter__()), clock)
        files = [IndexedFile(f"f{number}", "1", (IndexedPassage(1, body),)) for number, body in enumerate(BODIES)]
        runner.run(index.put(files))

        @settings(max_examples=60, deadline=None)
        @given(query=QUERIES)
        def finds_the_same(query: str) -> None:
            found = {one.text for one in runner.run(index.search(query, 100))}
            assert found == {body for number, body in enumerate(BODIES) if finds(f"f{number} {body}", query)}

        finds_the_same()
        runner.run(opened.__aexit__(None, None, None))


# -- keeping up ------------------------------------------------------------------------------------------------------


async def test_the_index_follows_changes_in_the_folder(path: Path, docs: Path, library: FolderLibrary) -> None:
    write(docs, keep="an aardvark", change="a baboon", lose="a coati")
    first = await library.index()
    assert (first.files, first.changed, first.removed) == (3, 3, 0)
    write(docs, change="a dormouse, which is longer", fresh="an ermine")
    (docs / "lose.md").unlink()
    (docs / "binary.bin").write_bytes(b"\0\1\2")
    second = await library.index()
    assert (second.files, second.changed, second.removed) == (4, 3, 1)
    sources = {word: [one.source for one in await library.search(word, 5)] for word in ("baboon", "coati", "dormouse")}
    assert sources == {"baboon": [], "coati": [], "dormouse": ["docs/change.md:1"]}
    poke(path, "INSERT INTO library_index (library_index, rank) VALUES ('integrity-check', 1)")
    assert (await library.index()).changed == 0, "an unchanged file is not read again"


async def test_many_and_long_files_are_written_in_several_transactions(docs: Path, library: FolderLibrary) -> None:
    write(docs, **{f"n{number}": f"heron {number}" for number in range(230)})
    write(docs, long="\n".join(f"ibis {number}" for number in range(12_000)))
    tally = await library.index()
    assert tally.files == 231
    assert tally.passages == 230 + 300
    assert len(await library.search("heron", 500)) == COMPARED
    for name in (*(f"n{number}" for number in range(230)), "long"):
        (docs / f"{name}.md").unlink()
    assert (await library.index()).removed == 231
    assert await library.search("heron ibis", 5) == ()


class FailsOnce(LibraryIndex):
    failing = True

    async def put(self, files: Sequence[IndexedFile]) -> None:
        if self.failing:
            self.failing = False
            raise StoreError("busy")
        await super().put(files)


async def test_the_folder_is_indexed_every_few_minutes_also_what_a_busy_store_missed(
    docs: Path, database: Database, events: Events
) -> None:
    clock = FakeClock()
    library = FolderLibrary((docs,), FailsOnce(database, clock), clock, events)
    write(docs, a="first light")
    keeping = asyncio.ensure_future(library.keep_indexed())
    await clock.sleepers()
    assert events.names == ["library.index_stale"]
    await clock.advance(EVERY)
    await clock.sleepers()
    assert await library.search("light", 5)
    write(docs, b="second sight")
    await clock.advance(EVERY)
    await clock.sleepers()
    assert await library.search("sight", 5)
    await clock.advance(EVERY)
    await clock.sleepers()
    keeping.cancel()
    assert events.names == ["library.index_stale", "library.indexed", "library.indexed"]
    assert events.emitted[2][1] == {"files": 2, "changed": 1, "removed": 0, "passages": 1}


async def test_without_folders_the_index_is_emptied_and_the_task_ends(
    docs: Path, library: FolderLibrary, index: LibraryIndex, path: Path
) -> None:
    write(docs, a="a trace")
    await library.index()
    none = FolderLibrary((), index, FakeClock(), Events())
    assert await none.search("trace", 5) == ()
    await none.keep_indexed()
    assert look(path, "SELECT count(*) FROM library_files") == [(0,)]


async def test_a_missing_folder_is_reported_once_and_too_many_files_are_refused(
    *,
    tmp_path: Path,
    docs: Path,
    index: LibraryIndex,
    clock: FakeClock,
    events: Events,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(docs, a="heron")
    library = FolderLibrary((tmp_path / "gone", docs), index, clock, events)
    await library.index()
    await library.index()
    assert events.emitted == [("library.folder_missing", {"folder": "gone"})]
    assert await library.search("heron", 1)
    monkeypatch.setattr(walking, "MOST_FILES", 3)
    write(docs, b="x", c="x", d="x", e="x")
    assert (await library.index()).files == 3
    assert events.names == ["library.folder_missing"] * 2 + ["library.files_refused"], "once for each change"


# -- what never gets in ----------------------------------------------------------------------------------------------


async def test_only_text_files_within_a_size_are_indexed(path: Path, docs: Path, library: FolderLibrary) -> None:
    good = "a secret word"
    write(docs, good=good, empty="")
    (docs / "bom.md").write_bytes(b"\xef\xbb\xbf" + good.encode())
    (docs / "largest.md").write_text(good.ljust(SIZE_CAP), encoding="utf-8")
    (docs / "larger.md").write_text(good.ljust(SIZE_CAP + 1), encoding="utf-8")
    (docs / "latin.md").write_bytes("ein geheimes W\u00f6rtchen".encode("latin-1"))
    (docs / "binary.md").write_bytes(good.encode() + b"\0")
    (docs / "id_rsa").write_text(good + KEY, encoding="utf-8")
    for name in ("memory.db", "memory.db-wal", "notes.sqlite3", "old.SQLITE", "memory.db.20260101"):
        (docs / name).write_text(good, encoding="utf-8")
    (docs / ".env").write_text(good, encoding="utf-8")
    for folder in (".git", "node_modules", "__pycache__"):
        (docs / folder).mkdir()
        (docs / folder / "a.md").write_text(good, encoding="utf-8")
    (docs / "line\nbreak.md").write_text(good, encoding="utf-8")
    (docs / "back\u202ewards.md").write_text(good, encoding="utf-8")
    (docs / os.fsdecode(b"\xff.md")).write_text(good, encoding="utf-8")
    await library.index()
    assert indexed(path) == {"docs/good.md", "docs/bom.md", "docs/largest.md", "docs/latin.md"}


async def test_files_for_keys_are_passed_over_and_keys_leave_others(docs: Path, library: FolderLibrary) -> None:
    for name in ("deploy.env", "credentials", "credentials.json", "secrets.yaml", "server.key", "ca.pem", "id_ed25519"):
        (docs / name).write_text("quagga is the word of the keys")
    (docs / "notes.md").write_text("quagga: the bot's token is xoxb-1234567890-abcdefghij, keep it")
    await library.index()
    found = await library.search("quagga", 9)
    assert [passage.source for passage in found] == [f"{docs.name}/notes.md:1"]
    assert "abcdefghij" not in found[0].text


async def test_files_outside_the_folder_and_special_files_are_never_opened(
    tmp_path: Path, path: Path, docs: Path, library: FolderLibrary
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("salamander", encoding="utf-8")
    (docs / "file.md").symlink_to(outside / "secret.md")
    (docs / "folder").symlink_to(outside)
    (docs / "circle").symlink_to(docs)
    (docs / "dangling").symlink_to(tmp_path / "nothing")
    (docs / "device").symlink_to("/dev/zero")
    os.mkfifo(docs / "pipe.md")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(docs / "socket"))
        write(docs, inside="a newt")
        await asyncio.wait_for(library.index(), TIMEOUT)
    assert indexed(path) == {"docs/inside.md"}


def test_a_file_that_becomes_a_link_or_a_pipe_or_grows_during_the_walk_is_not_read(tmp_path: Path, docs: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "a.md").write_text("salamander", encoding="utf-8")
    (docs / "sub").mkdir()
    write(docs / "sub", a="newt")
    write(docs, b="newt")
    nested, plain = sorted(walk({"docs": docs}).files, key=lambda found: -len(found.inside))
    assert (read_text(nested), read_text(plain)) == (("newt", ""), ("newt", ""))
    (docs / "sub" / "a.md").unlink()
    (docs / "sub").rmdir()
    (docs / "sub").symlink_to(outside)
    (docs / "b.md").unlink()
    (docs / "b.md").symlink_to(outside / "a.md")
    assert (read_text(nested), read_text(plain)) == (None, None)
    os.mkfifo(docs / "pipe.md")
    (docs / "grown.md").write_text("a" * (SIZE_CAP + 1), encoding="utf-8")
    assert [read_text(LibraryFile("x", "1:1", docs, (name,))) for name in ("pipe.md", "grown.md", "gone.md")] == [
        None
    ] * 3


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_folder_is_skipped(docs: Path) -> None:
    (docs / "locked").mkdir()
    write(docs / "locked", b="closed")
    write(docs, a="open")
    (docs / "locked").chmod(0)
    assert [found.path for found in walk({"docs": docs}).files] == ["docs/a.md"]


def test_the_walk_leaves_no_file_handle_open_and_stops_at_a_maximum_depth(docs: Path) -> None:
    (docs / "sub").mkdir()
    write(docs / "sub", a="text")
    before = len(list(Path("/dev/fd").iterdir()))
    found = walk({"docs": docs, "gone": docs / "gone"}).files
    assert [read_text(one) for one in found] == [("text", "")]
    assert read_text(LibraryFile("x", "1:1", docs, ("no", "such", "file"))) is None
    assert len(list(Path("/dev/fd").iterdir())) == before
    deep = docs
    for _ in range(40):
        deep /= "d"
        deep.mkdir()
        write(deep, a="down here")
    assert len(walk({"docs": docs}).files) == 24


def test_folders_of_the_same_name_are_numbered_and_the_same_folder_counts_once(tmp_path: Path) -> None:
    one, two = tmp_path / "a" / "docs", tmp_path / "b" / "docs"
    for folder in (one, two):
        folder.mkdir(parents=True)
    (tmp_path / "link").symlink_to(two)
    assert name_folders((one, two, one, tmp_path / "link", Path("/"))) == {
        "docs": one,
        "docs-2": two,
        "docs-3": tmp_path / "link",
        "root": Path("/"),
    }


# -- passages --------------------------------------------------------------------------------------------------------


@given(
    st.text(alphabet=st.sampled_from("ab \n\n\t#é\r\x0c"), max_size=3000)
    | st.lists(st.sampled_from(("def f():", "x" * 400, "", "word", "y" * 4000)), max_size=120).map("\n".join)
)
@settings(max_examples=200, deadline=None)
def test_every_line_is_in_one_passage_under_its_number(text: str) -> None:
    lines = text.split("\n")
    rebuilt: dict[int, str] = {}
    for passage in cut(text):
        assert passage.body.strip()
        assert len(passage.body) <= MOST_CHARACTERS
        assert passage.body.count("\n") < MOST_LINES
        for number, line in enumerate(passage.body.split("\n"), start=passage.line):
            rebuilt[number] = rebuilt.get(number, "") + line
    assert {number: line for number, line in rebuilt.items() if line} == {
        number: line.rstrip() for number, line in enumerate(lines, start=1) if line.strip()
    }


def test_passages_end_where_paragraphs_and_functions_do_and_at_a_length_and_a_huge_file_is_truncated() -> None:
    paragraph, function = "\n".join(["some words"] * 24), "\n".join(["def go():", *["    step()"] * 24])
    assert [passage.line for passage in cut(f"{paragraph}\n\n{function}\n{function}")] == [1, 26, 51]
    assert [passage.line for passage in cut("\n".join(["    x"] * 100))] == [1, 41, 81]
    assert len(cut("a\n" * 200_000)) == MOST_PASSAGES


async def test_a_damaged_store_raises_a_store_error(path: Path, library: FolderLibrary, docs: Path) -> None:
    write(docs, a="owl")
    await library.index()
    poke(path, "DROP TABLE library_index")
    with pytest.raises(StoreError) as raised:
        await library.search("owl", 1)
    assert isinstance(raised.value.__cause__, sqlite3.Error)
