"""Documents for tests. PDFs, Word documents and workbooks are written here by hand, byte by byte, so that no package
reads only what it wrote itself; `report.pdf` was printed by Chromium.
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

REPORT = Path(__file__).with_name("report.pdf").read_bytes()
"""Three pages: an introduction, kilns (in English and Greek), and a table of money."""

_FONT = "/Resources << /Font << /F1 3 0 R >> "
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_S = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
_TYPES = "application/vnd.openxmlformats-officedocument"
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"

DRAWING = "0 0 100 100 re f"
_PICTURE = "100 0 0 100 0 0 cm /X Do"
_IMAGE = "<< /Type /XObject /Subtype/Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>"


def pdf(*pages: str) -> bytes:
    """A PDF; a page without a text is a picture alone, one of a `DRAWING` that, its stream compressed."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        written = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET" if text else _PICTURE
        drawn = text if text == DRAWING else written
        shown = "" if text else f"/XObject << /X {4 + 2 * len(pages)} 0 R >>"
        stream = zlib.compress(drawn.encode("latin-1")).decode("latin-1")
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] {_FONT}{shown} >> /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n{stream}\nendstream",
        ]
    objects += [] if all(pages) else [f"{_IMAGE}\nstream\n0\nendstream"]
    data, starts = bytearray(b"%PDF-1.4\n"), []
    for number, body in enumerate(objects, start=1):
        starts.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{start:010} 00000 n \n" for start in starts)
    count = len(objects) + 1
    data += f"xref\n0 {count}\n0000000000 65535 f \n{table}".encode()
    return bytes(
        data
        + f"trailer\n<< /Size {count} /Root 1 0 R >>\nstartxref\n{data.index(b'xref', starts[-1])}\n%%EOF\n".encode()
    )


def form(page: str, **fields: str) -> bytes:
    """A PDF of one page with a form; a value that begins with `/` is a choice, and an empty one is not filled."""
    from pypdf import PdfReader, PdfWriter
    from pypdf.generic import ArrayObject, DictionaryObject, NameObject, TextStringObject

    writer = PdfWriter(clone_from=PdfReader(BytesIO(pdf(page))))
    kids = ArrayObject()
    for name, value in fields.items():
        field = DictionaryObject({NameObject("/T"): TextStringObject(name), NameObject("/FT"): NameObject("/Tx")})
        if value:
            field[NameObject("/V")] = NameObject(value) if value.startswith("/") else TextStringObject(value)
        kids.append(writer._add_object(field))
    writer._root_object[NameObject("/AcroForm")] = DictionaryObject({NameObject("/Fields"): kids})
    file = BytesIO()
    writer.write(file)
    return file.getvalue()


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as made:
        for name, body in parts.items():
            made.writestr(name, body)
    return file.getvalue()


def word(*paragraphs: str, head: str = "", body: str = "", kind: str = "document") -> bytes:
    """A Word document; a paragraph that begins with `# ` is a heading. `head` stands before the root, `body` last."""
    return archive(word_parts(*paragraphs, head=head, body=body, kind=kind))


def word_parts(*paragraphs: str, head: str = "", body: str = "", kind: str = "document") -> dict[str, str | bytes]:
    texts = "".join(map(_paragraph, paragraphs)) + body
    types = {
        "document": f"{_TYPES}.wordprocessingml.document.main+xml",
        "macros": "application/vnd.ms-word.document.macroEnabled.main+xml",
    }
    styles = (
        f'<w:styles {_W}><w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>'
        "</w:styles>"
    )
    return {
        **_package("word/document.xml", {"word/document.xml": types[kind], "word/styles.xml": _STYLES_TYPE}),
        "word/_rels/document.xml.rels": _relations(("styles", "styles.xml")),
        "word/styles.xml": styles,
        "word/document.xml": f"{head}<w:document {_W}><w:body>{texts}</w:body></w:document>",
    }


def with_declared_size(data: bytes, name: str, size: int) -> bytes:
    """An archive that declares another size of the last part of this name."""
    changed = bytearray(data)
    struct.pack_into("<I", changed, changed.rindex(name.encode()) - 46 + 24, size)  # in its central directory
    return bytes(changed)


def table(rows: Sequence[Sequence[str]]) -> str:
    cells = ("".join(f"<w:tc>{_paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def workbook(**sheets: Sequence[Sequence[object]]) -> bytes:
    """A workbook; text that begins with `=` is a formula without a value, a pair a formula with its value."""
    named = "".join(
        f'<sheet name="{name}" sheetId="{number}" r:id="r{number}"/>' for number, name in enumerate(sheets, start=1)
    )
    parts = {
        f"xl/worksheets/s{number}.xml": f"<worksheet {_S}><sheetData>{_rows(rows)}</sheetData></worksheet>"
        for number, rows in enumerate(sheets.values(), start=1)
    }
    types = {
        "xl/workbook.xml": f"{_TYPES}.spreadsheetml.sheet.main+xml",
        **dict.fromkeys(parts, f"{_TYPES}.spreadsheetml.worksheet+xml"),
    }
    related = [("worksheet", name.removeprefix("xl/")) for name in parts]
    return archive(
        {
            **_package("xl/workbook.xml", types),
            "xl/_rels/workbook.xml.rels": _relations(*related),
            "xl/workbook.xml": f"<workbook {_S} {_R}><sheets>{named}</sheets></workbook>",
            **parts,
        }
    )


def with_styles(book: bytes, styles: str) -> bytes:
    """A workbook with a part of styles, whose numbers name the second of them."""
    with ZipFile(BytesIO(book)) as made:
        parts: dict[str, str | bytes] = {
            name: made.read(name).replace(b"<c><v>", b'<c s="1"><v>') for name in made.namelist()
        }
    return archive(parts | {"xl/styles.xml": f"<styleSheet {_S}>{styles}</styleSheet>"})


def slides(*texts: str, notes: str = "") -> bytes:
    """A presentation; python-pptx writes it, since it takes two dozen parts."""
    from pptx import Presentation

    shown = Presentation()
    for text in texts:
        slide = shown.slides.add_slide(shown.slide_layouts[5])
        assert slide.shapes.title is not None
        slide.shapes.title.text = text
        if notes:
            frame = slide.notes_slide.notes_text_frame
            assert frame is not None
            frame.text = notes
    file = BytesIO()
    shown.save(file)
    return file.getvalue()


def protected_pdf(algorithm: str, password: str = "sesame") -> bytes:
    """A PDF that opens with a password alone."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(BytesIO(pdf("secret"))))
    writer.encrypt(user_password=password, owner_password="owner", algorithm=algorithm)
    file = BytesIO()
    writer.write(file)
    return file.getvalue()


def protected_office() -> bytes:
    """The beginning of an office document with a password: a container of streams, named as MS-OFFCRYPTO has it."""
    names = ("Root Entry", "EncryptionInfo", "EncryptedPackage")
    entries = b"".join(name.encode("utf-16-le").ljust(128, b"\0") for name in names)
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0") + entries.ljust(4096, b"\0")


_STYLES_TYPE = f"{_TYPES}.wordprocessingml.styles+xml"


def _package(main: str, types: Mapping[str, str]) -> dict[str, str | bytes]:
    overrides = "".join(f'<Override PartName="/{name}" ContentType="{kind}"/>' for name, kind in types.items())
    return {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>',
        "_rels/.rels": _relations(("officeDocument", main)),
    }


def _relations(*related: tuple[str, str]) -> str:
    lines = "".join(
        f'<Relationship Id="r{number}" Type="{_RELATIONS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(related, start=1)
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">{lines}</Relationships>'
    )


def _paragraph(text: str) -> str:
    style = '<w:pPr><w:pStyle w:val="berschrift1"/></w:pPr>' if text.startswith("# ") else ""
    return f"<w:p>{style}<w:r><w:t>{text.removeprefix('# ')}</w:t></w:r></w:p>"


def _rows(rows: Sequence[Sequence[object]]) -> str:
    return "".join(f'<row r="{number}">{"".join(map(_cell, row))}</row>' for number, row in enumerate(rows, start=1))


def _cell(value: object) -> str:
    if isinstance(value, tuple):
        formula, result = value
        return f"<c><f>{formula}</f><v>{result}</v></c>"
    if isinstance(value, str) and value.startswith("="):
        return f"<c><f>{value.removeprefix('=')}</f></c>"
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>'
    return f"<c><v>{value}</v></c>"
