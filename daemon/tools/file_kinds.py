"""Tells what a sent file is by its bytes, and whether its name says the same; without I/O."""

from pathlib import PurePath
from typing import Final

from daemon.core.errors import FileRefused
from daemon.core.sentences import Sentence
from daemon.tools.documents.document import DocumentKind, kind_of, readable_instead
from daemon.tools.documents.marks import Data, begins_as, what_it_is

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
    """As what a file is read. Raises FileRefused for what is nothing that is read, or not what its name says.

    A name that promises a document leaves the judgement to that document's reader, as in the library.
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
