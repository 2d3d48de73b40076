"""`docs/SOULS.md` describes a soul's fields as the schema does, and its examples can be loaded."""

import re
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from daemon.cli.reference.soul_fields import soul_reference, with_fields
from daemon.soul import Contact
from daemon.soul import schema as shape

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "SOULS.md").read_text(encoding="utf-8")
TEXTS = {"personality", "modes", "playbook", "states", "words", "roles"}


def test_every_field_of_every_section_is_described_as_it_is() -> None:
    assert with_fields(DOCUMENT) == DOCUMENT, "run: python -m daemon.cli.reference.soul_fields docs/SOULS.md"
    before, after = DOCUMENT.split("## Every field")
    stale = f"{before}## Every field{re.sub(r'^[|].*$', '| old |', after, flags=re.MULTILINE)}"
    assert stale != DOCUMENT
    assert with_fields(stale) == DOCUMENT
    with pytest.raises(ValueError, match="marks"):
        with_fields("# Souls")
    rows = soul_reference().splitlines()
    shapes = [one for one in vars(shape).values() if isinstance(one, type) and issubclass(one, BaseModel)]
    fields = {name for one in shapes for name in one.model_fields}
    sections = {name for name, field in shape.Soul.model_fields.items() if f"### `[{name}]`" in rows}
    assert {"models", "budgets", "verbs", "mood", "presence", "notes", "ism", "cycle", "extensions"} == sections
    for name in fields - sections - TEXTS:
        assert any(row.startswith(f"| `{name}` | ") for row in rows), name


def test_the_commented_lines_of_kothars_manifest_are_valid() -> None:
    text = (ROOT / "souls" / "minoan" / "soul.toml").read_text(encoding="utf-8")
    shown = re.findall(r"^# ((?:\[\[?\w+\]\]?|\w+ = .*))$", text, flags=re.MULTILINE)
    data = tomllib.loads("\n".join(shown))
    contacts = data["contacts"]
    assert isinstance(contacts, list)
    assert [Contact.model_validate(contact).slack[0] for contact in contacts] == ["U", "C"]
    assert shape.IsmLimits.model_validate(data["ism"]).enabled is True
    assert data["channels"] == ["C0123ABCDEF"]
