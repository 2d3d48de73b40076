"""Documents that mean harm or are broken: one sentence, in bounded time and memory, and nothing reaches outside."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.core.errors import DocumentUnreadable
from daemon.tools.documents import reader
from daemon.tools.documents.document import LONGEST_PLACE, MOST_BYTES, MOST_TEXT, Document, DocumentKind
from daemon.tools.documents.reader import read_bytes, read_document
from tests.fakes import TIMEOUT
from tests.tools.documents import made
from tests.tools.documents.refusals import refused, refused_here

_LIMITED = "import signal, sys; sys.path.insert(0, sys.argv.pop(1)); from daemon.tools.documents import limits, worker"
WORD = made.word("# Kilns", "They crack.")


def test_a_zip_bomb_and_what_is_too_large_are_refused_by_what_they_would_take() -> None:
    folders = {DocumentKind.WORD: "word/", DocumentKind.WORKBOOK: "xl/", DocumentKind.SLIDES: "ppt/"}
    for kind, folder in folders.items():
        parts = {name.replace("word/", folder): body for name, body in made.word_parts("x").items()}
        bomb = f"{folder}media/bomb.bin"
        data = made.with_declared_size(made.archive(parts | {bomb: " " * 300_000}), bomb, 300 << 20)
        assert refused_here(kind, data) == "unpacked it would take 300 MB; 256 MB are the most"
    data = made.archive({f"word/{number}": "" for number in range(10_001)})
    assert refused_here(DocumentKind.WORD, data) == "it has 10,001 parts; 10,000 are the most"
    assert refused_here(DocumentKind.PDF, b"%PDF-" + bytes(MOST_BYTES)) == "it has 32 MB; 32 MB are the most"


async def test_a_bomb_that_lies_about_its_size_is_cut_and_found_damaged() -> None:
    data = made.with_declared_size(made.word("x" * 5_000_000), "word/document.xml", 1_000)
    assert await refused(DocumentKind.WORD, data) == "it is damaged"


@pytest.mark.slow
async def test_a_part_that_takes_all_memory_as_a_tree_is_refused() -> None:
    assert (
        await refused(DocumentKind.WORD, made.word(body="<w:p/>" * 15_000_000))
        == "reading it takes more than 512 MB of memory"
    )


@pytest.mark.slow
async def test_a_pdf_stream_that_unpacks_without_end_is_refused() -> None:
    data = made.pdf("a" * 90_000_000)
    assert len(data) < 1 << 20
    assert await refused(DocumentKind.PDF, data) == "none of its pages can be read: it is damaged"


LAUGHS = '<!DOCTYPE w [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
OUTSIDE = '<!DOCTYPE w [<!ENTITY x SYSTEM "file:///etc/hostname">]>'
FETCHED = '<!DOCTYPE w SYSTEM "http://127.0.0.1:9/a.dtd">'


def test_a_document_type_is_refused_however_it_is_written() -> None:
    for head in (LAUGHS, OUTSIDE, FETCHED, f"<!-- {'x' * 100_000} -->{OUTSIDE}"):
        parts = made.word_parts("before", head=head, body="<w:p><w:r><w:t>&x;</w:t></w:r></w:p>")
        for encoding in ("utf-8", "utf-16"):
            data = made.archive(parts | {"word/document.xml": str(parts["word/document.xml"]).encode(encoding)})
            said = refused_here(DocumentKind.WORD, data)
            assert said == "its XML declares a document type, which no office program writes", (head[-99:], encoding)


def working(monkeypatch: pytest.MonkeyPatch, body: str, before: str = "") -> None:
    """Have every reader run this body of a generator instead of its own."""
    code = f"{_LIMITED}\n{before}\ndef read(data):\n  from daemon.tools.documents.document import Section\n  {body}\n"
    monkeypatch.setattr(reader, "_BEGIN", f"{code}worker.prepare = lambda kind: read\nworker.main()")


async def test_a_document_that_takes_too_long_is_read_as_far_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    working(monkeypatch, "yield Section('page 1', 'words')\n  while True: pass", "limits.CPU_SECONDS = 1")
    found = await read_bytes(DocumentKind.PDF, b"x")
    assert [one.place for one in found.sections] == ["page 1"]
    assert found.left_out == "it is read to page 1: reading it takes too long"


async def test_a_document_that_waits_is_ended_by_the_clock_and_one_that_ignores_it_with_its_group(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    working(monkeypatch, "signal.pause(); yield", "limits.WALL_SECONDS = 0.2")
    assert await refused(DocumentKind.PDF, b"x") == "reading it takes too long"
    monkeypatch.setattr(reader, "WALL_SECONDS", -9.5)
    working(monkeypatch, "signal.pause(); yield", "limits.restrain = lambda: None")
    assert await refused(DocumentKind.PDF, b"x") == "reading it takes too much time or memory"


async def test_a_reading_that_is_cancelled_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    pids: list[int] = []
    started = asyncio.Event()
    start = asyncio.create_subprocess_exec

    async def noted(*args: str, **options: object) -> asyncio.subprocess.Process:
        process = await start(*args, **options)  # type: ignore[arg-type]
        pids.append(process.pid)
        started.set()
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", noted)
    working(monkeypatch, "signal.pause(); yield")
    reading = asyncio.ensure_future(read_bytes(DocumentKind.PDF, b"x"))
    await started.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(reading, TIMEOUT)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


PROBE = """
import os, socket, sys
attempts = {
    "a file": lambda: open("/etc/hostname"),
    "a socket": lambda: socket.socket(),
    "a Unix socket": lambda: socket.socket(socket.AF_UNIX),
    "a pipe": lambda: os.pipe(),
    "a folder": lambda: os.listdir("/"),
    "memory": lambda: bytearray(600 << 20),
    "writing": lambda: os.write(3, b"x"),
    "a process": lambda: None if os.geteuid() == 0 else os.fork(),
}
def read(data):
    from daemon.tools.documents.document import Section
    for name, attempt in attempts.items():
        try:
            attempt()
        except (OSError, MemoryError) as error:
            yield Section(name, type(error).__name__)
        else:
            yield Section(name, "allowed")
    yield Section("variables", ",".join(os.environ) or "none")
    yield Section("handles", ",".join(str(fd) for fd in range(3, 50) if is_open(fd)) or "none")
    yield Section("group", str(os.getpgid(0) == os.getpid()))
    yield Section("folder", os.getcwd())
def is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems know not every limit")
async def test_the_process_can_open_send_write_and_start_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SLACK_BOT_TOKEN", "xoxb-secret")
    code = f"{_LIMITED}\n{PROBE}\nworker.prepare = lambda kind: read\nworker.main()"
    monkeypatch.setattr(reader, "_BEGIN", code)
    with (tmp_path / "inherited").open("wb"), socket.socket():
        found = await read_bytes(DocumentKind.PDF, b"x")
    said = {one.place: one.text for one in found.sections}
    none = dict.fromkeys(("a file", "a socket", "a Unix socket", "a pipe", "a folder", "writing"), "OSError")
    assert said == none | {
        "memory": "MemoryError",
        "a process": "allowed" if os.geteuid() == 0 else "BlockingIOError",
        "variables": said["variables"],
        "handles": "3",  # its own /proc/self/status
        "group": "True",
        "folder": "/",
    }
    assert "SLACK" not in said["variables"]


async def test_what_the_process_says_is_bounded_and_cleaned(monkeypatch: pytest.MonkeyPatch) -> None:
    said = [
        '["section", "page\\n1\\u202e", "a\\u0000b\\ud800c"]',
        '["section", 7, "no"]',
        '{"section": "no"}',
        "no JSON",
        "[" * 200_000,
        *['["left out", "some\\nthing"]'] * 50,
        '["section", "' + "p" * 500 + '", "' + "t" * (MOST_TEXT + 9) + '"]',
        '["end"]',
    ]
    words = repr("\n".join(said).replace("t" * 99, "").replace("[" * 200_000, "TOWER"))
    code = f"import sys; sys.stdout.write({words}.replace('TOWER', '[' * 200_000)); sys.stdout.flush()"
    monkeypatch.setattr(reader, "_BEGIN", code)
    found = await read_bytes(DocumentKind.PDF, b"x")
    assert (found.sections[0].place, found.sections[0].text) == ("page 1", "a b c")
    assert len(found.sections[1].place) == LONGEST_PLACE
    assert found.left_out == "; ".join(["some thing"] * 10)
    assert len(found.sections) == 2


async def test_a_process_that_dies_says_how_and_one_that_talks_without_end_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "_BEGIN", "import os; os._exit(7)")
    assert await refused(DocumentKind.PDF, b"x") == "the process that read it ended with code 7"
    monkeypatch.setattr(reader, "_BEGIN", f"import os; os.kill(os.getpid(), {signal.SIGSEGV})")
    assert await refused(DocumentKind.PDF, b"x") == f"the process that read it ended with signal {signal.SIGSEGV.value}"
    monkeypatch.setattr(reader, "_MOST_OUTPUT", 1 << 16)
    monkeypatch.setattr(reader, "_BEGIN", 'while True: print(\'["section", "page 1", "x"]\')')
    found = await read_bytes(DocumentKind.PDF, b"x")
    assert found.left_out.startswith("it is read to page 1: ")


async def test_a_file_is_read_from_its_handle_and_the_handle_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a.docx").write_bytes(WORD)
    with (tmp_path / "a.docx").open("rb") as file:
        found = await read_document(DocumentKind.WORD, file.fileno())
        assert os.fstat(file.fileno()).st_size == len(WORD)
    assert found.sections[0].place == "section Kilns"


REAL: dict[DocumentKind, Callable[[], bytes]] = {
    DocumentKind.PDF: lambda: made.REPORT,
    DocumentKind.WORD: lambda: WORD,
    DocumentKind.WORKBOOK: lambda: made.workbook(Q3=[["a", "b"], [1, ("A1", 2)]]),
    DocumentKind.SLIDES: lambda: made.slides("Kilns", "Looms"),
    DocumentKind.TABLE: lambda: "Ort;Menge\nZürich;4\n".encode("cp1252") * 20,
}


@pytest.mark.slow
@pytest.mark.timeout(1_800)  # two minutes on an idle machine, for as many processes
@pytest.mark.parametrize("kind", REAL)  # pictures: test_pictures.py
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_broken_document_gives_text_or_one_sentence(kind: DocumentKind, data: st.DataObject) -> None:
    real = REAL[kind]()
    body = bytearray(real[: data.draw(st.integers(0, len(real)) | st.just(len(real)))])
    for at, value in data.draw(st.lists(st.tuples(st.integers(0, len(real) - 1), st.binary(max_size=4)), max_size=20)):
        body[at : at + len(value)] = value
    try:
        found = asyncio.run(read_bytes(kind, bytes(body)))
    except DocumentUnreadable as error:
        said = error.message, error.hint
        assert all(said)
        assert all(map(str.isprintable, said))
    else:
        assert found.sections
        assert_sound(found)


def assert_sound(found: Document) -> None:
    """Each section of a document has a place on one line and text that can be stored."""
    assert sum(len(one.text) for one in found.sections) <= MOST_TEXT
    for one in found.sections:
        assert one.place.isprintable()
        assert 0 < len(one.place) <= LONGEST_PLACE
        assert "\0" not in one.text
        one.text.encode()
