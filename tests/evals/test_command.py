"""`scripts/eval` as an admin types it, with daemons as processes of their own."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from evals.__main__ import main
from tests.evals.inside import ROOT
from tests.evals.parts import HEAD, TURN, written
from tests.fakes import TIMEOUT

KEY = "sk-a-key-&-of-mine"


@pytest.mark.slow
def test_it_plays_scores_and_reports_and_no_key_is_in_what_it_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    written(tmp_path, HEAD + TURN.replace("Good day.", f"Good day, your key is {KEY}.").replace('"No."', '"No key."'))
    code = main(["--folder", str(tmp_path), "--rehearse", "right", "--json", "--html", "report.html"])
    out, err = capsys.readouterr()
    assert code == 0
    answer = json.loads(out)
    assert [one["name"] for one in answer["scenarios"]] == ["mine"]
    assert answer["scenarios"][0]["turns"][0]["replies"] == [
        {"place": "dm:ada", "text": "Good day, your key is [a key]."}
    ]
    assert (answer["total"]["messages"], answer["total"]["calls"]) == (1, 1)
    report = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Good day, your key is [a key]." in report
    for text in (out, err, report):
        assert "sk-a-key" not in text


@pytest.mark.slow
def test_the_table_of_failed_checks_holds_no_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    wrong = TURN.replace("Good day.", f"The key is {KEY}.").replace(
        "[turn.right]", '[turn.expect]\nnever_says = ["key is .*"]\n[turn.right]'
    )
    written(tmp_path, HEAD + wrong)
    assert main(["--folder", str(tmp_path), "--rehearse", "right"]) == 1
    out, _ = capsys.readouterr()
    assert "mine, turn 1, words" in out
    assert "sk-a-key" not in out


@pytest.mark.slow
def test_the_placeholder_is_played_with_and_scores_what_it_is_worth(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--scenarios", "language-german"]) == 1
    out, err = capsys.readouterr()
    assert "1 messages to placeholder/echo" in err
    assert "costs nothing" in err
    assert re.search(r"^│language-german │ FAIL │ +1/1 │ +0/1 │", out, re.MULTILINE)
    assert "language-german, turn 1, language: the reply is in de; it is in en" in out
    assert (tmp_path / "eval-report.html").exists()


def test_scenarios_are_listed_nothing_is_spent_unasked_and_a_wrong_setting_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["--list", "--scenarios", "discretion"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("dm-stays-in-the-dm") for line in lines)
    assert all("discretion" in line for line in lines)
    for options in ([], ["--repeat", "2"]):
        monkeypatch.setenv("OPENAI_API_KEY", KEY)  # each run takes it out of the environment
        assert main(options) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert "model calls with" in err
        assert "this costs money, so nothing was played (say --yes, or bound it with --max-usd 2)" in err
    written(tmp_path, HEAD, "broken")
    assert main(["--folder", str(tmp_path)]) == 2
    assert f"{tmp_path / 'broken.toml'}: turn: field required" in capsys.readouterr().err
    monkeypatch.setenv("SOUL_MODEL_TIMEOUT", "soon")
    assert main([]) == 2
    assert "SOUL_MODEL_TIMEOUT must be a number" in capsys.readouterr().err


@pytest.mark.slow
def test_ctrl_c_ends_its_daemons_and_leaves_a_report_of_what_was_played(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "evals", "--jobs", "1", "--scenarios", "language", "--html", "report.html"]
    given = {"PATH": os.defpath, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as playing:
        assert playing.stderr is not None
        line = next(line for line in playing.stderr if "checks failed" in line)
        playing.send_signal(signal.SIGINT)
        playing.send_signal(signal.SIGINT)
        out, err = playing.communicate(timeout=TIMEOUT)
    assert playing.returncode == 2
    assert "stopping; what was played will be reported" in err
    assert "Stopped: interrupted." in out
    assert line.partition(":")[0] in (tmp_path / "report.html").read_text(encoding="utf-8")
    with pytest.raises(ProcessLookupError):
        os.killpg(playing.pid, 0)
