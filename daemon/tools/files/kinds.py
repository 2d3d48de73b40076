"""Tells what a file is by its bytes, and whether its name says the same; without I/O."""

from enum import StrEnum
from pathlib import PurePath
from typing import Final

from daemon.core.errors import FileRefused
from daemon.core.sentences import Sentence
from daemon.tools.documents.document import DocumentKind, kind_of


class Plain(StrEnum):
    """What a file is that is no document of the library's kinds."""

    PICTURE = "picture"
    RECORDING = "recording"
    TEXT = "text"


Found = Plain | DocumentKind

_PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")
_RECORDINGS: Final = (".mp3", ".m4a", ".wav", ".ogg", ".oga", ".opus", ".flac", ".webm", ".mp4", ".mpeg", ".mpga")
_OFFICE: Final = (DocumentKind.WORD, DocumentKind.WORKBOOK, DocumentKind.SLIDES)
_PICTURE_MARKS: Final = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"II*\0", b"MM\0*", b"BM")
_RECORDING_MARKS: Final = (b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2", b"OggS", b"fLaC", b"\x1aE\xdf\xa3")
_LOOKED_AT: Final = 4_096  # bytes by which text is recognised
_BINARY: Final = frozenset(range(0x20)) - frozenset(b"\t\n\r\f\x1b")
_UTF16: Final = (b"\xff\xfe", b"\xfe\xff")


def what_it_is(name: str, data: bytes) -> Found:
    """What a file is. Raises FileRefused for what is nothing that is read, or not what its name says."""
    found, promised = _by_bytes(data), _by_name(name)
    if found is None and promised in _OFFICE and data.startswith(b"PK\x03\x04"):
        return promised
    if found is Plain.TEXT and promised is DocumentKind.TABLE:
        return promised
    if found is None:
        raise FileRefused(Sentence("file_misnamed" if promised else "file_strange"))
    if promised not in {None, found}:
        raise FileRefused(Sentence("file_misnamed"))
    return found


def _by_name(name: str) -> Found | None:
    suffix = PurePath(name).suffix.lower()
    if suffix in _PICTURES:
        return Plain.PICTURE
    return Plain.RECORDING if suffix in _RECORDINGS else kind_of(name)


def _by_bytes(data: bytes) -> Found | None:
    riff = data[8:12] if data.startswith(b"RIFF") else b""
    if data.startswith(_PICTURE_MARKS) or riff == b"WEBP":
        return Plain.PICTURE
    if data.startswith(_RECORDING_MARKS) or riff == b"WAVE" or data[4:8] == b"ftyp":
        return Plain.RECORDING
    if data.startswith(b"%PDF-"):
        return DocumentKind.PDF
    return Plain.TEXT if _is_text(data) else None


def _is_text(data: bytes) -> bool:
    if data.startswith(_UTF16):
        return True
    head = data[:_LOOKED_AT]
    if not head or head.startswith(b"PK") or not _BINARY.isdisjoint(head):
        return False
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and len(data) > len(head)  # a letter may be cut at the end
    return True
