"""The reading of one document in a separate process with limits, which ends with the document."""

import asyncio
import json
import os
import re
import resource
import signal
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePath
from types import FrameType
from typing import TextIO

import daemon
from daemon.core.concurrency import in_background
from daemon.core.errors import DocumentUnreadable
from daemon.core.text import visible_line

_MB = 1 << 20

MOST_BYTES = 32 * _MB
"""Bytes of the largest document that is read."""
MOST_UNPACKED = 256 * _MB
"""Bytes of all parts of an office document together, which is an archive."""
MOST_PARTS = 10_000
"""Parts of an office document."""
MOST_TEXT = 2_000_000
"""Characters that are read of one document."""
MOST_PAGES = 1_000
"""Pages of a PDF, or slides, that are read."""
MOST_ROWS = 50_000
"""Rows of a table, or of one sheet of a workbook, that are read."""
MOST_SECTIONS = 5_000
"""Sections of one document."""
LONGEST_PLACE = 80
"""Characters of a place. A longer one is cut."""


class DocumentKind(StrEnum):
    """The kinds of documents. Each value is the name of the module that reads it. The library holds no pictures."""

    PDF = "pdf"
    WORD = "word"
    WORKBOOK = "workbook"
    SLIDES = "slides"
    TABLE = "table"
    PICTURE = "picture"


class Why(StrEnum):
    """The codes for why a document can't be read. Each has a sentence for the sender of the file."""

    DAMAGED = "damaged"
    MISNAMED = "misnamed"
    OTHER_FORMAT = "other_format"
    PROTECTED = "protected"
    NO_TEXT = "no_text"
    ONLY_PICTURES = "only_pictures"
    TOO_BIG_INSIDE = "too_big_inside"


_KINDS = {
    ".pdf": DocumentKind.PDF,
    ".docx": DocumentKind.WORD,
    ".docm": DocumentKind.WORD,
    ".xlsx": DocumentKind.WORKBOOK,
    ".xlsm": DocumentKind.WORKBOOK,
    ".pptx": DocumentKind.SLIDES,
    ".pptm": DocumentKind.SLIDES,
    ".csv": DocumentKind.TABLE,
    ".tsv": DocumentKind.TABLE,
}
_INSTEAD = {
    **dict.fromkeys((".doc", ".odt"), ".docx"),
    **dict.fromkeys((".xls", ".xlsb", ".ods"), ".xlsx"),
    **dict.fromkeys((".ppt", ".odp"), ".pptx"),
}


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document, as data. `place` locates it for users: `page 12`, `sheet Q3, rows 1-40`."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a document, in its order. `left_out` is a sentence about unread parts, or empty."""

    sections: tuple[Section, ...]
    left_out: str = ""


def kind_of(name: str) -> DocumentKind | None:
    """Return the kind that a file's name promises, or None."""
    return _KINDS.get(PurePath(name).suffix.lower())


def readable_instead(name: str) -> str | None:
    """Return the suffix of a readable format for a document of an unread format, or None for all other names."""
    return _INSTEAD.get(PurePath(name).suffix.lower())


def in_megabytes(size: int) -> str:
    return f"{size / _MB:,.0f} MB" if size >= 10 * _MB else f"{size / _MB:,.1f} MB"


MEMORY = 512 << 20
"""Bytes of address space, including Python and its packages (about 100 MB)."""
CPU_SECONDS = 60
"""Seconds of CPU time for one document."""
WALL_SECONDS = 180
"""Seconds until the process ends in any case, on an overloaded machine."""
_GRACE = 5  # seconds to report that the time is up
_MOST_OF_IT = 0.6
_PATIENT = 10  # as `nice` counts
_KILLED_FIRST = "900"  # of 1000: without free memory, the kernel ends this process first


class TimeIsUp(BaseException):
    """CPU_SECONDS or WALL_SECONDS are over. It is no Exception, which a package could swallow."""


def restrain() -> None:
    """Bound memory and time, and forbid writing files and starting processes.

    Raises OSError or ValueError on Linux if a limit can't be set. Other systems lack some limits.
    """
    with suppress(OSError):  # a service may forbid it
        os.nice(_PATIENT)
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_KILLED_FIRST, encoding="ascii")
    for number in (signal.SIGXCPU, signal.SIGALRM):
        signal.signal(number, _stop)
    signal.setitimer(signal.ITIMER_REAL, WALL_SECONDS)
    _limit(resource.RLIMIT_AS, MEMORY)
    _limit(resource.RLIMIT_CPU, CPU_SECONDS, CPU_SECONDS + _GRACE)
    for kind in (resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_NPROC):
        _limit(kind, 0)


def open_nothing() -> None:
    """Forbid opening files and sockets from now on. Open ones stay open."""
    _limit(resource.RLIMIT_NOFILE, 0)


class MemoryUse:
    """The part of MEMORY that this process has used. Create it before `open_nothing`."""

    def __init__(self) -> None:
        self._status: TextIO | None = None
        with suppress(OSError):  # only Linux has it
            self._status = Path("/proc/self/status").open(encoding="ascii", errors="replace")  # noqa: SIM115  # for good

    def was_short(self) -> bool:
        """Return True if most memory was used at some time. libxml2 reports a lack of memory as an unknown error."""
        if self._status is None:
            return False
        self._status.seek(0)
        peaks = (int(line.split()[1]) for line in self._status if line.startswith("VmPeak:"))
        return 1024 * next(peaks, 0) > _MOST_OF_IT * MEMORY


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    for one in (signal.SIGXCPU, signal.SIGALRM):
        signal.signal(one, signal.SIG_IGN)  # one signal is enough; the kernel ends the process after the grace
    raise TimeIsUp


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    try:
        resource.setrlimit(kind, (soft, soft if hard is None else hard))
    except (OSError, ValueError):
        if sys.platform == "linux":
            raise


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
