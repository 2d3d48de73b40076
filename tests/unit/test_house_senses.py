"""The names of the house's own senses, which no program may use."""

import ast
from pathlib import Path

from daemon.core.sensing import HouseSense
from daemon.mind.percepts import SENSES

DAEMON = Path(__file__).parents[2] / "daemon"


def _calls(name: str) -> list[tuple[str, ast.Call]]:
    """Each call of `name` in the daemon, with the module in which it stands."""
    return [
        (str(path.relative_to(DAEMON)), node)
        for path in sorted(DAEMON.rglob("*.py"))
        if f"{name}(" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    ]


def test_a_reading_of_the_house_is_named_by_a_sense_of_the_house_and_by_no_word() -> None:
    """The types see to the rest: a plain string is no sense of a reading."""
    named = [part for _, call in _calls("NewReading") for part in ast.walk(call.args[0])]
    assert [part for part in named if isinstance(part, ast.Attribute)]
    assert not [part.value for part in named if isinstance(part, ast.Constant)]


def test_no_program_bears_the_name_of_a_sense_of_the_house() -> None:
    assert [module for module, _ in _calls("ProgramSense")] == ["channels/http/events.py"]
    assert set(SENSES) - {"sense"} <= set(HouseSense)  # that one names programs as they name themselves
