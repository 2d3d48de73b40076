"""What is read of documents of every kind, and where it says that it stands."""

import codecs
import datetime as dt
from io import BytesIO

import pytest

from daemon.tools.documents.document import MOST_PAGES, MOST_ROWS, Document, DocumentKind, Section, kind_of
from daemon.tools.documents.reader import read_bytes
from tests.tools.documents import made
from tests.tools.documents.refusals import refused

GREEK = "Ο κλίβανος ραγίζει."  # noqa: RUF001
CITY, CAPITAL = "Санкт-Петербург", "Москва"


async def test_a_pdf_printed_by_a_browser_is_read_page_by_page() -> None:
    found = await read_bytes(DocumentKind.PDF, made.REPORT)
    assert [one.place for one in found.sections] == ["page 1", "page 2", "page 3"]
    assert "The blue kiln cracks when it cools faster than 60 degrees an hour." in found.sections[1].text
    assert GREEK in found.sections[1].text
    assert "Wood 951" in found.sections[2].text
    assert found.left_out == ""


async def test_pages_keep_their_numbers_where_others_hold_no_text() -> None:
    found = await read_bytes(DocumentKind.PDF, made.pdf("first", "", "third"))
    assert [(one.place, one.text.strip()) for one in found.sections] == [("page 1", "first"), ("page 3", "third")]


async def test_a_pdf_that_only_its_owner_may_change_is_read() -> None:
    assert "secret" in (await read_bytes(DocumentKind.PDF, made.protected_pdf("AES-256", password=""))).sections[0].text


@pytest.mark.slow
async def test_of_a_pdf_of_5000_pages_the_first_ones_are_read_and_that_is_reported() -> None:
    found = await read_bytes(DocumentKind.PDF, made.pdf(*(f"page number {number}" for number in range(1, 5001))))
    assert len(found.sections) == MOST_PAGES
    assert found.sections[-1].text.strip() == "page number 1000"
    assert found.left_out == "of its 5,000 pages the first 1,000 are read"


async def test_a_word_document_is_cited_by_its_headings() -> None:
    rows = [["Item", "Drachmas"], ["Clay", "412"]]
    data = made.word("Before.", "# Kilns", "They crack.", "Often.", "# Money", body=made.table(rows))
    assert (await read_bytes(DocumentKind.WORD, data)).sections == (
        Section("paragraph 1", "Before."),
        Section("section Kilns", "Kilns\nThey crack.\nOften."),
        Section("section Money", "Money\nItem | Drachmas\nClay | 412"),
    )


async def test_a_word_document_without_headings_is_cited_by_its_paragraphs() -> None:
    found = await read_bytes(DocumentKind.WORD, made.word(*(f"{number} " + "word " * 50 for number in range(1, 11))))
    assert [one.place for one in found.sections] == ["paragraphs 1-4", "paragraphs 5-8", "paragraphs 9-10"]


async def test_a_word_document_with_macros_is_read_like_any_other() -> None:
    assert (await read_bytes(DocumentKind.WORD, made.word("words", kind="macros"))).sections == (
        Section("paragraph 1", "words"),
    )


async def test_a_workbook_is_cited_by_sheet_and_rows_under_its_first_row() -> None:
    rows: list[list[object]] = [["Region", "Sum"], *([f"r{number}", number / 4] for number in range(2, 61))]
    found = (await read_bytes(DocumentKind.WORKBOOK, made.workbook(Q2=[["x"]], Q3=rows))).sections
    assert [one.place for one in found] == ["sheet Q2, row 1", "sheet Q3, rows 1-40", "sheet Q3, rows 41-60"]
    assert found[2].text.splitlines()[:2] == ["Region | Sum", "r41 | 10.25"]


async def test_a_formula_shows_its_value_or_itself_where_none_is_stored() -> None:
    data = made.workbook(S=[[1, ("A1+1", 2), "=A1+2"]])
    assert (await read_bytes(DocumentKind.WORKBOOK, data)).sections == (Section("sheet S, row 1", "1 | 2 | =A1+2"),)


async def test_a_workbook_of_the_usual_program_is_read() -> None:
    from openpyxl import Workbook

    book, file = Workbook(), BytesIO()
    sheet = book.active
    assert sheet is not None
    sheet.append(["on", "at", "share", "true", "line"])
    sheet.append([dt.date(2026, 5, 1), dt.datetime(2026, 5, 1, 12, 30), 0.1 + 0.2, True, "a\nb"])  # noqa: DTZ001
    sheet["C9"] = "far below"
    book.save(file)
    found = await read_bytes(DocumentKind.WORKBOOK, file.getvalue())
    assert found.sections == (
        Section(
            "sheet Sheet, rows 1-9",
            "on | at | share | true | line\n2026-05-01 | 2026-05-01 12:30:00 | 0.3 | True | a b\n |  | far below",
        ),
    )


async def test_a_presentation_is_cited_by_its_slides_with_their_notes() -> None:
    found = await read_bytes(DocumentKind.SLIDES, made.slides("Kilns", "Looms", notes="Speak slowly."))
    assert found.sections == (
        Section("slide 1", "Kilns\nNotes: Speak slowly."),
        Section("slide 2", "Looms\nNotes: Speak slowly."),
    )


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
async def test_a_table_is_read_whatever_separates_its_cells(separator: str) -> None:
    lines = [("Ort", "Menge"), ("Zürich, Kreis 4" if separator != "," else "Zürich", "4"), ("Bern", "5")]
    data = "\r\n".join(separator.join(line) for line in lines)
    [found] = (await read_bytes(DocumentKind.TABLE, data.encode())).sections
    assert found == Section("rows 1-3", "\n".join(" | ".join(line) for line in lines))


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (b"", "utf-16-le"),
        (b"", "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ],
)
async def test_a_table_in_any_form_of_unicode_is_read_without_a_word(mark: bytes, encoding: str) -> None:
    found = await read_bytes(DocumentKind.TABLE, mark + "Ort,Menge\nMünchen,3\n".encode(encoding))
    assert found == Document((Section("rows 1-2", "Ort | Menge\nMünchen | 3"),))


async def test_a_table_in_an_older_encoding_is_read_and_the_guess_is_reported() -> None:
    words = "город,население\n" + f"{CITY},большой город на реке\n{CAPITAL},столица и очень большой город\n" * 9
    found = await read_bytes(DocumentKind.TABLE, words.encode("cp1251"))
    assert f"{CITY} | большой город на реке" in found.sections[0].text
    assert found.left_out.startswith("it isn't UTF-8; its letters are read as ")


async def test_quoted_cells_keep_their_separators_and_lines() -> None:
    data = b'name,words\nAda,"one, two\nthree"\n'
    assert (await read_bytes(DocumentKind.TABLE, data)).sections[0].text == "name | words\nAda | one, two three"


@pytest.mark.slow
async def test_of_a_huge_table_the_first_rows_are_read_and_that_is_reported() -> None:
    found = await read_bytes(DocumentKind.TABLE, b"1,2\n" * 3_000_000)
    assert found.sections[-1].place.endswith(f"-{MOST_ROWS}")
    assert found.left_out == "the first 50,000 rows are read"


async def test_a_document_of_endless_text_is_read_to_a_place_that_is_reported() -> None:
    found = await read_bytes(DocumentKind.TABLE, b"word " * 600_000)
    assert sum(len(one.text) for one in found.sections) <= 2_000_000
    assert found.left_out == "its text is long: it is read to row 1"


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", DocumentKind)
async def test_an_empty_file_is_said_to_be_empty(kind: DocumentKind) -> None:
    assert await refused(kind, b"") == "it is empty"


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
async def test_a_pdf_with_a_password_is_said_to_have_one(algorithm: str) -> None:
    assert await refused(DocumentKind.PDF, made.protected_pdf(algorithm)) == "it is protected by a password"


@pytest.mark.parametrize("kind", [DocumentKind.WORD, DocumentKind.WORKBOOK, DocumentKind.SLIDES])
async def test_an_office_document_with_a_password_is_said_to_have_one(kind: DocumentKind) -> None:
    assert await refused(kind, made.protected_office()) == "it is protected by a password"


async def test_a_pdf_of_pictures_alone_is_said_to_be_one() -> None:
    assert await refused(DocumentKind.PDF, made.pdf("", "")) == "its pages hold no text, only pictures"


@pytest.mark.parametrize(
    ("data", "begins"),
    [
        (b"MZ\x90\0" + b"\0" * 99, "a Windows program"),
        (b"only words", "plain text"),
        (made.REPORT, "a PDF"),
        (b"{\\rtf1 words}", "an RTF text"),
        (b"\0\1\2", "other data"),
    ],
)
async def test_a_file_that_is_not_what_its_name_says_is_reported_by_what_it_is(data: bytes, begins: str) -> None:
    assert await refused(DocumentKind.WORD, data) == f"it is no Word document, but begins like {begins}"


async def test_other_documents_under_a_wrong_name_are_reported() -> None:
    assert (
        await refused(DocumentKind.PDF, made.word("x"))
        == "it is no PDF, but begins like an archive or an office document"
    )
    assert await refused(DocumentKind.WORD, made.workbook(S=[["x"]])) == "it is no Word document, but a workbook"
    assert (
        await refused(DocumentKind.WORKBOOK, made.archive({"a.txt": "x"}))
        == "it is no workbook, but an archive of another kind"
    )
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 999
    assert await refused(DocumentKind.SLIDES, old) == "it is no presentation of today, but of Office before 2007"
    assert (
        await refused(DocumentKind.TABLE, b"MZ\0\1\2\3" + bytes(range(256)))
        == "it is no table, but begins like a Windows program"
    )


@pytest.mark.parametrize(
    ("kind", "data"),
    [
        (DocumentKind.WORD, made.word("")),
        (DocumentKind.WORKBOOK, made.workbook(S=[])),
        (DocumentKind.SLIDES, made.slides("")),
        (DocumentKind.TABLE, b",,\n,,\n"),
    ],
)
async def test_a_document_without_a_word_is_said_to_hold_no_text(kind: DocumentKind, data: bytes) -> None:
    assert await refused(kind, data) == "it holds no text"


def test_a_kind_is_known_by_the_end_of_a_name_in_any_case() -> None:
    assert [kind_of(name) for name in ("a.PDF", "b.docx", "c.CSV", "pdf", "d.md", "e.pdf.txt")] == [
        DocumentKind.PDF,
        DocumentKind.WORD,
        DocumentKind.TABLE,
        None,
        None,
        None,
    ]
