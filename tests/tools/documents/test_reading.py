"""What is read of documents of every kind, and where it says that it stands."""

import codecs
import datetime as dt
from collections.abc import Callable
from io import BytesIO

import pytest

from daemon.tools.documents.document import MOST_PAGES, MOST_ROWS, Document, DocumentKind, Section, kind_of
from daemon.tools.documents.encodings import decoded, guessed
from daemon.tools.documents.reader import read_bytes
from tests.tools.documents import made
from tests.tools.documents.refusals import read_here, refused_here

GREEK = "Ο κλίβανος ραγίζει."  # noqa: RUF001
CITY, CAPITAL = "Санкт-Петербург", "Москва"


KINDS: dict[DocumentKind, tuple[Callable[[], bytes], str]] = {
    DocumentKind.PDF: (lambda: made.protected_pdf("AES-256", password=""), "secret"),
    DocumentKind.WORD: (lambda: made.word("words", kind="macros"), "words"),
    DocumentKind.WORKBOOK: (lambda: made.workbook(S=[[1, ("A1+1", 2), "=A1+2"]]), "1 | 2 | =A1+2"),
    DocumentKind.SLIDES: (lambda: made.slides("Kilns", notes="Speak slowly."), "Kilns\nNotes: Speak slowly."),
    DocumentKind.TABLE: (lambda: "Ort;Menge\nZürich;4\n".encode("cp1252") * 20, "Zürich | 4"),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_document_of_each_kind_is_read_in_a_process_that_can_open_nothing(kind: DocumentKind) -> None:
    """One that only its owner may change, one with macros, one with formulas, one with notes, one in an old encoding.

    What it takes to read them is loaded before; what else is read of them is shown below, without a process.
    """
    write, words = KINDS[kind]
    assert words in (await read_bytes(kind, write())).sections[0].text


def test_a_pdf_is_read_page_by_page_and_pages_keep_their_numbers() -> None:
    found = read_here(DocumentKind.PDF, made.REPORT)
    assert [one.place for one in found.sections] == ["page 1", "page 2", "page 3"]
    assert "The blue kiln cracks when it cools faster than 60 degrees an hour." in found.sections[1].text
    assert GREEK in found.sections[1].text
    assert "Wood 951" in found.sections[2].text
    assert found.left_out == ""
    found = read_here(DocumentKind.PDF, made.pdf("first", "", "third"))
    assert [(one.place, one.text.strip()) for one in found.sections] == [("page 1", "first"), ("page 3", "third")]
    data = made.form("Account for refunds:", account="IBAN DE02 1203", agreed="/Yes", declined="/Off", note="")
    found = read_here(DocumentKind.PDF, data)
    assert [(one.place, one.text.strip()) for one in found.sections] == [
        ("form", "account: IBAN DE02 1203\nagreed: Yes"),
        ("page 1", "Account for refunds:"),
    ]
    assert read_here(DocumentKind.PDF, made.form("", account="IBAN")).sections == (Section("form", "account: IBAN"),)


@pytest.mark.slow
def test_of_a_pdf_of_5000_pages_the_first_ones_are_read_and_that_is_reported() -> None:
    found = read_here(DocumentKind.PDF, made.pdf(*(f"page number {number}" for number in range(1, 5001))))
    assert len(found.sections) == MOST_PAGES
    assert found.sections[-1].text.strip() == "page number 1000"
    assert found.left_out == "of its 5,000 pages the first 1,000 are read"


def test_a_word_document_is_cited_by_its_headings_or_paragraphs_with_what_stands_in_fields() -> None:
    rows = [["Item", "Drachmas"], ["Clay", "412"]]
    data = made.word("Before.", "# Kilns", "They crack.", "Often.", "# Money", body=made.table(rows))
    assert read_here(DocumentKind.WORD, data).sections == (
        Section("paragraph 1", "Before."),
        Section("section Kilns", "Kilns\nThey crack.\nOften."),
        Section("section Money", "Money\nItem | Drachmas\nClay | 412"),
    )
    found = read_here(DocumentKind.WORD, made.word(*(f"{number} " + "word " * 50 for number in range(1, 11))))
    assert [one.place for one in found.sections] == ["paragraphs 1-4", "paragraphs 5-8", "paragraphs 9-10"]
    framed = f"<w:sdt><w:sdtPr/><w:sdtContent><w:p><w:smartTag>{_run('Ada')}</w:smartTag></w:p></w:sdtContent></w:sdt>"
    field = f'<w:p><w:fldSimple w:instr="DATE">{_run("1 May")}</w:fldSimple></w:p>'
    found = read_here(DocumentKind.WORD, made.word(body=framed + field))
    assert found == Document((Section("paragraphs 1-2", "Ada\n1 May"),))


def test_a_workbook_is_cited_by_sheet_and_rows_and_read_without_styles_that_are_broken() -> None:
    rows: list[list[object]] = [["Region", "Sum"], *([f"r{number}", number / 4] for number in range(2, 61))]
    cited = read_here(DocumentKind.WORKBOOK, made.workbook(Q2=[["x"]], Q3=rows)).sections
    assert [one.place for one in cited] == ["sheet Q2, row 1", "sheet Q3, rows 1-40", "sheet Q3, rows 41-60"]
    assert cited[2].text.splitlines()[:2] == ["Region | Sum", "r41 | 10.25"]
    for styles in ("<fills><fill/></fills>", "<cellXfs><xf numFmtId='x'/></cellXfs>", "<fonts"):
        found = read_here(DocumentKind.WORKBOOK, made.with_styles(made.workbook(S=[["Sum", 5]]), styles))
        assert [one.text for one in found.sections] == ["Sum | 5"], styles
        assert found.left_out == "its styles can't be read, so dates stand as numbers"


def test_a_workbook_of_the_usual_program_is_read() -> None:
    from openpyxl import Workbook

    book, file = Workbook(), BytesIO()
    sheet = book.active
    assert sheet is not None
    sheet.append(["on", "at", "share", "true", "line"])
    sheet.append([dt.date(2026, 5, 1), dt.datetime(2026, 5, 1, 12, 30), 0.1 + 0.2, True, "a\nb"])  # noqa: DTZ001
    sheet["C9"] = "far below"
    book.save(file)
    assert read_here(DocumentKind.WORKBOOK, file.getvalue()).sections == (
        Section(
            "sheet Sheet, rows 1-9",
            "on | at | share | true | line\n2026-05-01 | 2026-05-01 12:30:00 | 0.3 | True | a b\n |  | far below",
        ),
    )


def test_values_of_a_workbook_are_read_as_their_number_formats_show_them() -> None:
    from openpyxl import Workbook

    hour = dt.timedelta(hours=1)
    table: tuple[tuple[float | str | dt.date | dt.timedelta, str, str], ...] = (
        (0.25, "0%", "25%"),
        (0.0725, "0.00%", "7.25%"),
        (-0.5, '[Red]0.0%;-0.0%;"none %"', "-50%"),
        (0.29, "0%", "29%"),
        (0.25, '0.00" % of it"', "0.25"),
        (25, "0\\%", "25"),
        (0.25, "0.00", "0.25"),
        (7, "00000", "00007"),
        (1234567, "00000", "1234567"),
        (7.5, "00", "7.5"),
        (-7, "000", "-7"),
        (7, "0", "7"),
        (26 * hour, "[h]:mm", "26:00"),
        (26 * hour + dt.timedelta(seconds=5), "[h]:mm:ss", "26:00:05"),
        (hour / 2, "[mm]:ss", "0:30"),
        (dt.date(2026, 5, 1), "d. mmmm yyyy", "2026-05-01"),
        (True, "0%", "True"),
        ("7", "00000", "7"),
    )
    book, file = Workbook(), BytesIO()
    sheet = book.active
    assert sheet is not None
    for number, (value, form, _) in enumerate(table, start=1):
        sheet.cell(number, 1, value).number_format = form
    book.save(file)
    [found] = read_here(DocumentKind.WORKBOOK, file.getvalue()).sections
    assert found.text.splitlines() == [shown for *_, shown in table]


def test_a_presentation_is_cited_by_its_slides_with_their_notes() -> None:
    found = read_here(DocumentKind.SLIDES, made.slides("Kilns", "Looms", notes="Speak slowly."))
    assert found.sections == (
        Section("slide 1", "Kilns\nNotes: Speak slowly."),
        Section("slide 2", "Looms\nNotes: Speak slowly."),
    )


def test_a_table_is_read_whatever_separates_its_cells() -> None:
    for separator in (",", ";", "\t", "|"):
        lines = [("Ort", "Menge"), ("Zürich, Kreis 4" if separator != "," else "Zürich", "4"), ("Bern", "5")]
        data = "\r\n".join(separator.join(line) for line in lines)
        [found] = read_here(DocumentKind.TABLE, data.encode()).sections
        assert found == Section("rows 1-3", "\n".join(" | ".join(line) for line in lines)), separator
    [quoted] = read_here(DocumentKind.TABLE, b'name,words\nAda,"one, two\nthree"\n').sections
    assert quoted.text == "name | words\nAda | one, two three"


def test_a_table_in_any_encoding_is_read_and_a_guess_or_what_is_left_out_is_told() -> None:
    for mark, encoding in (
        (b"", "utf-8"),
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (b"", "utf-16-le"),
        (b"", "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
    ):
        found = read_here(DocumentKind.TABLE, mark + "Ort,Menge\nMünchen,3\n".encode(encoding))
        guess = "" if mark or encoding == "utf-8" else guessed(encoding)
        assert found == Document((Section("rows 1-2", "Ort | Menge\nMünchen | 3"),), guess), (mark, encoding)
    words = "город,население\n" + f"{CITY},большой город на реке\n{CAPITAL},столица и очень большой город\n" * 9
    found = read_here(DocumentKind.TABLE, words.encode("cp1251"))
    assert f"{CITY} | большой город на реке" in found.sections[0].text
    assert found.left_out.startswith("it isn't UTF-8; its letters are read as ")
    found = read_here(DocumentKind.TABLE, b"1,2\n" * (MOST_ROWS + 1))
    assert found.sections[-1].place.endswith(f"-{MOST_ROWS}")
    assert found.left_out == "the first 50,000 rows are read"
    found = read_here(DocumentKind.TABLE, b"word " * 600_000)
    assert sum(len(one.text) for one in found.sections) <= 2_000_000
    assert found.left_out == "its text is long: it is read to row 1"


def test_text_in_older_encodings_is_read_even_if_it_is_short_and_the_guess_is_told() -> None:
    for encoding, text in (
        ("cp1252", "Name;Straße\nBäckerei;Groß\n"),
        ("cp1252", "SELECT 'naïve café', 12 FROM prices -- 5 €\n"),
        ("cp1252", "BMW i3 fällig am 3. März\n"),
        ("cp1252", "Il dit: «\u00a0Était-ce déjà fini\u00a0?\u00a0»\n"),
        ("cp1250", "Zażółć gęślą jaźń, są też inne\n"),
        ("cp1251", "Привет, мир\n"),
        ("cp932", "商品,数量\nりんご,3\n"),
        ("cp932", "売上,経費\n100,200\n"),
        ("cp932", "名前,住所\n田中,東京都港区\n"),
        ("cp1252", "I don\u2019t think it\u2019s ours\n"),
        ("euc_jp", "こんにちは。今日は晴れです。\n"),
        ("gb18030", "姓名,数量\n张三,3\n"),
        ("euc_kr", "이름,수량\n김철수,3\n"),
        ("utf-16-le", "Größe,3\n"),
        ("utf-16-be", "商品,数量\r\nりんご,3\r\n"),
    ):
        assert decoded(text.encode(encoding)) == (text, encoding), text
    broken = "Größe, Höhe, Länge".encode() + b"\xc3"
    assert decoded(broken) == ("Größe, Höhe, Länge\ufffd", "UTF-8 all the same")
    for data in (b"a secret word\0", b"MZ\0\0", b"\xff\xff\xff", bytes(range(256)), b"caf\xe9 \x01"):
        assert decoded(data) is None, data


def _run(text: str, tag: str = "t") -> str:
    return f'<w:r><w:{tag} xml:space="preserve">{text}</w:{tag}></w:r>'


def test_tracked_changes_are_read_as_if_accepted_and_that_is_told() -> None:
    fee = (
        f"<w:p>{_run('The fee is ')}<w:del>{_run('9,000', 'delText')}</w:del><w:ins>{_run('12,500')}</w:ins>"
        f"{_run(' euro.')}</w:p>"
    )
    clause = f"<w:p><w:pPr><w:rPr><w:ins/></w:rPr></w:pPr><w:ins>{_run('A new clause.')}</w:ins></w:p>"
    moved = f"<w:p><w:moveFrom>{_run('gone')}</w:moveFrom></w:p><w:p><w:moveTo>{_run('came')}</w:moveTo></w:p>"
    rows = made.table([["kept"], ["struck"]]).replace(
        "<w:tr><w:tc><w:p><w:r><w:t>struck", "<w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:r><w:t>struck"
    )
    found = read_here(DocumentKind.WORD, made.word(body=fee + clause + moved + rows))
    assert [one.text for one in found.sections] == ["The fee is 12,500 euro.\nA new clause.\ncame\nkept"]
    assert found.left_out == "its tracked changes are read as if all were accepted"


def test_an_empty_or_wordless_or_protected_document_is_said_to_be_one() -> None:
    wordless = {
        DocumentKind.WORD: made.word(""),
        DocumentKind.WORKBOOK: made.workbook(S=[]),
        DocumentKind.SLIDES: made.slides(""),
        DocumentKind.TABLE: b",,\n,,\n",
        DocumentKind.PDF: made.pdf("").replace(b"/Contents", b"/Nothing_"),
    }
    office = (DocumentKind.WORD, DocumentKind.WORKBOOK, DocumentKind.SLIDES)
    for documents, said in (
        (dict.fromkeys(DocumentKind, b""), "it is empty"),
        (wordless, "it holds no text"),
        ({DocumentKind.PDF: made.pdf("", "")}, "its pages hold no text, only pictures"),
        ({DocumentKind.PDF: made.pdf(made.DRAWING, "")}, "its pages hold no text, only pictures"),
        ({DocumentKind.PDF: made.pdf(made.DRAWING)}, "it holds no text"),
        ({DocumentKind.PDF: made.pdf(made.DRAWING, made.DRAWING)}, "it holds no text"),
        ({DocumentKind.PDF: made.protected_pdf("RC4-128")}, "it is protected by a password"),
        ({DocumentKind.PDF: made.protected_pdf("AES-256")}, "it is protected by a password"),
        (dict.fromkeys(office, made.protected_office()), "it is protected by a password"),
    ):
        for kind, data in documents.items():
            assert refused_here(kind, data) == said, kind


def test_a_file_that_is_not_what_its_name_says_is_reported_by_what_it_is() -> None:
    word = DocumentKind.WORD
    program = b"MZ\0\1\2\3" + bytes(range(256))
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 999
    for kind, data, said in (
        (word, b"MZ\x90\0" + b"\0" * 99, "it is no Word document, but begins like a Windows program"),
        (word, b"only words", "it is no Word document, but begins like plain text"),
        (word, made.REPORT, "it is no Word document, but begins like a PDF"),
        (word, b"{\\rtf1 words}", "it is no Word document, but begins like an RTF text"),
        (word, b"\0\1\2", "it is no Word document, but begins like other data"),
        (word, made.workbook(S=[["x"]]), "it is no Word document, but a workbook"),
        (DocumentKind.PDF, made.word("x"), "it is no PDF, but begins like an archive or an office document"),
        (DocumentKind.WORKBOOK, made.archive({"a.txt": "x"}), "it is no workbook, but an archive of another kind"),
        (DocumentKind.SLIDES, old, "it is no presentation of today, but of Office before 2007"),
        (DocumentKind.TABLE, program, "it is no table, but begins like a Windows program"),
    ):
        assert refused_here(kind, data) == said


def test_a_kind_is_known_by_the_end_of_a_name_in_any_case() -> None:
    known = {"a.PDF": DocumentKind.PDF, "b.docx": DocumentKind.WORD, "c.CSV": DocumentKind.TABLE}
    assert {name: kind_of(name) for name in known} == known
    assert [kind_of(name) for name in ("pdf", "d.md", "e.pdf.txt")] == [None] * 3
