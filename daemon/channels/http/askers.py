"""Tells those who connect apart, by account on this machine and by address elsewhere, so that each gets its share."""

import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from daemon.core.network import is_loopback

_TABLES: Final = ("/proc/self/net/tcp", "/proc/self/net/tcp6")  # proc(5)
_IN_IPV6: Final = b"\0" * 10 + b"\xff" * 2  # RFC 4291, section 2.5.5.2
_ACCOUNT, _INODE = 7, 9  # fields of a row; the inode of a socket that its program has closed is 0


def asker_at(there: Any, here: Any) -> str:  # noqa: ANN401  # addresses as Python's sockets give them; None once it is closed
    """The account of a program on this machine, where the kernel tells it; else the address. It reads files.

    `there` and `here` are the two ends of a connection.
    """
    if not there or not here:
        return ""
    if is_loopback(there[0]):
        ends = [[_written(end, wide=wide) for end in (there, here)] for wide in (False, True)]
        for row in _rows():
            if row[1:3] in ends and row[_INODE] != "0":
                return f"account {row[_ACCOUNT]}"
    return str(there[0])


def _written(end: Any, *, wide: bool) -> str:  # noqa: ANN401  # as above
    """An address and port as the kernel writes them; `wide`: an IPv4 address in the form of IPv6."""
    packed = socket.inet_pton(socket.AF_INET6 if ":" in end[0] else socket.AF_INET, end[0])
    if wide and len(packed) == struct.calcsize("I"):
        packed = _IN_IPV6 + packed
    return f"{''.join(f'{word:08X}' for (word,) in struct.iter_unpack('=I', packed))}:{end[1]:04X}"


def _rows() -> Iterator[list[str]]:
    for table in map(Path, _TABLES):
        if table.exists():
            with table.open(encoding="ascii") as lines:
                next(lines)
                yield from map(str.split, lines)
