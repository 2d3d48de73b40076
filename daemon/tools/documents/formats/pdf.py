"""Reads the pages of a PDF."""

from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import groupby

from pypdf import PdfReader

from daemon.tools.documents.document import MOST_PAGES, Section
from daemon.tools.documents.formats.parts import PROTECTED, CannotRead, LeftOut, Read, misnamed

_MAGIC_WITHIN = 1024  # bytes: programs that show PDFs look no further for their first mark
_MOST_NAMED = 20  # pages


def read(data: bytes) -> Read:
    """The text of each page; places are counted as programs that show PDFs count them."""
    if b"%PDF-" not in data[:_MAGIC_WITHIN]:
        raise misnamed(data, "PDF")
    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        raise CannotRead(*PROTECTED)
    count, unread = len(reader.pages), list[int]()
    found = False
    for one in _pages(reader, min(count, MOST_PAGES), unread):
        found = True
        yield one
    if not found:
        raise _without_text(unread)
    if unread:
        yield LeftOut(f"of its {count:,} pages these can't be read: {_in_words(unread)}")
    if count > MOST_PAGES:
        yield LeftOut(f"of its {count:,} pages the first {MOST_PAGES:,} are read")


def _pages(reader: PdfReader, count: int, unread: list[int]) -> Iterator[Section]:
    """The pages with text; the numbers of those that can't be read are put into `unread`."""
    for number in range(1, count + 1):
        try:
            text = reader.pages[number - 1].extract_text()
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001  # a damaged page spoils no other, and the package raises all kinds
            unread.append(number)
            continue
        if text.strip():
            yield Section(f"page {number}", text)


def _without_text(unread: Sequence[int]) -> CannotRead:
    if unread:
        return CannotRead("none of its pages can be read: it is damaged", "open it and save it anew")
    return CannotRead("its pages hold no text, only pictures", "have a program for text recognition (OCR) add the text")


def _in_words(pages: Sequence[int]) -> str:
    """Page numbers, runs of them as first and last: `3, 7-9`."""
    runs = [[page for _, page in run] for _, run in groupby(enumerate(pages), lambda pair: pair[1] - pair[0])]
    named = [f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs]
    return ", ".join(named[:_MOST_NAMED]) + (" and more" if len(named) > _MOST_NAMED else "")
