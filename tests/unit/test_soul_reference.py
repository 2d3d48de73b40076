"""`soul settings --soul` describes a soul's fields, and the examples of its manifest can be loaded."""

import re
import tomllib
from pathlib import Path

from pydantic import BaseModel

from daemon.cli.soul_fields import soul_reference
from daemon.soul import Contact
from daemon.soul import schema as shape

ROOT = Path(__file__).parents[2]
TEXTS = {"personality", "modes", "playbook", "states", "words", "roles"}


def test_every_field_of_every_section_is_described_as_it_is() -> None:
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
