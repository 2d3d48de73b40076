"""Questions that a document in the library answers: the reply names the page, the sheet, or the rows."""

from pathlib import Path

from tests.given import shown, tagged
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, indexed, script, solver
from tests.tools.documents import made
from tests.unit.ism_parts import chosen

RESPOND = chosen("Respond")


async def test_a_reply_cites_page_sheet_and_rows_of_documents(empty_house: House, tmp_path: Path) -> None:
    house, docs = empty_house, tmp_path / "docs"
    docs.mkdir()
    (docs / "report.pdf").write_bytes(made.REPORT)
    (docs / "budget.xlsx").write_bytes(made.workbook(Q3=[["Item", "Drachmas"], ["Kiln bricks", 77]]))
    (docs / "stock.csv").write_bytes("Ware;Menge\nRostgitter;5\n".encode("utf-16"))
    (docs / "locked.pdf").write_bytes(made.protected_pdf("AES-256"))
    await solver(house, library=(docs,))
    await indexed(house, 4)
    script(
        house,
        chosen(("Research", "kiln cracks")),
        chosen(("Research", "bricks")),
        chosen(("Research", "Rostgitter Menge")),
        RESPOND,
        external_dialog="It cools too fast [1]. New bricks cost 77 drachmas [2], and 5 grates are left [3].",
    )
    answer = await house.answered("Ada", "dm", PROBLEM)
    read = house.last_prompt()
    assert "cracks when it cools faster than 60 degrees an hour" in read
    assert "Kiln bricks | 77" in read
    assert "Rostgitter | 5" in read
    assert answer.splitlines()[-3:] == [
        "[1] `docs/report.pdf, page 2`",
        "[2] `docs/budget.xlsx, sheet Q3, rows 1-2`",
        "[3] `docs/stock.csv, rows 1-2`",
    ]
    [(_, reported)] = [(event, fields) for event, fields in house.events.emitted if event == "library.file_refused"]
    assert reported["path"] == "docs/locked.pdf"
    house.model.default = tagged("It cools too fast [m1].")
    answer = await house.answered("Ben", "dm", "Why does the blue kiln crack?")
    read = shown([prompt for prompt in house.prompts if prompt.step == "respond"][-1])
    assert "cracks when it cools faster than 60 degrees an hour" in read
    assert answer == "It cools too fast [m1].\n\n[m1] `docs/report.pdf, page 2`", "in ordinary talk it is cited, too"
