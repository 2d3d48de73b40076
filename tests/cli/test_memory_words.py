"""`--words` and `--private` of `soul memory`: whose words are shown, what is written down of it, and what never is."""

import getpass
import json
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Place
from daemon.memory.database import Transaction
from daemon.memory.knowledge.records.kinds import Episode, JournalEntry, Trust
from daemon.memory.knowledge.records.links import Link, Relation
from daemon.memory.knowledge.records.store import put
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn
from tests.cli.conftest import call
from tests.cli.stocked import change, one, rows, written
from tests.store.passports import BEES, DAY, HERE, remember

EVERYBODY = Audience(AudienceKind.WORKSPACE, "T1")
SQUARE = ConversationKey("minoan", "T1", "C1", "1.0")
FACT = replace(BEES, claimed_by="", text="Ann keeps bees")
JOURNAL = JournalEntry(
    soul="minoan", workspace="T1", audience=HERE, channel="D1", text="she hides it", at_ms=DAY, trust=Trust.INFERRED
)


@pytest.fixture(autouse=True)
def ids(home: Path) -> dict[str, str]:
    """One fact said in a DM by U1, one said in the open by U2, an episode of both people, and a line of the journal."""
    made: dict[str, str] = {}

    async def fill(transaction: Transaction) -> None:
        await remember(transaction, [], [])
        await open_conversation(transaction, SQUARE, Place.PUBLIC_CHANNEL, EVERYBODY, DAY)
        said = [
            Turn(Speaks.PERSON, "U2", "Ben", "1.0", "I paint the quay blue"),
            Turn(Speaks.PERSON, "U3", "Cyd", "1.1", "and I hold the ladder"),
        ]
        await store_turns(transaction, said, conversation=SQUARE, audience=EVERYBODY, trace_id="s", now=DAY)
        open_fact = replace(FACT, audience=EVERYBODY, channel="C1", person="U2", text="Ben paints the quay")
        common: dict[str, Any] = {"soul": "minoan", "workspace": "T1", "at_ms": DAY, "trust": Trust.INFERRED}
        visit = Episode(**common, audience=EVERYBODY, channel="C1", text="They painted the quay", state="closed")
        proof = Link("", Relation.EVIDENCE, "TU_1", "I keep bees")
        turns = [Link("", Relation.TURN_REFS, one) for one in ("TU_2", "TU_3")]
        made["secret"] = (await put(transaction, FACT, DAY, [proof])).id
        made["open"] = (await put(transaction, open_fact, DAY, [replace(turns[0], quote="the quay")])).id
        made["visit"] = (await put(transaction, visit, DAY, turns)).id
        made["journal"] = (await put(transaction, JOURNAL, DAY)).id

    written(home, fill)
    return made


def readings(home: Path) -> list[tuple[object, ...]]:
    """Whom the soul has to tell, and the audit's rows of words that were shown: person and detail."""
    return rows(home / "memory.db", "SELECT object, detail FROM audit WHERE act = 'read words' ORDER BY seq")


def test_words_said_in_private_need_both_options_and_are_recorded(home: Path, ids: dict[str, str]) -> None:
    done = call("memory", "show", ids["secret"], "--private")
    assert (done.exit_code, "give --words, too" in done.stderr) == (2, True)
    assert "texts are not shown: add --words" in call("memory", "show", ids["open"]).stdout
    assert "add --words --private" in call("memory", "show", ids["secret"], "--words").stdout
    assert readings(home) == []
    shown = call("memory", "facts", "--as", "U1", "--place", "D1", "--words", "--private").stdout
    assert f"{ids['secret']} by TU_1: I keep bees" in shown, "quotations are below the facts that they prove"
    assert "the query is empty" in call("memory", "search", " ", "--as", "U1", "--place", "D1").stderr
    assert "Nothing surfaces" in call("memory", "search", "zeppelin", "--as", "U1", "--place", "D1").stdout
    for command in ("show TU_1", "facts --as U1 --place D1", "search bees --as U1 --place D1", "people count"):
        seen = len(readings(home))
        arguments = command.split()
        for options in ((), ("--words",)):
            assert "bees" not in call("memory", *arguments, *options, "--json").stdout.replace('"bees"', ""), command
        assert ("U1", f"memory {arguments[0]}: 1") not in [(who, str(what)[:10]) for who, what in readings(home)[seen:]]
        assert "keep" in call("memory", *arguments, "--words", "--private", "--json").stdout, command
        assert "U1" in [who for who, _ in readings(home)[seen:]], command


def test_the_audit_names_the_admin_and_each_person_whose_words_were_shown(home: Path, ids: dict[str, str]) -> None:
    assert "They painted" in call("memory", "show", ids["visit"], "--words").stdout
    assert readings(home) == [
        ("U2", "memory show: 1, private among them: 0"),
        ("U3", "memory show: 1, private among them: 0"),
    ]
    assert one(home / "memory.db", "SELECT DISTINCT actor FROM audit") == getpass.getuser()
    assert one(home / "memory.db", "SELECT count(*) FROM word_readings WHERE first_ms IS NOT NULL") == 2
    assert json.loads(call("memory", "verify", "--json").stdout)["chain"] is True


def test_the_journal_and_words_of_a_pause_are_shown_by_no_command(home: Path, ids: dict[str, str]) -> None:
    change(home / "memory.db", "UPDATE turns SET passing = 1 WHERE seq = 1")
    for name in (ids["journal"], "TU_1"):
        done = call("memory", "show", name, "--words", "--private", "--json")
        assert done.exit_code == 0
        assert json.loads(done.stdout)["text"] == ""
    assert readings(home) == []


def test_who_is_forgotten_is_named_by_no_row_and_the_ledger_stays_whole(home: Path, ids: dict[str, str]) -> None:
    call("memory", "show", ids["open"], "--words")
    written(home, lambda transaction: erase(transaction, "T1", "U2", Spared(), DAY, DAY))
    assert {who for who, _ in readings(home)} == {""}
    assert one(home / "memory.db", "SELECT count(*) FROM word_readings") == 0
    assert json.loads(call("memory", "verify", "--json").stdout)["chain"] is True
