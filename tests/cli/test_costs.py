"""`soul costs` sums what model calls have cost by what is asked for, and says which figures are bounds."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daemon.cli.checks import Premises, Verdict
from daemon.cli.checks.mind import money
from daemon.core.config import load_settings
from daemon.core.ports.services import SystemClock
from daemon.memory.database.sqlite import sqlite3
from tests.cli.conftest import call

_DAY_MS = 86_400_000
_CALLS = (  # days ago, step, model, cost, whether a bound, room, person
    (0, "respond", "anthropic/a", 0.25, 0, "D1", "U0ADA"),
    (0, "summarize", "openai/b", 0.125, 1, "D1", "U0ADA"),
    (1, "respond", "anthropic/a", 0.5, 0, "C1", "U0BEN"),
    (1, "consolidate", "openai/b", None, 0, "", ""),
    (40, "respond", "anthropic/a", 8.0, 0, "C1", "U0BEN"),
)


@pytest.fixture
def spent(home: Path) -> None:
    """Five calls, a sum of older ones, and a person with a name."""
    assert call("db", "migrate").exit_code == 0
    now = SystemClock().now_ms()
    with closing(sqlite3.connect(home / "memory.db")) as connection, connection:
        connection.executemany(
            "INSERT INTO llm_calls (trace_id, role, step, model, tokens_in, tokens_cached, tokens_out, cost_usd,"
            " cost_bound, started_ms, latency_ms, outcome, soul, workspace, room, person)"
            " VALUES ('t', 'persona', ?, ?, 100, 50, 10, ?, ?, ?, 1, 'ok', 'minoan', 'T1', ?, ?)",
            [
                (step, model, usd, bound, now - days * _DAY_MS, room, person)
                for days, step, model, usd, bound, room, person in _CALLS
            ],
        )
        connection.execute(
            "INSERT INTO llm_days VALUES (date(? / 1000, 'unixepoch'), 'persona', 'respond', 'anthropic/a', 3, 1, 9, 3,"
            " 3, 1.0, 0)",
            (now - 2 * _DAY_MS,),
        )
        connection.execute(
            "INSERT INTO user_models (soul, workspace, person, audience, version, name, updated_ms)"
            " VALUES ('minoan', 'T1', 'U0ADA', 'dm:D1', 1, 'Ada', 1)"
        )


def _sums(*arguments: str) -> dict[str, Any]:
    result = call("costs", "--json", *arguments)
    assert result.exit_code == 0, result.output
    return {one["key"]: one for one in json.loads(result.stdout)}


@pytest.mark.usefixtures("spent")
def test_costs_are_summed_by_what_is_asked_for() -> None:
    for by, usd in (
        ("model", {"anthropic/a": 1.75, "openai/b": 0.125}),
        ("step", {"respond": 1.75, "summarize": 0.125, "consolidate": 0.0}),
        ("room", {"C1": 0.5, "D1": 0.375, "": 0.0}),
        ("person", {"U0BEN": 0.5, "U0ADA": 0.375, "": 0.0}),
    ):
        assert {key: one["cost_usd"] for key, one in _sums("--by", by).items()} == usd, by
    days = _sums()
    assert [one["cost_usd"] for one in days.values()] == [0.375, 0.5, 1.0]
    assert list(days) == sorted(days, reverse=True)
    assert len(_sums("--days", "60")) == 4
    assert _sums("--by", "person")["U0ADA"]["name"] == "Ada"
    assert _sums("--by", "room")["D1"]["name"] == "Ada"
    shown = call("costs", "--by", "model").stdout
    assert "≤$0.1250" in shown
    assert "at most $1.8750 in all" in shown
    assert "U0ADA (Ada)" in call("costs", "--by", "person").stdout


def test_where_no_model_was_called_it_says_so_and_bad_input_is_refused(home: Path) -> None:
    assert call("db", "migrate").exit_code == 0
    assert call("costs").stdout == "No model was called in the last 30 days.\n"
    assert call("costs", "--by", "moon").exit_code == 2
    assert call("costs", "--days", "0").exit_code == 2


def test_the_doctor_shows_the_caps_and_warns_of_one_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [(one.verdict, one.found) for one in money(Premises(load_settings()))] == [
        (Verdict.OK, "Kothar may spend without a cap")
    ]
    monkeypatch.setenv("SOUL_MAX_USD_A_DAY", "5")
    monkeypatch.setenv("SOUL_MAX_USD_A_DAY_PERSON", "0")
    all_, zero = money(Premises(load_settings()))
    assert all_.found == "Kothar may spend $5 for itself, $0 for each person a day"
    assert zero.verdict is Verdict.WARN
    assert "SOUL_MAX_USD_A_DAY_PERSON" in zero.fix
