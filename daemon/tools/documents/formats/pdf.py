"""The reader of a PDF: its pages, and the values of its form."""

import re
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import chain, groupby

from pypdf import PdfReader
from pypdf.generic import NameObject

from daemon.core.text import visible_line
from daemon.tools.documents.document import MOST_PAGES, Section, Why
from daemon.tools.documents.formats.parts import NO_TEXT, PROTECTED, CannotRead, LeftOut, Read, misnamed
from daemon.tools.documents.marks import PDF_WITHIN

_MOST_NAMED = 20  # pages
_IMAGE = re.compile(rb"/Subtype\s*/Image\b")  # in the image's dictionary, which is never compressed


def read(data: bytes) -> Read:
    """Yield the values of the form and the text of each page. Pages count as in PDF viewers."""
    begin = data[:PDF_WITHIN].find(b"%PDF-")
    if begin < 0:
        raise misnamed(data, "PDF")
    reader = PdfReader(BytesIO(data[begin:]))  # its offsets count from this mark
    if reader.is_encrypted and not reader.decrypt(""):
        raise CannotRead(*PROTECTED)
    count, unread = len(reader.pages), list[int]()
    found = False
    for one in chain(_form(reader), _pages(reader, min(count, MOST_PAGES), unread)):
        found = found or isinstance(one, Section)
        yield one
    if not found:
        raise _without_text(data, reader, unread)
    if unread:
        yield LeftOut(f"of its {count:,} pages these can't be read: {_in_words(unread)}")
    if count > MOST_PAGES:
        yield LeftOut(f"of its {count:,} pages the first {MOST_PAGES:,} are read")


def _form(reader: PdfReader) -> Read:
    """Yield the filled fields, a line each, which no page shows as its text."""
    try:
        fields = reader.get_fields() or {}
        lines = [
            f"{visible_line(str(field.get('/TU') or name))}: {value}"
            for name, field in fields.items()
            if (value := _in_a_line(field.get("/V")))
        ]
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001  # a damaged form spoils no page, and the package raises all kinds
        yield LeftOut("its form can't be read")
        return
    if lines:
        yield Section("form", "\n".join(lines))


def _in_a_line(value: object) -> str:
    if isinstance(value, NameObject):
        return "" if value == "/Off" else visible_line(value.removeprefix("/"))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_in_a_line, value)))
    return visible_line(value).strip() if isinstance(value, str) else ""


def _pages(reader: PdfReader, count: int, unread: list[int]) -> Iterator[Section]:
    """Yield the pages with text. The numbers of unreadable pages are added to `unread`."""
    for number in range(1, count + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # a damaged page spoils only itself, and the package raises all kinds
            unread.append(number)
            continue
        if text.strip():
            yield Section(f"page {number}", text)


def _without_text(data: bytes, reader: PdfReader, unread: Sequence[int]) -> CannotRead:
    if unread:
        return CannotRead("none of its pages can be read: it is damaged", "open it and save it anew")
    if not (_IMAGE.search(data) and any(page.get_contents() is not None for page in reader.pages)):
        return CannotRead(*NO_TEXT)
    hint = "have a program for text recognition (OCR) add the text"
    return CannotRead("its pages hold no text, only pictures", hint, Why.ONLY_PICTURES)


def _in_words(pages: Sequence[int]) -> str:
    """Return page numbers as text, runs of them as first and last: `3, 7-9`."""
    runs = [[page for _, page in run] for _, run in groupby(enumerate(pages), lambda pair: pair[1] - pair[0])]
    named = [f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(named[:_MOST_NAMED]) + (" and more" if len(named) > _MOST_NAMED else "")
