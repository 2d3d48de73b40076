"""Failures are two lines and an exit code; a traceback is printed only on request."""

import errno

import click
import pytest

from daemon.cli.options import plain_errors
from daemon.core.errors import ConfigError, DaemonError, StoreBusy


def code_of(error: BaseException, *, tracebacks: bool = False) -> int:
    """The exit code that a failure ends with."""
    with pytest.raises(click.exceptions.Exit) as end, plain_errors(tracebacks=tracebacks):
        raise error
    return end.value.exit_code


def test_our_errors_are_two_lines_and_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    for error, code in (
        (ConfigError("a", hint="b"), 78),
        (StoreBusy("a", hint="b"), 75),
        (DaemonError("a", hint="b"), 70),
        (ExceptionGroup("tasks", [ExceptionGroup("inner", [ConfigError("a", hint="b")])]), 78),
        (ExceptionGroup("tasks", [StoreBusy("x"), ConfigError("a", hint="b")]), 78),
    ):
        assert (code_of(error), capsys.readouterr().err) == (code, "a\nb\n"), error
    code_of(DaemonError("what\x1b[2J"))
    assert capsys.readouterr().err == "what␛[2J\n"
    for interrupt in (KeyboardInterrupt(), BaseExceptionGroup("tasks", [KeyboardInterrupt()])):
        assert (code_of(interrupt), capsys.readouterr()) == (130, ("", ""))


def test_another_librarys_error_is_printed_without_its_message_and_a_traceback_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert code_of(ValueError("words of Ana")) == 70
    result = capsys.readouterr().err
    assert "ValueError at test_error_output.py:" in result
    assert "words of Ana" not in result
    assert "Traceback" not in result
    code_of(ValueError("details"), tracebacks=True)
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("SOUL_DEBUG", "1")
    code_of(ValueError("details"))
    assert "Traceback" in capsys.readouterr().err
    monkeypatch.setenv("SOUL_DEBUG", "perhaps")
    code_of(ValueError("details"))
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_pipe_and_clicks_own_errors_are_left_to_click() -> None:
    broken = BrokenPipeError(errno.EPIPE, "broken")
    with pytest.raises(BrokenPipeError), plain_errors(tracebacks=False):
        raise ExceptionGroup("tasks", [broken])
    with pytest.raises(click.UsageError), plain_errors(tracebacks=False):
        raise click.UsageError("no")
