"""Reads rows.toml: the features, how far each is there, and what shows it."""

import ast
import tomllib
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

from daemon.core.value import Value

ROOT = Path(__file__).parents[2]
ROWS = Path(__file__).with_name("rows.toml")


class Verdict(StrEnum):
    """How far a feature is there."""

    YES = "yes"
    PARTLY = "partly"
    NO = "no"


class Feature(Value):
    """One row: a feature in plain words, how far it is there, the tests that show it, and what is missing."""

    number: int
    name: str
    verdict: Verdict
    tests: tuple[str, ...] = ()
    missing: str = ""


class FeatureGroup(Value):
    """Features of one field, such as what people see in Slack."""

    title: str
    features: tuple[Feature, ...]


def groups() -> tuple[FeatureGroup, ...]:
    """All groups in their order. Raises ValueError or TypeError for a verdict or a field that there is not."""
    read = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    return tuple(FeatureGroup(one["title"], tuple(_feature(row) for row in one["feature"])) for one in read["group"])


def _feature(row: dict[str, Any]) -> Feature:
    return Feature(**{**row, "verdict": Verdict(row["verdict"]), "tests": tuple(row.get("tests", ()))})


def exists(test: str) -> bool:
    """Whether `tests/….py::name` is a test function at the top of that file."""
    path, _, name = test.partition("::")
    return path.startswith("tests/") and name in _tests_in(ROOT / path)


@cache
def _tests_in(path: Path) -> frozenset[str]:
    if not path.is_file():
        return frozenset()
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(one.name for one in tree.body if isinstance(one, functions) and one.name.startswith("test_"))
