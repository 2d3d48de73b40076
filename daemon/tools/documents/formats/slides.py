"""The reader of a presentation: the texts, tables and notes of each slide. Macros are never run."""

from collections.abc import Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, cast

from pptx import Presentation

from daemon.core.text import visible_line
from daemon.tools.documents.document import MOST_PAGES, Section
from daemon.tools.documents.formats.archive import check
from daemon.tools.documents.formats.grid import BETWEEN
from daemon.tools.documents.formats.parts import NO_TEXT, CannotRead, LeftOut, Read

if TYPE_CHECKING:
    from pptx.shapes.autoshape import Shape
    from pptx.shapes.base import BaseShape
    from pptx.shapes.graphfrm import GraphicFrame
    from pptx.shapes.group import GroupShape
    from pptx.slide import Slide

_DEEPEST = 16  # nested groups


def read(data: bytes) -> Read:
    """Yield the text of each slide."""
    check(data, "ppt/")
    slides = Presentation(BytesIO(data)).slides
    found = False
    for number, slide in enumerate(slides, start=1):
        if number > MOST_PAGES:
            yield LeftOut(f"of its {len(slides):,} slides the first {MOST_PAGES:,} are read")
            break
        if text := "\n".join(_texts(slide)):
            found = True
            yield Section(f"slide {number}", text)
    if not found:
        raise CannotRead(*NO_TEXT)


def _texts(slide: "Slide") -> Iterator[str]:
    yield from _of_shapes(slide.shapes, 0)
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    if notes is not None and notes.text.strip():
        yield f"Notes: {notes.text.strip()}"


def _of_shapes(shapes: "Iterable[BaseShape]", depth: int) -> Iterator[str]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST:
                yield from _of_shapes(cast("GroupShape", shape).shapes, depth + 1)
        elif shape.has_text_frame:
            if text := cast("Shape", shape).text_frame.text.strip():
                yield text
        elif getattr(shape, "has_table", False):
            yield from _rows(cast("GraphicFrame", shape))


def _rows(shape: "GraphicFrame") -> Iterator[str]:
    for row in shape.table.rows:
        if line := BETWEEN.join(visible_line(cell.text) for cell in row.cells).rstrip(" |"):
            yield line
