"""The page of features is current, and each of its rows has what it rests on."""

import pytest

from tests.matrix.features import ROOT, Verdict, exists, groups
from tests.matrix.page import page

FEATURES = [feature for group in groups() for feature in group.features]


def test_the_page_is_what_the_rows_say() -> None:
    written = (ROOT / "docs" / "FEATURES.md").read_text(encoding="utf-8")
    assert written == page(), "run: python -m tests.matrix docs/FEATURES.md"


def test_there_are_ninety_nine_rows_in_their_order() -> None:
    assert [feature.number for feature in FEATURES] == list(range(1, 100))
    assert len({feature.name for feature in FEATURES}) == 99


def test_every_test_that_a_row_names_exists() -> None:
    assert not [test for feature in FEATURES for test in feature.tests if not exists(test)]
    assert not [feature for feature in FEATURES if len(set(feature.tests)) < len(feature.tests)]


def test_each_yes_has_a_test_and_each_other_row_a_reason() -> None:
    assert not [one for one in FEATURES if one.verdict is Verdict.YES and (one.missing or not one.tests)]
    assert not [one for one in FEATURES if one.verdict is not Verdict.YES and not one.missing]
    assert not [one for one in FEATURES for text in (one.name, one.missing) if "|" in text or "\n" in text]


@pytest.mark.parametrize(
    "test",
    [
        "tests/matrix/test_features.py::test_there_are_a_hundred_rows",
        "tests/matrix/test_features.py::exists",
        "tests/matrix/no_such_file.py::test_the_page_is_what_the_rows_say",
        "tests/matrix",
    ],
)
def test_what_is_no_test_is_noticed(test: str) -> None:
    assert not exists(test)
    assert exists("tests/matrix/test_features.py::test_what_is_no_test_is_noticed")
