"""The reader of a Word document: paragraphs and tables under their headings. Macros are never run."""

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, cast

from docx.opc.part import PartFactory
from docx.oxml.ns import qn
from docx.package import Package
from docx.parts.document import DocumentPart
from docx.table import Table
from docx.text.paragraph import Paragraph

from daemon.core.text import visible_line
from daemon.tools.documents.document import Section, Why
from daemon.tools.documents.formats.archive import check
from daemon.tools.documents.formats.grid import BETWEEN
from daemon.tools.documents.formats.parts import NO_TEXT, CannotRead, LeftOut, Read

if TYPE_CHECKING:
    from docx.oxml.xmlchemy import BaseOxmlElement
    from docx.table import _Cell

_MACRO = "application/vnd.ms-word.document.macroEnabled.main+xml"
_DELETED = qn("w:del"), qn("w:moveFrom")
_INSERTED = qn("w:ins"), qn("w:moveTo")
_ABOUT_FRAMES = qn("w:sdtPr"), qn("w:sdtEndPr"), qn("w:smartTagPr"), qn("w:customXmlPr")
_FRAMES = qn("w:sdt"), qn("w:sdtContent"), qn("w:smartTag"), qn("w:customXml"), qn("w:fldSimple")
_LONGEST_HEADING = 60
_CHARACTERS = 1_200  # of a section without a heading
_DEEPEST = 8  # nested tables


def read(data: bytes) -> Read:
    """Yield the text below each heading. Text without a heading is yielded in blocks of paragraphs.

    Places are headings or paragraphs: page numbers are made by the program that prints a document.
    """
    check(data, "word/")
    PartFactory.part_type_for[_MACRO] = DocumentPart  # else the package refuses documents with macros
    part = cast("DocumentPart", Package.open(BytesIO(data)).main_document_part)
    if not isinstance(part, DocumentPart):
        raise CannotRead("its main part is no Word document", "save it anew with an office program", Why.OTHER_FORMAT)
    if _accept_changes(part.element):
        yield LeftOut("its tracked changes are read as if all were accepted")
    found = False
    for one in _sections(part.document.iter_inner_content()):
        found = True
        yield one
    if not found:
        raise CannotRead(*NO_TEXT)


def _accept_changes(document: "BaseOxmlElement") -> bool:
    """Remove deleted text, and replace insertions and other frames by their content, both of which the package skips.

    Returns True if there were tracked changes.
    """
    changed = any(True for _ in document.iter(*_DELETED, *_INSERTED))
    for row in document.xpath("//w:tr[w:trPr/w:del]"):
        row.getparent().remove(row)
    for one in list(document.iter(*_DELETED, *_ABOUT_FRAMES)):
        one.getparent().remove(one)
    for frame in list(document.iter(*_INSERTED, *_FRAMES)):
        outer = frame.getparent()
        place = outer.index(frame)
        outer[place : place + 1] = list(frame)
    return changed


def _sections(content: Iterator[Paragraph | Table]) -> Iterator[Section]:
    heading, size, first, number = "", 0, 1, 0
    held: list[str] = []
    for number, item in enumerate(content, start=1):
        text = item.text.strip() if isinstance(item, Paragraph) else "\n".join(_rows(item, 0))
        begins = isinstance(item, Paragraph) and bool(text) and _is_heading(item)
        if held and (begins or (not heading and size + len(text) > _CHARACTERS)):
            yield _section(heading, first, number - 1, held)
            held, size = [], 0
        if begins:
            heading = visible_line(text)[:_LONGEST_HEADING]
        if text:
            first = first if held else number
            held.append(text)
            size += len(text)
    if held:
        yield _section(heading, first, number, held)


def _section(heading: str, first: int, last: int, texts: list[str]) -> Section:
    counted = f"paragraph {first}" if first == last else f"paragraphs {first}-{last}"
    return Section(f"section {heading}" if heading else counted, "\n".join(texts))


def _is_heading(paragraph: Paragraph) -> bool:
    style = paragraph.style
    return style is not None and (style.name or "").startswith(("Heading", "Title"))


def _rows(table: Table, depth: int) -> Iterator[str]:
    """Yield the rows of a table, a line each. A cell that spans several columns is yielded once."""
    for row in table.rows:
        cells = {id(cell._tc): cell for cell in row.cells}  # noqa: SLF001  # nothing public tells merged cells apart
        line = BETWEEN.join(_cell(cell, depth) for cell in cells.values()).rstrip(" |")
        if line:
            yield line


def _cell(cell: "_Cell", depth: int) -> str:
    if depth >= _DEEPEST:
        return ""
    texts = [
        item.text if isinstance(item, Paragraph) else " / ".join(_rows(item, depth + 1))
        for item in cell.iter_inner_content()
    ]
    return visible_line(" ".join(texts))
