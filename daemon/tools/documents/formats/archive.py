"""The check of an office document's archive, before its parts are unpacked."""

from collections.abc import Sequence
from io import BytesIO
from xml.parsers import expat
from zipfile import ZipFile, ZipInfo

from daemon.tools.documents.document import MOST_PARTS, MOST_UNPACKED, Why, in_megabytes
from daemon.tools.documents.formats.parts import PROTECTED, CannotRead, misnamed

_ENCRYPTED = 0x1
_CHUNK = 64 * 1024
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")  # MS-OFFCRYPTO, 2.3.4.4
_FOLDERS = {"word/": "Word document", "xl/": "workbook", "ppt/": "presentation"}


class _RootReached(Exception):
    """A signal that the root element of a part begins, after which no declaration can follow."""


def check(data: bytes, folder: str) -> None:
    """Raise CannotRead unless the data is safe to unpack as the office document whose parts are in `folder`.

    The declared sizes bound what Python's zipfile unpacks. A bomb is refused by its declared sizes; one with false
    sizes is cut and found damaged. No office program writes a document type declaration (ECMA-376, part 2), and without
    a declaration there are no entities.
    """
    expected = _FOLDERS[folder]
    if data.startswith(_OLE):
        raise _in_old_form(data, expected)
    if not data.startswith(b"PK\x03\x04"):
        raise misnamed(data, expected)
    with ZipFile(BytesIO(data)) as archive:
        parts = archive.infolist()
        _check_sizes(parts)
        names = {part.filename for part in parts}
        if not any(name.startswith(folder) for name in names):
            raise _another(names, expected)
        for name in names:
            if name.endswith((".xml", ".rels")):
                _refuse_declaration(archive, name)


def _check_sizes(parts: Sequence[ZipInfo]) -> None:
    if any(part.flag_bits & _ENCRYPTED for part in parts):
        raise CannotRead(*PROTECTED)
    if len(parts) > MOST_PARTS:
        raise CannotRead(
            f"it has {len(parts):,} parts; {MOST_PARTS:,} are the most", "save it anew", Why.TOO_BIG_INSIDE
        )
    size = sum(part.file_size for part in parts)
    if size > MOST_UNPACKED:
        sentence = f"unpacked it would take {in_megabytes(size)}; {in_megabytes(MOST_UNPACKED)} are the most"
        raise CannotRead(sentence, "split it, or take its pictures out", Why.TOO_BIG_INSIDE)


def _in_old_form(data: bytes, expected: str) -> CannotRead:
    if _ENCRYPTED_PACKAGE in data:
        return CannotRead(*PROTECTED)
    sentence = f"it is no {expected} of today, but of Office before 2007"
    return CannotRead(sentence, "save it in today's format", Why.OTHER_FORMAT)


def _another(names: set[str], expected: str) -> CannotRead:
    others = (f"a {what}" for folder, what in _FOLDERS.items() if any(name.startswith(folder) for name in names))
    other = next(others, "an archive of another kind")
    return CannotRead(f"it is no {expected}, but {other}", "give it the name of what it is", Why.MISNAMED)


def _refuse_declaration(archive: ZipFile, name: str) -> None:
    """Read a part up to its root element. Raises CannotRead for a document type declaration."""

    def declared(*_: object) -> None:
        sentence = "its XML declares a document type, which no office program writes"
        raise CannotRead(sentence, "save it anew with an office program", Why.OTHER_FORMAT)

    def reached(*_: object) -> None:
        raise _RootReached

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = declared
    parser.StartElementHandler = reached
    with archive.open(name) as part:
        try:
            while chunk := part.read(_CHUNK):
                parser.Parse(chunk, False)
        except (_RootReached, expat.ExpatError):  # the part's reader reports the damage
            return
