"""`soul memory passport` and `soul memory verify`, as an admin types them."""

import json
from pathlib import Path

from tests.cli.conftest import as_json, call
from tests.cli.stocked import change, one, rows, stock
from tests.store.passports import EPISODE, SENSE, write


def test_a_passport_is_written_checked_and_brought_back(home: Path) -> None:
    path = stock(home / "memory.db")
    assert call("memory", "passport", "export", "out").exit_code == 0
    checked = as_json("memory", "passport", "verify", "out")
    assert (checked["failed"], checked["lossless"], checked["chain"]) == (0, True, True)
    assert checked["records"] == one(path, "SELECT count(*) FROM turns")
    brought = call("memory", "passport", "import", "out", "--json")
    assert (brought.exit_code, json.loads(brought.stdout)["unchanged"]) == (0, checked["records"])
    acts = rows(path, "SELECT act FROM audit WHERE act LIKE '%passport'")
    assert acts == [("export passport",), ("import passport",)]


def test_an_empty_passport_is_in_order(home: Path) -> None:
    path = stock(home / "memory.db")
    change(path, "DELETE FROM turns WHERE 1")
    assert call("memory", "passport", "export", "out").exit_code == 0
    checked = call("memory", "passport", "verify", "out", "--json")
    assert (checked.exit_code, json.loads(checked.stdout)["records"]) == (0, 0)


def test_what_is_refused_is_named_and_the_exit_code_says_so(home: Path) -> None:
    stock(home / "memory.db")
    said = {"turn_id": "TU_900", "text_excerpt": "Hello", "mood": "glad"}
    write(home / "in", sample=EPISODE, other=SENSE, said=said, bad={"episode_id": "../x"})
    done = call("memory", "passport", "import", "in", "--for-everybody")
    assert done.exit_code == 1
    assert "3 memories stored" in done.stdout
    assert "Fields left out since they are unknown here: 1, such as mood." in done.stdout
    assert "- bad.json: its id is none of its kind" in done.stdout
    assert one(home / "memory.db", "SELECT audience FROM records WHERE id = 'EP_001'") == "workspace:T1"
    assert call("memory", "passport", "verify", "in").exit_code == 1
    assert "is no folder" in call("memory", "passport", "verify", "nowhere").stderr


def test_memory_verify_exits_with_one_on_a_finding(home: Path) -> None:
    path = stock(home / "memory.db")
    write(home / "in", sample=EPISODE)
    call("memory", "passport", "import", "in")
    change(path, "DELETE FROM turn_words WHERE 1")
    change(path, "UPDATE records SET text = 'altered'")
    found = call("memory", "verify", "--json")
    assert found.exit_code == 1
    told = json.loads(found.stdout)
    assert (told["chain"], told["altered"], told["findings"]["altered"]) == (False, 1, ["EP_001"])
    assert "not as the ledger says: EP_001" in call("memory", "verify").stdout
