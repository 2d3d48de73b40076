"""What the readers of all kinds share: what they give, and how they refuse."""

from collections.abc import Iterator
from dataclasses import dataclass

from daemon.tools.documents.document import Section


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A sentence on what of the document is not read."""

    sentence: str


Read = Iterator[Section | LeftOut]
"""What a reader gives, in the order of the document. It may raise CannotRead at any time, and anything else too."""


class CannotRead(Exception):
    """A document can't be read: `sentence` says why, `hint` what its owner may do."""

    def __init__(self, sentence: str, hint: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint


PROTECTED = "it is protected by a password", "save a copy of it without a password"
NO_TEXT = "it holds no text", "nothing to do unless text is expected: then save it anew"


def what_it_begins_like(data: bytes) -> str:
    """In words, what a file is by its first bytes."""
    known = {
        b"%PDF-": "a PDF",
        b"PK\x03\x04": "an archive or an office document",
        b"MZ": "a Windows program",
        b"\x7fELF": "a program",
        b"\xd0\xcf\x11\xe0": "a document of Office before 2007",
        b"{\\rtf": "an RTF text",
        b"\x89PNG": "a picture",
        b"\xff\xd8\xff": "a picture",
    }
    for magic, words in known.items():
        if data.startswith(magic):
            return words
    return "other data" if b"\0" in data[:4096] else "plain text"


def misnamed(data: bytes, expected: str) -> CannotRead:
    """The refusal of a file that is not what its name says."""
    found = what_it_begins_like(data)
    return CannotRead(f"it is no {expected}, but begins like {found}", "give it the name of what it is")
