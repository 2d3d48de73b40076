"""A fixed corpus of talk, and a model that proposes all it can: what is true is noted, and hardly anything else.

`evidence_backed=100% junk_admitted<=1% injected_rules=0 true_kept>=90%`.
"""

import json
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from daemon.core.perception import ConversationKey
from daemon.core.ports.services import Prompt
from daemon.memory.database import open_database
from daemon.processes.subprocesses.models_the_visitor import models_the_visitor
from tests.fakes import FakeClock
from tests.models import Reply
from tests.precision.corpus import JUNK, ORDERS, TRUE, Saying
from tests.unit.subprocess_parts import IN_DM, SubprocessBench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[SubprocessBench]:
    clock = FakeClock(auto=True)
    async with open_database(tmp_path / "memory.db", clock) as database:
        yield SubprocessBench(database, clock)


async def noted(bench: SubprocessBench, cases: Sequence[Saying]) -> list[Saying]:
    """Those of the cases whose line is noted, each said by a person of their own, and none without its proof."""
    for number, case in enumerate(cases):
        where = ConversationKey("ada", "T1", f"D{number}")
        person = f"P{number}"
        await bench.open(where, IN_DM)
        await bench.say(person, "hello", "hello to you", conversation=where)
        await bench.say(person, case.said, "I see.", conversation=where)
        bench.script(_eager(case))
        await models_the_visitor(bench.context(where))
    rows = await bench.database.rows(
        """
        SELECT r.id, r.text, f.claimed_by, l.quote, t.body, t.author FROM records r JOIN facts f ON f.id = r.id
        LEFT JOIN links l ON l.origin = r.id AND l.relation = 'evidence'
        LEFT JOIN turns t ON 'TU_' || t.seq = l.target
        """
    )
    for row in rows:
        assert row["author"] == row["claimed_by"], f"{row['text']} is not of their own words"
        assert row["quote"], f"{row['text']} has no quotation"
        assert row["quote"] in row["body"], f"{row['quote']} is not in {row['body']}"
    return [cases[int(row["claimed_by"][1:])] for row in rows]


def _eager(case: Saying) -> Reply:
    """A model that proposes the line and would prove it by any words."""
    line = {"text": case.line, "quote": case.quote or case.said, "kind": case.kind, "group": "work"}
    return json.dumps({"add": [line], "correct": [{"line": 1, **line}], "retire": []})


async def test_what_people_plainly_say_of_themselves_is_noted(bench: SubprocessBench) -> None:
    kept = await noted(bench, TRUE)
    missed = [case.said for case in TRUE if case not in kept]
    assert len(kept) >= 0.9 * len(TRUE), missed


async def test_hardly_anything_that_was_not_meant_is_noted(bench: SubprocessBench) -> None:
    admitted = await noted(bench, JUNK)
    assert len(admitted) <= 0.01 * len(JUNK), [case.line for case in admitted]


async def test_no_order_in_disguise_is_noted(bench: SubprocessBench) -> None:
    assert await noted(bench, ORDERS) == []


async def test_words_of_the_soul_and_of_notes_before_it_are_never_learned_again(bench: SubprocessBench) -> None:
    where = ConversationKey("ada", "T1", "D900")
    await bench.open(where, IN_DM)
    await bench.say("P1", "hello", "You keep bees, I think.", conversation=where)
    await bench.say("P1", "and what else?", "You lead the harbour team.", conversation=where)

    def parrot(prompt: Prompt) -> str:
        said = [message.text for message in prompt.messages]
        lines = [one for text in said for one in text.splitlines() if one.startswith("You ")]
        return json.dumps({"add": [{"text": line, "quote": line} for line in lines]})

    async def answer(prompt: Prompt) -> Reply:
        return parrot(prompt)

    bench.script(answer)
    await models_the_visitor(bench.context(where))
    assert await bench.database.rows("SELECT id FROM records") == []
