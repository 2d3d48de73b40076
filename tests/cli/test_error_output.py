"""How failures are told: two lines and a code, a traceback only for those who ask."""

import errno

import click
import pytest

from daemon.cli.error_output import told_plainly
from daemon.core.errors import ConfigError, DaemonError, StoreBusy


def code_of(error: BaseException, *, tracebacks: bool = False) -> int:
    """The exit code that a failure ends with."""
    with pytest.raises(click.exceptions.Exit) as end, told_plainly(tracebacks=tracebacks):
        raise error
    return end.value.exit_code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ConfigError("a", hint="b"), 78),
        (StoreBusy("a", hint="b"), 75),
        (DaemonError("a", hint="b"), 70),
        (ExceptionGroup("tasks", [ExceptionGroup("inner", [ConfigError("a", hint="b")])]), 78),
        (ExceptionGroup("tasks", [StoreBusy("x"), ConfigError("a", hint="b")]), 78),
    ],
)
def test_our_errors_are_two_lines_and_a_code(capsys: pytest.CaptureFixture[str], error: Exception, code: int) -> None:
    assert code_of(error) == code
    assert capsys.readouterr().err == "a\nb\n"


def test_an_error_without_a_hint_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    code_of(DaemonError("what\x1b[2J"))
    assert capsys.readouterr().err == "what␛[2J\n"


def test_a_strangers_error_is_told_without_what_it_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert code_of(ValueError("somebody's words")) == 70
    told = capsys.readouterr().err
    assert "ValueError at test_error_output.py:" in told
    assert "somebody's words" not in told
    assert "Traceback" not in told


def test_those_who_ask_get_a_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code_of(ValueError("details"), tracebacks=True)
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("SOUL_DEBUG", "1")
    code_of(ValueError("details"))
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("SOUL_DEBUG", "perhaps")
    code_of(ValueError("details"))
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("error", [KeyboardInterrupt(), BaseExceptionGroup("tasks", [KeyboardInterrupt()])])
def test_an_interrupt_ends_without_a_word(capsys: pytest.CaptureFixture[str], error: BaseException) -> None:
    assert code_of(error) == 130
    assert capsys.readouterr() == ("", "")


def test_a_closed_pipe_is_left_to_click() -> None:
    broken = BrokenPipeError(errno.EPIPE, "broken")
    with pytest.raises(BrokenPipeError), told_plainly(tracebacks=False):
        raise ExceptionGroup("tasks", [broken])


def test_clicks_own_errors_pass() -> None:
    with pytest.raises(click.UsageError), told_plainly(tracebacks=False):
        raise click.UsageError("no")
