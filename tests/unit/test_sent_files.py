"""What a file is, by its bytes and its name; nothing that anybody sends breaks the reader."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.errors import FileRefused, ModelRefused
from daemon.core.ports.services import FileKind
from daemon.core.sentences import SENTENCES
from daemon.core.text import storable
from daemon.tools import file_reader as reader
from daemon.tools.documents.document import Document, DocumentKind, Why, kind_of
from daemon.tools.documents.encodings import guessed
from daemon.tools.documents.marks import Data
from daemon.tools.file_reader import SentFiles, how_to_read
from daemon.tools.library import LibraryFile, read_text
from tests.given_files import picture
from tests.tools.documents import made
from tests.tools.documents.refusals import read_here

HEIC = (("IMG_0412.HEIC", b"heic"), ("photo.jpg", b"mif1"), ("photo", b"avif"))


class Ears:
    """A `Transcriber` that hears the same words in everything, or nothing at all."""

    def __init__(self, words: str | Exception) -> None:
        self.words = words

    async def transcribe(self, name: str, data: bytes) -> str:
        if isinstance(self.words, Exception):
            raise self.words
        return self.words

    async def aclose(self) -> None:
        """Nothing is open."""


def test_a_file_is_what_its_bytes_are_or_refused_and_text_is_text_whatever_it_begins_with() -> None:
    for name, data, found in (
        ("a.png", picture(), Data.PICTURE),
        ("a.jpg", picture(), Data.PICTURE),  # named by habit; the picture is read all the same
        ("a", picture(form="WEBP"), Data.PICTURE),
        ("a", picture(form="BMP"), Data.PICTURE),
        ("a.csv", b"a;b", DocumentKind.TABLE),
        ("a.py", b"print()", Data.TEXT),
        ("a.pdf", b"%PDF-1.7", DocumentKind.PDF),
        ("a", made.REPORT, DocumentKind.PDF),
        ("a", b"\r\n" + made.pdf("words"), DocumentKind.PDF),
        ("a.docx", b"PK\x03\x04...", DocumentKind.WORD),
        ("a.m4a", b"\0\0\0\x20ftypM4A", Data.RECORDING),
        ("a.txt", "größe".encode("utf-16"), Data.TEXT),
        ("a.rtf", b"{\\rtf1 words}", Data.TEXT),
    ):
        assert how_to_read(name, data) == found, name
    for name, data, key in (
        ("a.png", b"<svg/>", "file_misnamed"),
        ("a.bmp", b"BMW i3", "file_misnamed"),
        ("a.zip", b"PK\x03\x04...", "file_strange"),
        ("a.exe", b"MZ\0\0", "file_strange"),
        ("a.bin", b"BM\0\1\2\3\4", "file_strange"),
        ("a.cr3", b"\0\0\0\x18ftypcrx \0\0", "file_strange"),
        ("a.txt", b"\xff\xff\xff", "file_strange"),
        ("a.doc", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "file_other_format"),
        ("a.odt", b"PK\x03\x04...", "file_other_format"),
        *((name, b"\0\0\0\x18ftyp" + brand + b"\0\0", "file_heic") for name, brand in HEIC),
    ):
        with pytest.raises(FileRefused) as refused:
            how_to_read(name, data)
        assert refused.value.args[0].key == key, name
    for words in ("BMW i3 is due", "BMI,age", "MZ is a town", "GIF89a, a format", "ID3 tags", "PK", "II*", "RIFF WAVE"):
        assert how_to_read("cars.txt", words.encode()) is Data.TEXT, words
        assert how_to_read("cars", f"{words} für Müller\n".encode("cp1252")) is Data.TEXT, words


async def test_each_file_that_the_library_reads_is_read_when_it_is_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, data in {
        "notiz.txt": "Die Größe fällt auf.\n".encode("cp1252"),
        "win.sql": "SELECT 'Straße';\n".encode("cp1252"),
        "sjis.txt": "テスト\n".encode("cp932"),
        "wide.md": "Größe\n".encode("utf-16-be"),
        "build.log": b"10%\x0850%\x07 done\x01",
        "cut.txt": "Größe, Höhe".encode() + b"\xc3",
    }.items():
        (tmp_path / name).write_bytes(data)
        found = read_text(LibraryFile(name, "", tmp_path, (name,)))
        assert found is not None, name
        text, guess = found
        sent = await SentFiles(None).read(name, data)
        assert sent.text.split() == storable(text).split(), name
        assert sent.left_out == (guessed(guess) if guess else ""), name
    monkeypatch.setattr(reader, "read_bytes", _read_here)
    for name, data in {
        "kunden.csv": "Name;Straße\nBäckerei;Groß\n".encode("cp1252"),
        "sjis.csv": "商品,数量\nりんご,3\n".encode("cp932"),
        "wide.csv": "Ort,Menge\nKöln,3\n".encode("utf-16-le"),
        "health.csv": b"BMI,age\n21,40\n",
        "lines.pdf": b"\r\n" + made.pdf("words"),
        "marked.pdf": b"\xef\xbb\xbf" + made.REPORT,
        "late.pdf": b"-" * 900 + b"\n" + made.pdf("words"),
        "owned.PDF": made.protected_pdf("AES-256", password=""),
        "macros.docm": made.word("words", kind="macros"),
        "sheet.xlsm": made.workbook(S=[[1, ("A1+1", 2)]]),
        "shown.pptx": made.slides("Kilns"),
    }.items():
        kind = kind_of(name)
        assert kind is not None
        known, opened = read_here(kind, data), await SentFiles(None).read(name, data)
        assert opened.text == "\n\n".join(f"[{one.place}]\n{one.text}" for one in known.sections).strip(), name
        assert opened.left_out == known.left_out, name


async def test_a_document_that_is_not_read_has_the_reason_of_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "read_bytes", _read_here)
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(999, b"\0")
    for name, data, key in (
        ("scan.pdf", made.pdf(""), "file_only_pictures"),
        ("plan.pdf", made.pdf(made.DRAWING), "file_no_text"),
        ("torn.pdf", b"%PDF-1.7", "file_damaged"),
        ("locked.pdf", made.protected_pdf("AES-256"), "file_protected"),
        ("locked.docx", made.protected_office(), "file_protected"),
        ("blank.docx", made.word(""), "file_no_text"),
        ("empty.csv", b"", "file_no_text"),
        ("old.xlsx", old, "file_other_format"),
        ("a.docx", b"just words", "file_misnamed"),
        ("a.pdf", picture(), "file_misnamed"),
        ("a.csv", made.REPORT, "file_misnamed"),
        ("a.xlsx", made.word("words"), "file_misnamed"),
        ("many.docx", made.archive({f"word/{number}": "" for number in range(10_001)}), "file_too_big_inside"),
    ):
        with pytest.raises(FileRefused) as refused:
            await SentFiles(None).read(name, data)
        assert refused.value.args[0].key == key, name
    for why in Why:
        assert f"file_{why}" in SENTENCES


async def test_what_is_no_document_is_known_by_its_marks_where_nothing_can_be_opened() -> None:
    with pytest.raises(FileRefused) as refused:
        await SentFiles(None).read("a.docx", "Die Größe fällt auf.\n".encode("cp1252"))
    assert refused.value.args[0].key == "file_misnamed"


async def _read_here(kind: DocumentKind, data: bytes) -> Document:
    return read_here(kind, data)


@given(st.text(max_size=20), st.binary(max_size=200))
def test_any_bytes_are_something_or_refused(name: str, data: bytes) -> None:
    with suppress(FileRefused):
        assert how_to_read(name, data) in {*Data, *DocumentKind}


async def test_a_recording_is_heard_a_long_text_cut_and_a_picture_loses_its_hidden_data() -> None:
    heard = await SentFiles(Ears("Tell Ben\0 that it rains.")).read("note.mp3", b"ID3...")
    assert (heard.kind, heard.text) == (FileKind.AUDIO, "Tell Ben that it rains.")
    for ears, key in (
        (None, "file_unheard"),
        (Ears(ModelRefused("no")), "file_not_heard"),
        (Ears(" "), "file_no_text"),
    ):
        with pytest.raises(FileRefused) as refused:
            await SentFiles(ears).read("note.mp3", b"ID3...")
        assert refused.value.args[0].key == key
    read = await SentFiles(None).read("long.txt", b"word " * 20_000)
    assert (len(read.text), read.left_out) == (40_000, "its text is long: the beginning is read")
    from io import BytesIO

    from PIL import Image

    out, hidden = BytesIO(), Image.Exif()
    hidden[0x010E] = "lives at Baker Street 221b"
    Image.new("RGB", (3_000, 100), (0, 90, 200)).save(out, "JPEG", exif=hidden)
    seen = await SentFiles(None).read("photo.jpg", out.getvalue())
    assert b"Baker" in out.getvalue()
    assert seen.image is not None
    assert b"Baker" not in seen.image.data
    assert (seen.width, seen.height, Image.open(BytesIO(seen.image.data)).size) == (3_000, 100, (1_568, 52))
    red, green, blue = (int(seen.color_hex[place : place + 2], 16) for place in (1, 3, 5))
    assert red < 20
    assert 80 < green < 100
    assert 190 < blue < 210
