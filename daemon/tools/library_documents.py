"""Reads a document of a folder into passages, without what looks like a key."""

import os
from functools import partial
from itertools import islice

from daemon.core.concurrency import in_background
from daemon.core.errors import DocumentUnreadable
from daemon.core.ports.library import IndexedFile
from daemon.core.telemetry.redaction import remove_keys
from daemon.tools.documents.document import Document, DocumentKind, Section
from daemon.tools.documents.reader import read_document
from daemon.tools.library_files import LibraryFile, holds_private_key, open_plain
from daemon.tools.passages import MOST_PASSAGES, cut_sections


async def read_into_passages(file: LibraryFile, kind: DocumentKind) -> IndexedFile:
    """A document with its passages, or with the fault why there are none. Raises OSError when no process can start."""
    try:
        handle = await in_background(partial(open_plain, file))
    except OSError as error:
        return IndexedFile(file.path, file.stamp, (), fault=f"it can't be opened: {error.strerror}")
    try:
        document = await read_document(kind, handle)
    except DocumentUnreadable as error:
        return IndexedFile(file.path, file.stamp, (), fault=str(error))
    finally:
        os.close(handle)
    return await in_background(partial(_indexed, file, document))


def _indexed(file: LibraryFile, document: Document) -> IndexedFile:
    if any(holds_private_key(one.text) for one in document.sections):
        return IndexedFile(file.path, file.stamp, (), fault="it holds a private key (take the key out)")
    clean = (Section(remove_keys(one.place), remove_keys(one.text)) for one in document.sections)
    passages = tuple(islice(cut_sections(clean), MOST_PASSAGES + 1))
    fault = document.left_out
    if len(passages) > MOST_PASSAGES:
        passages = passages[:MOST_PASSAGES]
        fault = "; ".join(filter(None, (fault, f"it is long: it is searched to {passages[-1].place}")))
    return IndexedFile(file.path, file.stamp, passages, fault)
