"""`soul mind show` and `values` say what is held in sentences that hold for every soul."""

from pathlib import Path

import pytest

from tests.cli.conftest import call
from tests.cli.stocked import NOW, insert
from tests.cli.stored_mind import HERE, add

pytestmark = pytest.mark.usefixtures("path")


def holds(path: Path, number: int, act: str, words: str) -> None:
    """The soul writes a text about itself, or a draft of one."""
    part = {"workspace": "", "audience": "", "document": "identity", "part": "text", "attribute": "", "person": ""}
    made = {"act": act, "words": words, "why": "", "readers": "{}", "at_ms": NOW, "newest": 1}
    insert(path, "mind_documents", **HERE | part | made, thought=add(path, number, audience="workspace:T1"))


def test_what_is_held_is_said_in_sentences_and_a_draft_is_of_its_own_text_where_there_is_none_yet(path: Path) -> None:
    said = call("mind", "show").stdout
    assert said == 'Nothing is held yet: it comes with thoughts, once soul.toml says `mind = "cycle"`.\n'
    holds(path, 1, "draft", "I keep time.")
    assert "\nIts draft of a text about itself:\nI keep time.\n" in call("mind", "values", "--words").stdout
    holds(path, 2, "commit", "")
    holds(path, 3, "draft", "I keep the hours.")
    said = call("mind", "values", "--words").stdout
    assert "\nIts own text about itself:\nI keep time.\n" in said
    assert "\nIts draft of it:\nI keep the hours.\n" in said
