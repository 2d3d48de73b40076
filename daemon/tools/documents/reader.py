"""The reading of one document in a separate process with limits, which ends with the document."""

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
    """Return the text of an open file with its places. The caller closes the file. It may take minutes.

    The process has a bare environment, a separate process group, and the document as its standard input. Its output is
    as untrusted as the document, and is bounded and cleaned here. Raises DocumentUnreadable, with a hint for its owner,
    and OSError if no process can be started.
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
        # In real time, like the process's own limits.
        async with asyncio.timeout(WALL_SECONDS + 10):
            said = await _output(process)
            code = await process.wait()
    except TimeoutError:
        said, code = b"", -signal.SIGKILL
    finally:
        await _end(process)
    return await in_background(partial(_understood, said, code))


async def read_bytes(kind: DocumentKind, data: bytes) -> Document:
    """Read a document in memory like `read_document`."""
    with tempfile.TemporaryFile() as file:
        await in_background(partial(file.write, data))
        file.seek(0)
        return await read_document(kind, file.fileno())


async def _output(process: Process) -> bytes:
    """Return the process's output, at most _MOST_OUTPUT. A process with more output is ended."""
    assert process.stdout is not None  # started with a pipe
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
    """Return the document from the process's lines. Raises DocumentUnreadable if there is nothing to read."""
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
