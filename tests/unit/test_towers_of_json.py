"""JSON that is nested deeper than any reader can follow counts as what can't be read: nothing breaks."""

import json
from typing import Final

import pytest
from msgspec.structs import asdict

from daemon.core.errors import MalformedReply
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.records import Speaks, Turn, json_object, object_or_nothing, pairs_or_none
from daemon.memory.stream.authority import Settled
from daemon.memory.stream.reading import LastThoughts
from daemon.mind.recall import allowed_of
from daemon.mind.steps.use_tool import use_tool
from daemon.mind.thought.cognitive_output import Attention, CognitiveOutput
from tests.unit.solving_parts import READER

_DEEP: Final = 100_000
TOWERS: Final = ("[" * _DEEP, '{"a":' * _DEEP, "[" * _DEEP + "]" * _DEEP)


def test_in_a_row_a_proposal_or_the_arguments_of_a_tool_it_counts_as_nothing() -> None:
    for tower in TOWERS:
        assert object_or_nothing(tower) == {}
        assert pairs_or_none(tower) == ()
        with pytest.raises(ValueError, match="nested too deep"):
            json_object(tower)
        turn = Turn(Speaks.SOUL, "U0SOUL", "Kothar", "1.0", "Good morning")
        columns = asdict(turn) | {"thought": tower, "salience_anchor": tower}
        named = ", ".join(f":{name} AS {name}" for name in columns)
        database = sqlite3.connect(":memory:")
        database.row_factory = sqlite3.Row
        row = database.execute(f"SELECT {named}", columns).fetchone()
        database.close()
        assert Turn.from_row(row) == turn
    for tower in TOWERS:
        with pytest.raises(MalformedReply):
            use_tool("what clay is", (READER,)).read(json.dumps({"tool": READER.name, "arguments": tower}))
    for tower in TOWERS:
        settled = tuple(
            Settled(f"A{number}", "TH_1", "attention", allowed=True, value=value)
            for number, value in enumerate((json.dumps({"focus_on": ["the log"]}), tower, "no JSON"))
        )
        allowed = allowed_of(LastThoughts(settled=settled))
        assert allowed == CognitiveOutput(inner_speech="", attention=Attention(focus_on=("the log",)))
