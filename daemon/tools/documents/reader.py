"""Reads a document in a process of its own, which ends with it; whatever the file does, it does there.

The process has a bare environment, an own process group, the limits of `limits.py`, and the document as its standard
input. What it says is no more to be trusted than the document: it is bounded and cleaned here.
"""

import asyncio
import json
import os
import re
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import daemon
from daemon.core.concurrency import in_background
from daemon.core.errors import DocumentUnreadable
from daemon.core.text import visible_line
from daemon.tools.documents.document import (
    LONGEST_PLACE,
    MOST_SECTIONS,
    MOST_TEXT,
    Document,
    DocumentKind,
    Section,
    Why,
)
from daemon.tools.documents.limits import WALL_SECONDS

_BEGIN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from daemon.tools.documents.worker import main; main()"
_CODE = Path(daemon.__file__).parent.parent
_MOST_OUTPUT = 16 << 20  # bytes: the longest text, with every letter escaped
_LONGEST_SENTENCE = 300
_CODES = frozenset(map(str, Why))
_MOST_LEFT_OUT = 10  # sentences
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_TOO_MUCH = Why.TOO_BIG_INSIDE, "reading it takes too much time or memory", "split it into smaller documents"


async def read_document(kind: DocumentKind, file: int) -> Document:
    """The text of an open file with its places; the caller closes the file. It may take minutes.

    Raises DocumentUnreadable, with what its owner can do about it, and OSError when no process can be started.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-X", "utf8", "-c", _BEGIN, str(_CODE), kind),
        stdin=file,
        stdout=PIPE,
        stderr=DEVNULL,
        cwd="/",
        env={},
        start_new_session=True,
    )
    try:
        # In real time, as its own limits are: the process is none of the clock's.
        async with asyncio.timeout(WALL_SECONDS + 10):
            said = await _output(process)
            code = await process.wait()
    except TimeoutError:
        said, code = b"", -signal.SIGKILL
    finally:
        await _end(process)
    return await in_background(partial(_understood, said, code))


async def read_bytes(kind: DocumentKind, data: bytes) -> Document:
    """As `read_document`, of a document that is in memory."""
    with tempfile.TemporaryFile() as file:
        await in_background(partial(file.write, data))
        file.seek(0)
        return await read_document(kind, file.fileno())


async def _output(process: Process) -> bytes:
    """What it says until it ends, at most _MOST_OUTPUT; one that says more is ended."""
    assert process.stdout is not None  # it was started with a pipe
    said = bytearray()
    while len(said) < _MOST_OUTPUT and (chunk := await process.stdout.read(64 * 1024)):
        said += chunk
    if len(said) >= _MOST_OUTPUT:
        _kill(process)
    return bytes(said)


async def _end(process: Process) -> None:
    _kill(process)
    await process.wait()
    process._transport.close()  # type: ignore[attr-defined]  # noqa: SLF001  # it has no public name


def _kill(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def _understood(said: bytes, code: int) -> Document:
    """The document out of the process's lines. Raises DocumentUnreadable when there is nothing to read."""
    sections: list[Section] = []
    left_out: list[str] = []
    why: tuple[Why, str, str] | None = _why_it_died(code)
    for line in _lines(said):
        match line:
            case ["section", str(place), str(text)] if len(sections) < MOST_SECTIONS:
                sections.append(Section(visible_line(place)[:LONGEST_PLACE], _CONTROLS.sub(" ", text[:MOST_TEXT])))
            case ["left out", str(sentence)] if len(left_out) < _MOST_LEFT_OUT:
                left_out.append(_sentence(sentence))
            case ["stopped", str(key), str(sentence), str(hint)] if key in _CODES:
                why = Why(key), _sentence(sentence), _sentence(hint)
            case ["end"]:
                why = None
    if why is not None and not sections:
        raise DocumentUnreadable(why[1], hint=why[2], why=why[0])
    if why is not None:
        left_out.append(f"it is read to {sections[-1].place}: {why[1]}")
    return Document(tuple(sections), "; ".join(left_out))


def _lines(said: bytes) -> Iterator[Sequence[object]]:
    for line in said.split(b"\n"):
        with suppress(ValueError, RecursionError):  # half a line of a process that was ended, no JSON, or a tower of it
            found = json.loads(line)
            if isinstance(found, list):
                yield found


def _why_it_died(code: int) -> tuple[Why, str, str]:
    """Why a process that said no last line has ended."""
    if -code in {signal.SIGKILL, signal.SIGXCPU, signal.SIGALRM}:
        return _TOO_MUCH
    ended = f"signal {-code}" if code < 0 else f"code {code}"
    return (
        Why.DAMAGED,
        f"the process that read it ended with {ended}",
        "open it with the program it is from, and save it anew",
    )


def _sentence(text: str) -> str:
    return visible_line(text)[:_LONGEST_SENTENCE]
