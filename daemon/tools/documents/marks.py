"""The one table of byte marks that identify data, for the library and for files in messages."""

from collections.abc import Callable
from enum import StrEnum
from typing import Final

from daemon.tools.documents.encodings import decoded, is_plain


class Data(StrEnum):
    """A kind of data by its first bytes, in words."""

    PDF = "a PDF"
    ARCHIVE = "an archive or an office document"
    OLD_OFFICE = "a document of Office before 2007"
    WINDOWS_PROGRAM = "a Windows program"
    PROGRAM = "a program"
    RTF = "an RTF text"
    PICTURE = "a picture"
    HEIC = "a HEIC picture"
    RECORDING = "a recording"
    TEXT = "plain text"
    OTHER = "other data"


PDF_WITHIN: Final = 1024
"""Bytes from the beginning and the end within which PDF viewers look for a PDF's marks."""

_PICTURES: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*")
_RECORDINGS: Final = (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"OggS", b"fLaC", b"\x1aE\xdf\xa3")
_BMP_HEADERS: Final = (12, 40, 52, 56, 64, 108, 124)  # bytes
_HEIC: Final = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1", b"avif", b"avis")
_FILMS: Final = (b"M4", b"iso", b"mp4", b"mp7", b"avc1", b"dash", b"3g", b"qt  ", b"MSNV", b"F4", b"f4")


def _is_bmp(data: bytes) -> bool:
    return data[:2] == b"BM" and data[6:10] == bytes(4) and int.from_bytes(data[14:18], "little") in _BMP_HEADERS


def _riff(data: bytes) -> bytes:
    return data[8:12] if data.startswith(b"RIFF") else b""


def _brand(data: bytes) -> bytes:
    return data[8:12] if data[4:8] == b"ftyp" else b""


def _is_pdf(data: bytes) -> bool:
    return b"%PDF-" in data[:PDF_WITHIN] and b"%%EOF" in data[-PDF_WITHIN:]


_MARKS: Final[tuple[tuple[Data, Callable[[bytes], bool]], ...]] = (
    (Data.PDF, _is_pdf),
    (Data.PICTURE, lambda data: data.startswith(_PICTURES) or _riff(data) == b"WEBP" or _is_bmp(data)),
    (Data.HEIC, lambda data: _brand(data) in _HEIC),
    (Data.RECORDING, lambda data: data.startswith(_RECORDINGS) or _riff(data) == b"WAVE"),
    (Data.RECORDING, lambda data: _brand(data).startswith(_FILMS)),
    (Data.ARCHIVE, lambda data: data.startswith(b"PK\x03\x04")),
    (Data.OLD_OFFICE, lambda data: data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")),
    (Data.WINDOWS_PROGRAM, lambda data: data.startswith(b"MZ")),
    (Data.PROGRAM, lambda data: data.startswith(b"\x7fELF")),
    (Data.RTF, lambda data: data.startswith(b"{\\rtf")),
)


def begins_as(data: bytes, kind: Data) -> bool:
    return any(fits(data) for one, fits in _MARKS if one is kind)


def what_it_is(data: bytes) -> Data:
    """Return the kind of the data. Text that begins with a mark is text, except for PDF and RTF."""
    found = next((kind for kind, fits in _MARKS if fits(data)), None)
    if found is None:
        return Data.OTHER if decoded(data) is None else Data.TEXT
    return Data.TEXT if found not in {Data.PDF, Data.RTF} and is_plain(data) else found
