"""`soul doctor` says whether souls think by themselves, as they were set to, and on what budget."""

from pathlib import Path

import pytest

from daemon.cli.checks import Finding, Premises, Verdict
from daemon.cli.checks.mind import inner_life
from daemon.core.config import load_settings

ENABLED = "SOUL_CYCLE_ENABLED"


@pytest.fixture
def soul(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The soul.toml of the one soul, which is called Tess."""
    folder = home / "souls" / "tess"
    folder.mkdir(parents=True)
    (folder / "soul.md").write_text("You are Tess.\n")
    monkeypatch.setenv("SOUL_NAME", "tess")
    return folder / "soul.toml"


def found(soul: Path, more: str) -> list[Finding]:
    """What is found of a soul with these further lines."""
    soul.write_text(f'name = "tess"\ndisplay_name = "Tess"\n{more}')
    return inner_life(Premises(load_settings()))


def test_a_soul_that_thinks_by_itself_is_told_from_another(soul: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (asleep,) = found(soul, 'mind = "cycle"\n')
    assert (asleep.verdict, "not by itself" in asleep.found) == (Verdict.OK, True)
    monkeypatch.setenv(ENABLED, "true")
    (awake,) = found(soul, 'mind = "cycle"\n[cycle]\ntokens_day = 50_000\n')
    assert awake.verdict is Verdict.OK
    assert awake.found == (
        "Tess thinks by itself, for at most 20,000 tokens an hour, 50,000 and $1 a day; "
        "it says nothing unasked 20:00-08:00"
    )
    monkeypatch.setenv("SOUL_QUIET_HOURS", "")
    assert found(soul, 'mind = "cycle"\n')[0].found.endswith("it may speak unasked at any hour")
    assert found(soul, 'mind = "cycle"\n[cycle]\nenabled = false\n')[0].found == asleep.found


def test_one_that_can_not_think_by_itself_as_it_was_set_is_named(soul: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for more, fault in (
        ("[cycle]\nenabled = true\n", 'does not: its mind is "process"'),
        (
            'mind = "cycle"\nprocesses = ["engaged", "ready", "dormant", "exiting"]\n[cycle]\nenabled = true\n',
            "leave reflecting out",
        ),
        ('mind = "cycle"\n[cycle]\nenabled = true\ntokens_hour = 3_000\n', "hardly thinks by itself"),
    ):
        (one,) = found(soul, more)
        assert (one.verdict, fault in one.found, bool(one.fix)) == (Verdict.WARN, True, True), one
    assert found(soul, "") == [], "a soul that answers in words"
    assert found(soul, 'mind = "circle"\n') == [], "one that can't be read is left to the check of souls"
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    monkeypatch.setenv("SOUL_PERSONA_MODEL", "openai/unheard-of")
    awake, unpriced = found(soul, 'mind = "cycle"\n[cycle]\nenabled = true\n')
    assert (awake.verdict, unpriced.verdict) == (Verdict.OK, Verdict.WARN)
    assert "the price of openai/unheard-of is not known" in unpriced.found
    assert "SOUL_CYCLE_USD_DAY" in unpriced.fix
