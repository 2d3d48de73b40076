"""Lines from a file descriptor, be it a terminal, a pipe or a file, without holding up the event loop."""

import asyncio
import codecs
import os
import select
from collections.abc import AsyncGenerator
from typing import Final

LONGEST_LINE: Final = 40_000  # characters; what is longer comes in several pieces
_CHUNK: Final = 65_536  # bytes


class Lines:
    """Lines of a file descriptor, read in a thread that ends as soon as it is no longer waited for."""

    def __init__(self, source: int) -> None:
        self._source = source

    async def read(self) -> AsyncGenerator[str, None]:
        """Lines without their ends, until the end of input."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        wake, waker = os.pipe()
        rest = ""
        try:
            while chunk := await self._chunk(wake, waker):
                *lines, rest = (rest + decoder.decode(chunk)).split("\n")
                for line in lines:
                    yield line
                if len(rest) >= LONGEST_LINE:
                    yield rest
                    rest = ""
            if rest := rest + decoder.decode(b"", final=True):
                yield rest
        finally:
            os.close(wake)
            os.close(waker)

    async def _chunk(self, wake: int, waker: int) -> bytes:
        reading = asyncio.get_running_loop().run_in_executor(None, _read_when_ready, self._source, wake)
        try:
            return await asyncio.shield(reading)
        except asyncio.CancelledError:
            os.write(waker, b".")
            await asyncio.wait((reading,))
            raise


def _read_when_ready(source: int, wake: int) -> bytes:
    """Some bytes; none at the end, when the terminal hung up, or once `wake` can be read."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    poll.register(wake, select.POLLIN)
    if wake in {ready for ready, _ in poll.poll()}:
        return b""
    try:
        return os.read(source, _CHUNK)
    except OSError:
        return b""
