"""The reading of one file of a message: pictures and documents in a separate process, recordings by an endpoint."""

import base64
import binascii
from functools import partial
from pathlib import PurePath
from typing import Final

from daemon.core.concurrency import in_background
from daemon.core.errors import DocumentUnreadable, FileRefused, ModelError
from daemon.core.ports.services import FileKind, Image, ReadFile, Transcriber
from daemon.core.sentences import Sentence
from daemon.core.text import storable
from daemon.tools.documents.document import Document, DocumentKind, kind_of, readable_instead
from daemon.tools.documents.encodings import decoded, guessed
from daemon.tools.documents.marks import Data, begins_as, what_it_is
from daemon.tools.documents.reader import read_bytes

Found = Data | DocumentKind

_PICTURES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".tif", ".tiff")
_RECORDINGS: Final = (".mp3", ".m4a", ".wav", ".ogg", ".oga", ".opus", ".flac", ".webm", ".mp4", ".mpeg", ".mpga")
_READ_AS: Final[dict[Data, Found]] = {
    Data.PICTURE: Data.PICTURE,
    Data.RECORDING: Data.RECORDING,
    Data.PDF: DocumentKind.PDF,
    Data.TEXT: Data.TEXT,
    Data.RTF: Data.TEXT,
}


def how_to_read(name: str, data: bytes) -> Found:
    """Return how to read a file. Raises FileRefused for an unreadable kind, or one that does not match its name.

    A name that promises a document leaves the decision to that document's reader, as in the library.
    """
    if (document := kind_of(name)) is not None:
        return document
    promised = _by_name(name)
    found = promised if promised is not None and begins_as(data, promised) else what_it_is(data)
    if found is Data.HEIC:
        raise FileRefused(Sentence("file_heic"))
    if found is Data.OLD_OFFICE or (found is Data.ARCHIVE and readable_instead(name) is not None):
        raise FileRefused(Sentence("file_other_format"))
    if promised not in {None, found}:
        raise FileRefused(Sentence("file_misnamed"))
    if found not in _READ_AS:
        raise FileRefused(Sentence("file_strange"))
    return _READ_AS[found]


def _by_name(name: str) -> Data | None:
    suffix = PurePath(name).suffix.lower()
    if suffix in _PICTURES:
        return Data.PICTURE
    return Data.RECORDING if suffix in _RECORDINGS else None


MOST_TEXT: Final = 40_000
"""Characters that are kept of a document, a text or a recording."""

_TYPES: Final = {
    DocumentKind.PDF: "application/pdf",
    DocumentKind.WORD: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    DocumentKind.WORKBOOK: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    DocumentKind.SLIDES: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    DocumentKind.TABLE: "text/csv",
}
_CUT: Final = "its text is long: the beginning is read"


class SentFiles:
    """The reader of files in messages, within limits. Without a transcriber recordings are refused."""

    def __init__(self, transcriber: Transcriber | None) -> None:
        self._transcriber = transcriber

    async def read(self, name: str, data: bytes) -> ReadFile:
        match await in_background(partial(how_to_read, name, data)):
            case Data.PICTURE:
                return _picture(await _document(DocumentKind.PICTURE, data))
            case Data.RECORDING:
                return _words(FileKind.AUDIO, "audio", await self._heard(name, data))
            case DocumentKind() as kind:
                found = await _document(kind, data)
                text = "\n\n".join(f"[{one.place}]\n{one.text}" for one in found.sections)
                return _words(FileKind.DOCUMENT, _TYPES[kind], text, found.left_out)
            case _:
                return await in_background(partial(_text, data))

    async def aclose(self) -> None:
        if self._transcriber is not None:
            await self._transcriber.aclose()

    async def _heard(self, name: str, data: bytes) -> str:
        if self._transcriber is None:
            raise FileRefused(
                Sentence("file_unheard"), hint="set SOUL_STT_URL and SOUL_STT_MODEL to have recordings written down"
            )
        try:
            return await self._transcriber.transcribe(name, data)
        except ModelError as error:
            raise FileRefused(Sentence("file_not_heard"), hint=str(error)) from error


async def _document(kind: DocumentKind, data: bytes) -> Document:
    try:
        return await read_bytes(kind, data)
    except DocumentUnreadable as error:
        raise FileRefused(Sentence(f"file_{error.why}"), hint=error.message) from error
    except OSError as error:  # no process can be started, or its input can't be written
        raise FileRefused(Sentence("file_late"), hint=str(error)) from error


def _text(data: bytes) -> ReadFile:
    """Return the text of a file. Raises FileRefused for data that can't be decoded."""
    if (found := decoded(data)) is None:
        raise FileRefused(Sentence("file_strange"))
    text, guess = found
    return _words(FileKind.DOCUMENT, "text/plain", text, guessed(guess) if guess else "")


def _words(kind: FileKind, media_type: str, text: str, left_out: str = "") -> ReadFile:
    clean = storable(text.replace("\0", "")).strip()
    if not clean:
        raise FileRefused(Sentence("file_no_text"))
    if len(clean) > MOST_TEXT:
        left_out = "; ".join(filter(None, (_CUT, left_out)))
    return ReadFile(kind, media_type, clean[:MOST_TEXT], left_out)


def _picture(found: Document) -> ReadFile:
    """Return the process's measurements, which are as untrusted as the picture. Raises FileRefused."""
    parts = {one.place: one.text for one in found.sections}
    try:
        width, height = (int(number) for number in parts["size"].split())
        copy = base64.b64decode(parts["copy"], validate=True)
        number = int(parts["color"].removeprefix("#"), 16)
    except (KeyError, ValueError, binascii.Error) as error:
        raise FileRefused(Sentence("file_damaged")) from error
    return ReadFile(
        FileKind.IMAGE,
        parts.get("type", "image"),
        width=width,
        height=height,
        color_hex=f"#{number & 0xFFFFFF:06x}",
        image=Image("image/jpeg", copy),
    )
