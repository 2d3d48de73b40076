"""The results and refusals that all readers of documents share."""

from collections.abc import Iterator

from daemon.core.value import Value
from daemon.tools.documents.document import Section, Why
from daemon.tools.documents.marks import what_it_is


class LeftOut(Value):
    """A sentence about a part of the document that is not read."""

    sentence: str


Read = Iterator[Section | LeftOut]
"""The results of a reader, in the order of the document. A reader may raise CannotRead or any other error."""


class CannotRead(Exception):
    """A document can't be read: `sentence` says why, `hint` is the remedy, `why` is the code of the reason."""

    def __init__(self, sentence: str, hint: str, why: Why = Why.DAMAGED) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.why = why


PROTECTED = "it is protected by a password", "save a copy of it without a password", Why.PROTECTED
NO_TEXT = "it holds no text", "nothing to do unless text is expected: then save it anew", Why.NO_TEXT


def misnamed(data: bytes, expected: str) -> CannotRead:
    sentence = f"it is no {expected}, but begins like {what_it_is(data)}"
    return CannotRead(sentence, "give it the name of what it is", Why.MISNAMED)
