"""Waits until the platform says who reads where sessions are spoken of; until then others only seem to read there."""

from collections import OrderedDict
from typing import Final

from daemon.core.errors import NotDelivered
from daemon.core.perception import Readers

TRIES: Final = 40
"""So often it is tried in vain, in this process: some ten minutes, however late the message or event is."""

_UNASKED: Final = 10  # tries to find out before whom an unasked thought is thought
_LOOKS: Final = 3  # before an answer that was waited for is withheld
_LONGEST_PAUSE_S: Final = 15.0
_KEPT: Final = 1_000  # messages; the oldest is then tried anew from the first


class ReadersUnknown(NotDelivered):
    """It can't be found out just now who reads along; the message is taken up again later."""


class ReaderDoubts:
    """How often it was tried in vain for each message.

    Tries are counted and not time: an event may be late because no daemon ran, or because the machine slept.
    """

    def __init__(self) -> None:
        self._tries: OrderedDict[str, int] = OrderedDict()

    def require_known(self, message: str, readers: Readers) -> None:
        """Raises ReadersUnknown while the readers of a message, a row's id, are not known, until it was tried enough.

        Then those who read there count as others.
        """
        self._require(message, TRIES if readers.unproven else 0)

    def require_all_known(self, conversation: str, readers: Readers) -> None:
        """Raises ReadersUnknown while who reads in a conversation, or their private rooms, is not known, as above.

        Then they count as others, and as in no room.
        """
        self._require(f"all {conversation}", _UNASKED if readers.unproven or readers.rooms_unproven else 0)

    def require_sure(self, message: str) -> None:
        """Raises ReadersUnknown until others were found to read more than once, as a platform may be asked in haste."""
        self._require(message, _LOOKS)

    def _require(self, message: str, most: int) -> None:
        tried = self._tries.pop(message, 0)
        if tried >= most:
            return
        self._tries[message] = tried + 1
        if len(self._tries) > _KEPT:
            self._tries.popitem(last=False)
        pause = min(2.0**tried, _LONGEST_PAUSE_S)
        raise ReadersUnknown("it can't be found out just now who reads there", retry_after=pause)
