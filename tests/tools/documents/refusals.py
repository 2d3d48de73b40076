"""Documents read in the process of the test, at a tenth of the cost of their own, and documents that are refused."""

import importlib
import json
import tempfile

import pytest

from daemon.core.errors import DocumentUnreadable
from daemon.tools.documents.document import Document, DocumentKind
from daemon.tools.documents.limits import MemoryUse
from daemon.tools.documents.reader import _understood, read_bytes
from daemon.tools.documents.worker import told


class _Unlimited(MemoryUse):
    """The process of the tests has no limit that it could meet."""

    def __init__(self) -> None:
        self._status = None


def read_here(kind: DocumentKind, data: bytes) -> Document:
    """What the process of a document would make of it, limits and closed doors left out."""
    reader = importlib.import_module(f"daemon.tools.documents.formats.{kind}")
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        lines = [json.dumps(line) for line in told(reader.read, _Unlimited(), file.fileno())]
    return _understood("\n".join(lines).encode(), 0)


def refused_here(kind: DocumentKind, data: bytes) -> str:
    """The sentence with which a document is refused, read in the process of the test."""
    with pytest.raises(DocumentUnreadable) as raised:
        read_here(kind, data)
    assert raised.value.hint
    return raised.value.message


async def refused(kind: DocumentKind, data: bytes) -> str:
    """The sentence with which a document is refused."""
    with pytest.raises(DocumentUnreadable) as raised:
        await read_bytes(kind, data)
    assert raised.value.hint
    return raised.value.message
