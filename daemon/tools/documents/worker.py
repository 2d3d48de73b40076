"""The process that reads one document: from standard input, in lines of JSON to standard output."""

import importlib
import json
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress

from daemon.tools.documents.document import MOST_BYTES, MOST_SECTIONS, MOST_TEXT, DocumentKind, Why, in_megabytes
from daemon.tools.documents.formats.parts import NO_TEXT, CannotRead, LeftOut, Read
from daemon.tools.documents.limits import MEMORY, MemoryUse, TimeIsUp, open_nothing, restrain

Line = tuple[str, ...]

_PACKAGES = {  # packages that load parts lazily; the reader of pictures loads all its parts itself
    DocumentKind.PDF: "pypdf",
    DocumentKind.WORD: "docx",
    DocumentKind.WORKBOOK: "openpyxl",
    DocumentKind.SLIDES: "pptx",
}
_SPLIT = "split it into smaller documents"
_MENDED = "open it with the program it is from, and save it anew"


def main() -> None:
    """Read the document on standard input. The first argument is its kind."""
    kind = DocumentKind(sys.argv[1])
    restrain()
    read, memory = prepare(kind), MemoryUse()
    open_nothing()
    with os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False) as out:
        for line in told(read, memory):
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()  # written even if the next section ends the process


def prepare(kind: DocumentKind) -> Callable[[bytes], Read]:
    """Return the reader of a kind, with all imports that it may need: later no file can be opened."""
    for name in ("encodings", "charset_normalizer", *((_PACKAGES[kind],) if kind in _PACKAGES else ())):
        package = importlib.import_module(name)
        for one in pkgutil.walk_packages(package.__path__, f"{name}."):
            with suppress(ImportError):  # a module for an absent package or another system
                importlib.import_module(one.name)
    reader: Callable[[bytes], Read] = importlib.import_module(f"daemon.tools.documents.formats.{kind}").read
    return reader


def told(read: Callable[[bytes], Read], memory: MemoryUse, document: int = 0) -> Iterator[Line]:
    """Yield all lines about the document, an open file, usually standard input.

    A line is `["section", place, text]`, `["left out", sentence]`, or the last one: `["end"]`, or `["stopped", code,
    sentence, hint]` if reading ended early. Earlier lines stay valid in any case.
    """
    try:
        yield from _bounded(read(_content(document)))
    except CannotRead as error:
        yield "stopped", error.why, error.sentence, error.hint
    except TimeIsUp:
        yield "stopped", Why.TOO_BIG_INSIDE, "reading it takes too long", _SPLIT
    except Exception as error:  # noqa: BLE001  # packages raise all kinds of errors for damaged documents
        if isinstance(error, MemoryError) or memory.was_short():
            yield "stopped", Why.TOO_BIG_INSIDE, f"reading it takes more than {in_megabytes(MEMORY)} of memory", _SPLIT
        else:
            yield "stopped", Why.DAMAGED, "it is damaged", _MENDED
    else:
        yield ("end",)


def _bounded(read: Read) -> Iterator[Line]:
    text, sections = 0, 0
    for one in read:
        if isinstance(one, LeftOut):
            yield "left out", one.sentence
            continue
        yield "section", one.place, one.text[: MOST_TEXT - text]
        text, sections = text + len(one.text), sections + 1
        if text > MOST_TEXT or sections >= MOST_SECTIONS:
            yield "left out", f"its text is long: it is read to {one.place}"
            return


def _content(document: int) -> bytes:
    """Return the document. Raises CannotRead if it is empty or too large."""
    size = os.fstat(document).st_size
    with os.fdopen(document, "rb", closefd=False) as file:
        data = file.read(MOST_BYTES + 1)
    if not data:
        raise CannotRead("it is empty", *NO_TEXT[1:])
    if len(data) > MOST_BYTES:
        sentence = f"it has {in_megabytes(max(size, len(data)))}; {in_megabytes(MOST_BYTES)} are the most"
        raise CannotRead(sentence, "split it, or take its pictures out", Why.TOO_BIG_INSIDE)
    return data
