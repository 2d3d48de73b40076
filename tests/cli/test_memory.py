"""`soul memory show|facts|people` tell what is remembered, for whom, and never its words."""

import json
from pathlib import Path
from typing import Any

import pytest

from daemon.core.perception import Audience
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Core, Episode, Fact, Trust, WorkflowState
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from tests.cli.conftest import as_json, call
from tests.cli.stocked import written
from tests.store.passports import DAY, HERE, remember

SECRET = "keeps bees"


COMMON: dict[str, Any] = {"soul": "minoan", "workspace": "T1", "audience": HERE, "channel": "D1", "at_ms": DAY}


@pytest.fixture
def fact(home: Path) -> str:
    async def unit(transaction: Transaction) -> str:
        await remember(transaction, [], [])
        common = COMMON | {"trust": Trust.OWN, "valid_from_ms": DAY}
        line = Fact(**common, person="U1", text=f"Ann {SECRET}", subject="U1", predicate="keeps", object="bees")
        return (await put(transaction, line, DAY, [Link("", Relation.EVIDENCE, "TU_1", "I keep bees")])).id

    return written(home, unit)


def test_facts_a_search_and_links_are_those_that_a_reply_there_could_know(fact: str) -> None:
    done = call("memory", "facts", "--as", "U1", "--place", "D1", "--json")
    [found] = json.loads(done.stdout)
    assert (found["id"], found["trust"], found["evidence"]) == (fact, "own", [{"id": "TU_1", "quote": ""}])
    assert "bees" not in done.stdout
    assert fact in call("memory", "facts", "--as", "U1", "--place", "D1").stdout
    done = call("memory", "search", "who keeps bees?", "--as", "U1", "--place", "D1", "--json")
    searched = json.loads(done.stdout)
    assert set(searched) == {"audiences", "arms", "took_ms", "hits"}
    assert searched["arms"] == {"text": True, "vectors": "none"}
    [hit] = [one for one in searched["hits"] if one["id"] == fact]
    assert set(hit) == {"id", "kind", "audience", "speaker", "when_ms", "text", "score", "evidence"}
    assert (hit["kind"], hit["evidence"]) == ("fact", [{"id": "TU_1", "quote": ""}])
    assert "bees" not in done.stdout
    private = call("memory", "search", "who keeps bees?", "--as", "U1", "--place", "D1", "--words")
    assert fact in private.stdout
    assert "bees" not in private.stdout, "said in private"
    for person, place, says in (("U1", "C404", "was never in C404"), ("U2", "D1", "not known")):
        for command in (("facts",), ("search", "bees")):
            done = call("memory", *command, "--as", person, "--place", place)
            assert (done.exit_code != 0, says in done.stderr) == (True, True), (command, person)
    shown = call("memory", "show", fact, "--json")
    assert json.loads(shown.stdout)["links"] == [
        {"origin": fact, "relation": "evidence", "target": "TU_1", "quote": ""}
    ]
    assert "bees" not in shown.stdout
    assert as_json("memory", "show", "TU_1")["kind"] == "turn"
    assert "there is no memory EP_1" in call("memory", "show", "EP_1").stderr
    [person] = as_json("memory", "people", "count")
    assert (person["person"], person["messages"], person["facts"]) == ("U1", 1, 1)
    for arguments, says in (
        (("TL_404",), "the soul never said TL_404"),
        (("TU_1",), "the soul never said TU_1"),
        (("1700000000.000100",), "the soul never said 1700000000.000100"),
        (("x'; --", "--json"), "the soul never said x'; --"),
        (("TL_1", "--as", "U1"), "--as and --place go together"),
        (("TL_1", "--private"), "give --words, too"),
    ):
        done = call("memory", "why", *arguments)
        assert (done.exit_code != 0, says in done.stderr) == (True, True), (arguments, done.stderr)


@pytest.fixture
def visits(home: Path) -> tuple[str, str]:
    """A visit in a DM with a core made of it; the same line in the open."""

    async def unit(transaction: Transaction) -> tuple[str, str]:
        await remember(transaction, [], [])
        common = COMMON | {"trust": Trust.INFERRED}
        told = WorkflowState("sell honey", (), ("ask Ben", "label jars"))
        asked: dict[str, Any] = {"text": "Ann asked for honey", "person": "U1", "cues": ("honey",), "workflow": told}
        visit = Episode(**common, **asked, state="distilled")
        made = await put(transaction, visit, DAY, [Link("", Relation.TURN_REFS, "TU_1")])
        core = Core(**common, text="Much honey", state="closed")
        top = await put(transaction, core, DAY, [Link("", Relation.SOURCES, made.id)])
        in_the_open = common | {"audience": Audience.parse("workspace:T1"), "channel": "C1"}
        await put(transaction, Episode(**in_the_open, text="A market day"), DAY)
        return made.id, top.id

    return written(home, unit)


def test_episodes_are_counted_and_private_words_of_them_need_two_options(visits: tuple[str, str]) -> None:
    visit, core = visits
    done = call("memory", "episodes", "--json")
    found = {one["id"]: one for one in json.loads(done.stdout)}
    assert "honey" not in done.stdout.lower()
    one = found[visit]
    assert (one["kind"], one["state"], one["turns"], one["pending"], one["made_into"]) == (
        "episode",
        "distilled",
        1,
        2,
        core,
    )
    assert (found[core]["sources"], found[core]["text"], one["workflow"]["pending_items"]) == (1, "", [])
    assert visit in call("memory", "episodes").stdout
    assert [one["id"] for one in as_json("memory", "episodes", "--kind", "core")] == [core]
    assert as_json("memory", "episodes", "--state", "closing") == []
    some = call("memory", "episodes", "--words")
    assert "A market day" in some.stdout
    assert "honey" not in some.stdout
    everything = as_json("memory", "episodes", "--words", "--private")
    [one] = [one for one in everything if one["id"] == visit]
    assert (one["text"], one["cues"], one["workflow"]["pending_items"]) == (
        "Ann asked for honey",
        ["honey"],
        ["ask Ben", "label jars"],
    )
    assert call("memory", "episodes", "--private").exit_code != 0
