"""A channel: lines of text as files in a folder that its owner alone may open.

Who wants to say something as *ada* moves a file into `in/ada`, as `1.txt`; it is taken away when it is heard. Each
reply is a file in `out/ada`, named for when it was said.
"""

import asyncio
import os
import stat
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from daemon.channels.extended import (
    LONGEST_LINE,
    ChannelExtension,
    ChannelSurroundings,
    Hear,
    HeardLine,
    SaidLine,
)
from daemon.core.errors import ChannelRefused, NotDelivered

_LOOK_S: Final = 0.5
_MOST_BYTES: Final = 4 * LONGEST_LINE
_FOR_OWNER: Final = 0o700


class Lines:
    """Implements `LineChannel`."""

    def __init__(self, around: ChannelSurroundings) -> None:
        self._folder, self._clock = around.folder, around.clock

    async def receive(self, hear: Hear) -> None:
        """See `LineChannel.receive`; several daemons may look into one folder."""
        await asyncio.to_thread(_make, self._folder)
        while True:
            for file in await asyncio.to_thread(_waiting, self._folder / "in"):
                await _take(file, hear)
            await self._clock.sleep(_LOOK_S)

    async def send(self, line: SaidLine) -> None:
        """See `LineChannel.send`."""
        try:
            await asyncio.to_thread(self._write, line)
        except OSError as error:
            raise NotDelivered(f"the reply can't be written: {type(error).__name__}", hint="free the disk") from error

    async def sent(self, line: SaidLine) -> bool:
        """See `LineChannel.sent`."""
        return await asyncio.to_thread(self._is_written, line)

    def _write(self, line: SaidLine) -> None:
        if self._is_written(line):
            return
        folder = self._folder / "out" / line.person
        for one in (folder.parent, folder):
            one.mkdir(mode=_FOR_OWNER, exist_ok=True)
        fresh = folder / f".{_code(line)}"
        with fresh.open("w", encoding="utf-8") as file:
            file.write(line.words)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(folder / f"{self._clock.now_ms()}-{_code(line)}.txt")

    def _is_written(self, line: SaidLine) -> bool:
        return any((self._folder / "out" / line.person).glob(f"*-{_code(line)}.txt"))


def _code(line: SaidLine) -> str:
    return sha256(line.key.encode()).hexdigest()[:16]


def _make(folder: Path) -> None:
    """The folder, and those above and below it that are missing. Raises ChannelRefused where others may open it."""
    for one in (folder.parents[1], folder.parent, folder):
        one.mkdir(mode=_FOR_OWNER, exist_ok=True)
    if stat.S_IMODE(folder.stat().st_mode) & ~_FOR_OWNER:
        raise ChannelRefused(f"other accounts may open {folder}", code="open", hint=f"chmod 700 {folder}")
    (folder / "in").mkdir(mode=_FOR_OWNER, exist_ok=True)


def _waiting(folder: Path) -> list[Path]:
    """The files that wait, the oldest first."""
    return [file for _, file in sorted(_dated(folder))]


def _dated(folder: Path) -> Iterator[tuple[int, Path]]:
    for file in folder.glob("*/*.txt"):
        try:
            yield file.lstat().st_mtime_ns, file
        except FileNotFoundError:  # another daemon was faster
            continue


async def _take(file: Path, hear: Hear) -> None:
    """Pass on one file; one that can't be heard stays, under a name that is looked at no more."""
    try:
        line = await asyncio.to_thread(_read, file)
        await hear(line)
    except FileNotFoundError:  # another daemon was faster
        return
    except (ChannelRefused, OSError, ValueError):
        await asyncio.to_thread(_set_aside, file)
    else:
        await asyncio.to_thread(file.unlink, missing_ok=True)


def _read(file: Path) -> HeardLine:
    """The line in a file; its id is that of no other file. Raises OSError, ValueError."""
    with os.fdopen(os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as opened:
        about = os.fstat(opened.fileno())
        if not stat.S_ISREG(about.st_mode) or about.st_size > _MOST_BYTES:
            raise ValueError("it is no small file")
        id_ = sha256(f"{file.name}/{about.st_mtime_ns}".encode()).hexdigest()[:32]
        return HeardLine(file.parent.name, id_, opened.read(_MOST_BYTES).decode())


def _set_aside(file: Path) -> None:
    try:
        file.rename(file.with_suffix(".refused"))
    except FileNotFoundError:  # another daemon was faster
        return


LINES = ChannelExtension(Lines)
