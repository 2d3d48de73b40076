"""The list of deliberate breaks fits the code: `scripts/mutate` tries them, which takes minutes."""

import ast
from collections import Counter
from pathlib import Path

from mutations.__main__ import copied
from mutations.breaks import ROOT, all_breaks

BREAKS = all_breaks()


def test_there_are_enough_breaks_each_with_a_name_of_its_own() -> None:
    assert len(BREAKS) >= 60
    assert [name for name, times in Counter(one.name for one in BREAKS).items() if times > 1] == []
    assert [one.name for one in BREAKS if not one.breaks or not one.tests] == []


def test_every_break_still_applies_and_leaves_a_module_that_compiles() -> None:
    for one in BREAKS:
        ast.parse(one.broken())
    for area in ("memory", "shared", "channels/slack", "runtime", "tools", "mind"):
        assert any(one.file.startswith(f"daemon/{area}/") for one in BREAKS), area


def test_the_tests_that_a_break_names_exist() -> None:
    named = {test for one in BREAKS for test in one.tests}
    missing = []
    for test in named:
        path, _, function = test.partition("::")
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).exists() else ""
        if not text or f"def {function}" not in text:
            missing.append(test)
    assert not missing


def test_a_break_is_tried_in_a_whole_tree(tmp_path: Path) -> None:
    copy = copied(tmp_path / "tree")
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "daemon").rglob("*.py")}
    assert modules == {str(path.relative_to(copy)) for path in (copy / "daemon").rglob("*.py")}
