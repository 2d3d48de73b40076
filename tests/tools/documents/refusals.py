"""For tests of documents that are refused."""

import pytest

from daemon.core.errors import DocumentUnreadable
from daemon.tools.documents.document import DocumentKind
from daemon.tools.documents.reader import read_bytes


async def refused(kind: DocumentKind, data: bytes) -> str:
    """The sentence with which a document is refused."""
    with pytest.raises(DocumentUnreadable) as raised:
        await read_bytes(kind, data)
    assert raised.value.hint
    return raised.value.message
