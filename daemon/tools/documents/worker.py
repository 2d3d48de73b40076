"""The process that reads one document: from standard input, in lines of JSON to standard output.

A line is `["section", place, text]`, `["left out", sentence]`, or the last one: `["end"]`, or
`["stopped", code, sentence, hint]` when reading ended early. What was said before stays said, whatever becomes of it.
"""

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

_PACKAGES = {  # which a kind may load piece by piece; the reader of pictures loads all that it needs itself
    DocumentKind.PDF: "pypdf",
    DocumentKind.WORD: "docx",
    DocumentKind.WORKBOOK: "openpyxl",
    DocumentKind.SLIDES: "pptx",
}
_SPLIT = "split it into smaller documents"
_MENDED = "open it with the program it is from, and save it anew"


def main() -> None:
    """Read the document on standard input; the first argument is its kind."""
    kind = DocumentKind(sys.argv[1])
    restrain()
    read, memory = prepare(kind), MemoryUse()
    open_nothing()
    with os.fdopen(1, "w", encoding="utf-8", errors="replace", closefd=False) as out:
        for line in told(read, memory):
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()  # so that it is said even if the next section is the last straw


def prepare(kind: DocumentKind) -> Callable[[bytes], Read]:
    """The reader of a kind, with everything loaded that it may need: later, nothing can be opened any more."""
    for name in ("encodings", "charset_normalizer", *((_PACKAGES[kind],) if kind in _PACKAGES else ())):
        package = importlib.import_module(name)
        for one in pkgutil.walk_packages(package.__path__, f"{name}."):
            with suppress(ImportError):  # what needs a package or a system that isn't there
                importlib.import_module(one.name)
    reader: Callable[[bytes], Read] = importlib.import_module(f"daemon.tools.documents.formats.{kind}").read
    return reader


def told(read: Callable[[bytes], Read], memory: MemoryUse, document: int = 0) -> Iterator[Line]:
    """All lines on the document: an open file, usually standard input."""
    try:
        yield from _bounded(read(_content(document)))
    except CannotRead as error:
        yield "stopped", error.why, error.sentence, error.hint
    except TimeIsUp:
        yield "stopped", Why.TOO_BIG_INSIDE, "reading it takes too long", _SPLIT
    except Exception as error:  # noqa: BLE001  # packages raise all kinds for what is damaged
        if isinstance(error, MemoryError) or memory.was_short():
            yield "stopped", Why.TOO_BIG_INSIDE, f"reading it takes more than {in_megabytes(MEMORY)} of memory", _SPLIT
        else:
            yield "stopped", Why.DAMAGED, "it is damaged", _MENDED
    else:
        yield ("end",)


def _bounded(read: Read) -> Iterator[Line]:
    """The lines on what a reader gives, up to the most that is read of a document."""
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
    """The document. Raises CannotRead when it is empty or too large."""
    size = os.fstat(document).st_size
    with os.fdopen(document, "rb", closefd=False) as file:
        data = file.read(MOST_BYTES + 1)
    if not data:
        raise CannotRead("it is empty", *NO_TEXT[1:])
    if len(data) > MOST_BYTES:
        sentence = f"it has {in_megabytes(max(size, len(data)))}; {in_megabytes(MOST_BYTES)} are the most"
        raise CannotRead(sentence, "split it, or take its pictures out", Why.TOO_BIG_INSIDE)
    return data
