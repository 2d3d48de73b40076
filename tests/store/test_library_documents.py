"""Documents in the library: how they are cited, what is said of those that can't be read, how indexing goes on."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from daemon.core.errors import StoreError
from daemon.core.ports.library import IndexedFile, IndexedPassage
from daemon.memory.database import Database, Transaction
from daemon.memory.knowledge.library import SLICE, LibraryIndex
from daemon.tools import library_folders as folders
from daemon.tools.documents import reader
from daemon.tools.library import MOST_PASSAGES
from daemon.tools.library_folders import EVERY, FolderLibrary
from tests.fakes import Events, FakeClock
from tests.store.parts import look
from tests.tools.documents import made


async def sources(library: FolderLibrary, query: str) -> list[str]:
    return [one.source for one in await library.search(query, 9)]


async def test_a_passage_of_a_document_is_cited_by_its_place(docs: Path, library: FolderLibrary) -> None:
    (docs / "report.pdf").write_bytes(made.REPORT)
    (docs / "list.csv").write_bytes("Ort;Menge\nZürich;4\n".encode("cp1252"))
    counts = await library.index()
    assert (counts.files, counts.changed, counts.left) == (2, 2, 0)
    assert await sources(library, "kiln cracks") == ["docs/report.pdf, page 2"]
    assert await sources(library, "menge") == ["docs/list.csv, rows 1-2"]


async def test_a_fault_is_reported_once_alone(path: Path, docs: Path, library: FolderLibrary, events: Events) -> None:
    (docs / "a.pdf").write_bytes(made.protected_pdf("RC4-128"))
    (docs / "b.docx").write_bytes(b"MZ\0")
    (docs / "c.pdf").write_bytes(made.REPORT)
    (docs / "d.xlsx").write_bytes(b"")
    (docs / "e.doc").write_bytes(b"\xd0\xcf\x11\xe0\0")
    for _ in range(2):
        await library.index()
    reported = {str(fields["path"]): str(fields["reason"]) for _, fields in events.emitted}
    assert events.names == ["library.file_refused"] * 4
    assert reported["docs/a.pdf"] == "it is protected by a password (save a copy of it without a password)"
    assert reported["docs/b.docx"].startswith("it is no Word document, but begins like a Windows program")
    assert reported["docs/d.xlsx"].startswith("it is empty")
    assert reported["docs/e.doc"] == "documents of its format are not read (save it as .docx)"
    assert await sources(library, "kiln cracks") == ["docs/c.pdf, page 2"]
    rows = look(path, "SELECT path, fault FROM library_files WHERE fault <> ''")
    assert {row[0]: row[1] for row in rows} == reported
    (docs / "a.pdf").write_bytes(made.pdf("now it is open"))
    await library.index()
    assert len(events.emitted) == 4
    assert await sources(library, "open") == ["docs/a.pdf, page 1"]


async def test_what_is_left_out_of_a_document_is_reported_and_the_rest_is_searched(
    docs: Path, library: FolderLibrary, events: Events, path: Path
) -> None:
    (docs / "long.csv").write_text("".join(f"{number},{'heron ' * 300}\n" for number in range(1_500)))
    await library.index()
    [(event, fields)] = events.emitted
    assert event == "library.file_shortened"
    assert "its text is long: it is read to row " in str(fields["reason"])
    assert await sources(library, "heron")
    (docs / "long.docx").write_bytes(made.word(*(f"# Heading {number}" for number in range(MOST_PASSAGES + 9))))
    (docs / "long.csv").unlink()
    await library.index()
    _, (_, fields) = events.emitted
    assert fields["reason"] == "it is long: it is searched to section Heading 1999"
    assert look(path, "SELECT count(*) FROM library_passages") == [(MOST_PASSAGES,)]


async def test_keys_in_documents_are_removed_and_private_keys_keep_a_document_out(
    docs: Path, library: FolderLibrary, events: Events
) -> None:
    (docs / "notes.docx").write_bytes(made.word("quagga: the token is xoxb-1234567890-abcdefghij"))
    (docs / "key.csv").write_text("quagga\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n")
    await library.index()
    [found] = await library.search("quagga", 9)
    assert found.source == "docs/notes.docx, paragraph 1"
    assert "abcdefghij" not in found.text
    assert [(fields["path"], fields["reason"]) for _, fields in events.emitted] == [
        ("docs/key.csv", "it holds a private key (take the key out)")
    ]


async def test_links_hidden_files_and_marks_of_office_programs_are_passed_over(
    path: Path, tmp_path: Path, docs: Path, library: FolderLibrary
) -> None:
    (tmp_path / "outside.pdf").write_bytes(made.REPORT)
    (docs / "link.pdf").symlink_to(tmp_path / "outside.pdf")
    (docs / ".hidden.pdf").write_bytes(made.REPORT)
    (docs / "~$plan.docx").write_bytes(b"Ada")
    os.mkfifo(docs / "pipe.pdf")
    assert (await library.index()).files == 0
    assert look(path, "SELECT count(*) FROM library_files") == [(0,)]


async def test_texts_come_before_documents_and_a_round_reads_some_of_them(
    docs: Path, index: LibraryIndex, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "_DOCUMENTS", 1)
    clock = FakeClock()
    library = FolderLibrary((docs,), index, clock, events)
    for number in range(2):
        (docs / f"{number}.csv").write_text(f"egret {number}")
    (docs / "z.md").write_text("egret")
    keeping = asyncio.ensure_future(library.keep_indexed())
    await clock.sleepers()
    keeping.cancel()
    rounds = [fields["changed"] for event, fields in events.emitted if event == "library.indexed"]
    assert rounds == [2, 1]
    assert clock.slept == [EVERY]
    assert len(await sources(library, "egret")) == 3


async def test_indexing_that_is_cut_off_goes_on_where_it_stopped(
    docs: Path, library: FolderLibrary, index: LibraryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (docs / f"{name}.csv").write_text(f"egret {name}")
    put, puts = index.put, []

    async def fails_later(files: object) -> None:
        puts.append(files)
        if len(puts) == 2:
            raise StoreError("busy")
        await put(files)  # type: ignore[arg-type]

    monkeypatch.setattr(index, "put", fails_later)
    with pytest.raises(StoreError):
        await library.index()
    assert await sources(library, "egret") == ["docs/a.csv, row 1"]
    assert (await library.index()).changed == 2


async def test_a_document_is_read_while_others_write(
    docs: Path, library: FolderLibrary, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    (docs / "a.pdf").write_bytes(made.REPORT)
    monkeypatch.setattr(reader, "_BEGIN", "import signal; signal.pause()")
    indexing = asyncio.ensure_future(library.index())
    for _ in range(20):
        await database.run("UPDATE library_files SET stamp = stamp")
    assert not indexing.done()
    indexing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await indexing


async def test_a_machine_that_can_start_no_process_tries_again_later(
    path: Path, docs: Path, index: LibraryIndex, events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = FakeClock()
    library = FolderLibrary((docs,), index, clock, events)
    (docs / "a.csv").write_text("egret")
    with monkeypatch.context() as broken:
        broken.setattr("sys.executable", "/no/python")
        keeping = asyncio.ensure_future(library.keep_indexed())
        await clock.sleepers()
    assert events.names == ["library.index_stale"]
    assert look(path, "SELECT count(*) FROM library_files") == [(0,)]
    await clock.advance(EVERY)
    await clock.sleepers()
    keeping.cancel()
    assert await sources(library, "egret") == ["docs/a.csv, row 1"]


def one(path: str, *words: str) -> IndexedFile:
    return IndexedFile(path, "stamp", tuple(IndexedPassage(line, word) for line, word in enumerate(words, start=1)))


async def test_a_long_file_is_written_and_removed_slice_by_slice_and_wholly(
    path: Path, database: Database, index: LibraryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    write = database.write

    async def counted(unit: Callable[[Transaction], Awaitable[object]]) -> object:
        before = look(path, "SELECT count(*) FROM library_passages")[0][0]
        value = await write(unit)
        written.append(abs(int(str(look(path, "SELECT count(*) FROM library_passages")[0][0])) - int(str(before))))
        return value

    monkeypatch.setattr(database, "write", counted)
    for length in (0, 1, SLICE, SLICE + 1, 5 * SLICE):
        short = [one(f"docs/{number}.md", "heron") for number in range(3 * SLICE if length == 1 else 3)]
        await index.put([one("docs/long.md", *["egret"] * length), *short])
        await index.put([one("docs/long.md", *["ibis"] * length)])
        assert len(await index.search("ibis", 9)) == min(length, 2), length
        assert await index.search("egret", 9) == (), length
        assert set((await index.stamps()).values()) == {"stamp"}, length
        await index.remove(["docs/long.md", *(file.path for file in short)])
        assert max(written) <= SLICE, length
        assert look(path, "SELECT count(*) FROM library_passages") == [(0,)], length
        assert look(path, "SELECT count(*) FROM library_words") == [(0,)], length
        assert await index.stamps() == {}, length


async def test_a_long_file_that_is_cut_off_has_no_stamp_until_it_is_put_again(
    database: Database, index: LibraryIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, new = database.write, one("docs/long.md", *["ibis"] * 4 * SLICE)
    for done in range(6):
        await index.put([one("docs/long.md", *["egret"] * 3 * SLICE)])
        left = iter(range(done))

        async def fails(unit: Callable[[Transaction], Awaitable[object]], left: Iterator[int] = left) -> object:
            if next(left, None) is None:
                raise StoreError("busy")
            return await write(unit)

        with monkeypatch.context() as failing:
            failing.setattr(database, "write", fails)
            with pytest.raises(StoreError):
                await index.put([new])
        assert await index.stamps() == {"docs/long.md": "" if done else "stamp"}, done
        await index.put([new])
        assert await index.stamps() == {"docs/long.md": "stamp"}, done
        assert await index.search("egret", 9) == (), done


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_document_it_may_not_open_is_reported(docs: Path, library: FolderLibrary, events: Events) -> None:
    (docs / "a.pdf").write_bytes(made.REPORT)
    (docs / "a.pdf").chmod(0)
    await library.index()
    assert events.emitted[0][1]["reason"] == "it can't be opened: Permission denied"
