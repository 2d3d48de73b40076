"""The command as a process of its own, in another directory and with an empty environment."""

import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from daemon.memory.database.sqlite import sqlite3
from tests.cli.conftest import call
from tests.cli.stocked import one
from tests.fakes import TIMEOUT

REPOSITORY = Path(__file__).resolve().parent.parent.parent


def run(*command: str, cwd: Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        command,
        cwd=cwd,
        env={"PYTHONPATH": str(REPOSITORY), **environment},
        input=given,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=TIMEOUT,
        check=False,
    )


def soul(*arguments: str, cwd: Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `soul` to its end."""
    return run(sys.executable, "-m", "daemon", *arguments, cwd=cwd, given=given, **environment)


def chat(home: Path, **how: Any) -> subprocess.Popen[Any]:  # noqa: ANN401  # any option of Popen
    """A chat that goes on."""
    command, environment = [sys.executable, "-m", "daemon", "chat", "--as", "Ada"], {"PYTHONPATH": str(REPOSITORY)}
    return subprocess.Popen(command, cwd=home, env=environment, **how)


def test_help_imports_nothing_heavy(home: Path) -> None:
    code = (
        "import sys; sys.argv[1:] = ['--help']\n"
        "try:\n import daemon.cli; daemon.cli.main()\nfinally:\n print(*sys.modules)"
    )
    result = run(sys.executable, "-c", code, cwd=home)
    assert "Settings and help:" in result.stdout
    loaded = set(result.stdout.splitlines()[-1].split())
    assert loaded.isdisjoint({"pydantic", "aiohttp", "slack_sdk", "anthropic", "openai", "sqlite3", "daemon.app"})


def test_it_ends_with_its_code_without_freeing_what_a_thread_still_uses(home: Path) -> None:
    code = (
        "import atexit, threading\n"
        "atexit.register(print, 'the interpreter is freed')\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "import daemon.cli; daemon.cli.main()"
    )
    result = run(sys.executable, "-c", code, "no-such-command", cwd=home)
    assert (result.returncode, result.stdout) == (2, "")
    assert "no-such-command" in result.stderr


def test_a_pipe_gets_the_reply_and_nothing_else(home: Path) -> None:
    result = soul("chat", "--as", "Ada", cwd=home, given="hi there\n")
    assert result.returncode == 0, result.stderr
    assert "“hi there”" in result.stdout
    assert result.stdout.endswith("\n")
    assert len(result.stdout.splitlines()) == 1
    assert "Traceback" not in result.stderr
    assert one(home / "memory.db", "SELECT state FROM outbox") == "sent"
    assert one(home / "memory.db", "SELECT count(*) FROM presence") == 0
    assert (home / "memory.db").stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_lines_of_a_pipe_are_answered_in_order_none_is_no_fault_and_no_character_stops_the_chat(home: Path) -> None:
    result = soul("chat", cwd=home, given="one\ntwo\n\nthree")
    assert result.returncode == 0, result.stderr
    echoed = [line.split("“")[1].split("”")[0] for line in result.stdout.splitlines()]
    assert echoed == ["one", "two", "three"]
    empty = soul("chat", cwd=home)
    assert (empty.returncode, empty.stdout) == (0, "")
    known = soul("chat", "--as", "Ada", cwd=home, given="remember that I tend bees\nwhat do you know about me\nwhy 1\n")
    assert "1. I tend bees (" in known.stdout
    assert "> I tend bees" in known.stdout
    result = soul("chat", "--as", "Ada", cwd=home, given="日本 \x1b[31m\n", PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert "\\u201c" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.slow
def test_a_chat_without_input_is_an_error(home: Path) -> None:
    result = run("/bin/sh", "-c", '"$0" -m daemon chat <&-', sys.executable, cwd=home)
    assert result.returncode == 78
    assert result.stderr.splitlines()[0] == "there is no input to read"


def _accept_ctrl_c() -> None:
    """A process in the background ignores Ctrl-C, and so do its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.slow
def test_ctrl_c_ends_a_chat_silently(home: Path) -> None:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    running = chat(home, **pipes, text=True, preexec_fn=_accept_ctrl_c)
    assert running.stdin is not None
    assert running.stdout is not None
    running.stdin.write("hello\n")
    running.stdin.flush()
    assert running.stdout.read(1) == "I"
    running.send_signal(signal.SIGINT)
    rest, errors = running.communicate(timeout=TIMEOUT)
    assert running.returncode == 130
    assert "Traceback" not in rest + errors
    assert "Error" not in errors


def read_until(terminal: int, end: bytes) -> bytes:
    """The output of a terminal up to a mark."""
    shown = b""
    while end not in shown:
        shown += os.read(terminal, 4096)
    return shown


@pytest.mark.slow
def test_at_a_terminal_the_chat_is_not_mixed_with_the_log(home: Path) -> None:
    ours, theirs = os.openpty()
    running = chat(home, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    read_until(ours, b"> ")
    os.write(ours, b"hello\n")
    shown = read_until(ours, b"\n> ")
    assert "… thinking\r\x1b[K".encode() in shown
    assert "“hello”".encode() in shown
    assert b"event=" not in shown
    os.write(ours, b"\x04")  # end of input
    assert running.wait(60) == 0
    os.close(ours)
    assert "event=" in (home / "chat.log").read_text(encoding="utf-8")


def schema_of(path: Path) -> tuple[object, ...]:
    """A file's tables, indexes and pragmas."""
    with closing(sqlite3.connect(path)) as connection:
        tables = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name").fetchall()
        marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("user_version", "application_id")]
    return (*tables, *marks)


@pytest.mark.slow
def test_the_example_database_is_what_the_schema_makes_and_its_command_writes(home: Path) -> None:
    result = soul("db", "example", "example.db", cwd=home)
    assert result.returncode == 0, result.stderr
    assert [found.name for found in home.iterdir()] == ["example.db"]
    assert soul("db", "migrate", cwd=home).returncode == 0
    shipped = schema_of(REPOSITORY / "memory.db.example")
    assert shipped == schema_of(home / "memory.db") == schema_of(home / "example.db")
    with closing(sqlite3.connect(home / "example.db")) as plain:
        assert plain.execute("SELECT count(*) FROM turns").fetchone() == (0,)
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_an_example_that_can_not_be_written_is_an_error(home: Path) -> None:
    for place in ("no/such/folder/x.db", "."):
        result = call("db", "example", place)
        assert (result.exit_code, "can't be written" in result.stderr) == (70, True), result.stderr
