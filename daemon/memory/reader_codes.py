"""Codes for who may find a row of a full-text index: words that stand for audiences, channels and folders.

An id can hold anything, a word of the index only letters and digits; a code is the fingerprint of its parts.
"""

from hashlib import blake2b
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers

_BYTES: Final = 6  # of the fingerprint; whatever is found is asked once more by plain SQL


def code(*parts: str) -> str:
    """A word that stands for these parts."""
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=_BYTES).hexdigest()


def entries(readers: str, words: str) -> str:
    """What the index holds of a row: each word behind each code."""
    return " ".join(f"{one}{word}" for one in readers.split() for word in words.split())


def codes_of_turn(where: ConversationKey, audience: str) -> tuple[str, ...]:
    """The codes under which a turn is indexed; `audience` is what its row says.

    What the whole workspace may know also has one of its channel, for readers who may know no more than that.
    """
    anywhere = _anywhere(where, audience)
    return (anywhere, _in_channel(where)) if audience == str(_everybody(where)) else (anywhere,)


def codes_for_readers(where: ConversationKey, readers: Readers) -> tuple[str, ...]:
    """The codes of the turns that the readers of a reply may know.

    Members may know what was said to the same audience, and what the whole workspace may know; before readers who
    aren't all members it is both in the same channel alone.
    """
    own, everybody = str(readers.audience), str(_everybody(where))
    if readers.members_only:
        return tuple(_anywhere(where, audience) for audience in dict.fromkeys((own, everybody)))
    return (_in_channel(where),) if own == everybody else (_anywhere(where, own), _in_channel(where))


def _everybody(where: ConversationKey) -> Audience:
    return Audience(AudienceKind.WORKSPACE, where.workspace)


def _anywhere(where: ConversationKey, audience: str) -> str:
    return code("anywhere", where.soul, where.workspace, audience)


def _in_channel(where: ConversationKey) -> str:
    return code("channel", where.soul, where.workspace, where.channel)
