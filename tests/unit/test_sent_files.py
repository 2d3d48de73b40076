"""What a file is, by its bytes and its name; nothing that anybody sends breaks the reader."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemon.core.errors import FileRefused, ModelRefused
from daemon.core.ports.files import FileKind
from daemon.tools.documents.document import DocumentKind
from daemon.tools.documents.marks import Data
from daemon.tools.files.kinds import how_to_read
from daemon.tools.files.reader import SentFiles
from tests.given_files import picture


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


def test_a_file_is_what_its_bytes_are_or_refused() -> None:
    for name, data, found in (
        ("a.png", picture(), Data.PICTURE),
        ("a.jpg", picture(), Data.PICTURE),  # named by habit; the picture is read all the same
        ("a", picture(form="WEBP"), Data.PICTURE),
        ("a.csv", b"a;b", DocumentKind.TABLE),
        ("a.py", b"print()", Data.TEXT),
        ("a.pdf", b"%PDF-1.7", DocumentKind.PDF),
        ("a.docx", b"PK\x03\x04...", DocumentKind.WORD),
        ("a.m4a", b"\0\0\0\x20ftypM4A", Data.RECORDING),
        ("a.txt", "größe".encode("utf-16"), Data.TEXT),
    ):
        assert how_to_read(name, data) == found
    for name, data, key in (
        ("a.png", b"<svg/>", "file_misnamed"),
        ("a.docx", b"just words", "file_misnamed"),
        ("a.pdf", picture(), "file_misnamed"),
        ("a.zip", b"PK\x03\x04...", "file_strange"),
        ("a.exe", b"MZ\0\0", "file_strange"),
        ("a", b"", "file_strange"),
        ("a.txt", b"\xff\xff\xff", "file_strange"),
    ):
        with pytest.raises(FileRefused) as refused:
            how_to_read(name, data)
        assert refused.value.args[0].key == key, name


@given(st.text(max_size=20), st.binary(max_size=200))
def test_any_bytes_are_something_or_refused(name: str, data: bytes) -> None:
    with suppress(FileRefused):
        assert how_to_read(name, data) in {*Data, *DocumentKind}


async def test_a_recording_is_read_by_the_ears_that_are_set_and_a_long_text_is_cut() -> None:
    heard = await SentFiles(Ears("Tell Ben\0 that it rains.")).read("note.mp3", b"ID3...")
    assert (heard.kind, heard.text) == (FileKind.AUDIO, "Tell Ben that it rains.")
    for ears, key in (
        (None, "file_unheard"),
        (Ears(ModelRefused("no")), "file_not_heard"),
        (Ears(" "), "file_protected"),
    ):
        with pytest.raises(FileRefused) as refused:
            await SentFiles(ears).read("note.mp3", b"ID3...")
        assert refused.value.args[0].key == key
    read = await SentFiles(None).read("long.txt", b"word " * 20_000)
    assert (len(read.text), read.left_out) == (40_000, "its text is long: the beginning is read")


async def test_a_picture_is_measured_and_its_copy_carries_none_of_its_hidden_data() -> None:
    from io import BytesIO

    from PIL import Image

    out, hidden = BytesIO(), Image.Exif()
    hidden[0x010E] = "lives at Baker Street 221b"
    Image.new("RGB", (3_000, 100), (0, 90, 200)).save(out, "JPEG", exif=hidden)
    read = await SentFiles(None).read("photo.jpg", out.getvalue())
    assert b"Baker" in out.getvalue()
    assert read.image is not None
    assert b"Baker" not in read.image.data
    assert (read.width, read.height, Image.open(BytesIO(read.image.data)).size) == (3_000, 100, (1_568, 52))
    red, green, blue = (int(read.color_hex[place : place + 2], 16) for place in (1, 3, 5))
    assert red < 20
    assert 80 < green < 100
    assert 190 < blue < 210
