"""Who may find a row: codes inside a full-text index, and the condition by which what was found is asked once more.

Codes are words that stand for audiences, channels and folders. An id can hold anything, a word of the index only
letters and digits; a code is the fingerprint of its parts. Both say what `core.hearing.may_hear` says.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers

READERS: Final = "thought_before"
"""The key in `extra` of a record that says before whom a thought noted it."""

_THOUGHT_BEFORE: Final = f"CASE WHEN json_valid(r.extra) THEN json_extract(r.extra, '$.{READERS}') ELSE '' END"
"""The same in SQL, of the record `r`; NULL where it holds only what was said, '' if it can't be read."""

_ADRIFT: Final = "SELECT 1 FROM thought_notes n WHERE n.record = r.id AND n.adrift = 1"
_BYTES: Final = 6  # of the fingerprint; whatever is found is asked once more by plain SQL


def code(*parts: str) -> str:
    """A word that stands for these parts."""
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=_BYTES).hexdigest()


def entries(readers: str, words: str) -> str:
    """What the index holds of a row: each word behind each code."""
    return " ".join(f"{one}{word}" for one in readers.split() for word in words.split())


def codes_of_turn(where: ConversationKey, audience: str) -> tuple[str, ...]:
    """The codes under which a turn or a record is indexed that comes from `where`; `audience` is what its row says.

    What the whole workspace may know also has one of its channel, for readers who may know no more than that. What is
    kept for a private room and comes from elsewhere too (see `core.hearing.common`) is for the members of that room.
    """
    if audience == str(_everybody(where)):
        return (_anywhere(where, audience), _in_channel(where)) if where.channel else (_anywhere(where, audience),)
    return (_anywhere(where, audience),) if where.channel else (_for_members(where, audience),)


def codes_for_readers(where: ConversationKey, readers: Readers) -> tuple[tuple[str, ...], ...]:
    """The codes of the rows that the readers of a reply may know, in groups; each group is searched by itself.

    Members may know what was said to the same audience, what the whole workspace may know, and in a DM what was said
    in the private rooms of its user; before readers who aren't all members it is both in the same channel alone. So
    what is frequent in one group hides nothing of another.
    """
    own, everybody = str(readers.audience), str(_everybody(where))
    if readers.apart:
        return ((_anywhere(where, everybody),),) if readers.members_only else ()
    if not readers.members_only:
        return ((_in_channel(where),),) if own == everybody else ((_anywhere(where, own),), (_in_channel(where),))
    if own == everybody:
        return ((_anywhere(where, everybody),),)
    rooms = [str(one) for one in readers.room_audiences]
    groups = (_private(where, [own]), _private(where, rooms), (_anywhere(where, everybody),))
    return tuple(group for group in groups if group)


def heard_by(
    readers: Readers, where: ConversationKey, *, audience: str, channel: str, thought_before: str = ""
) -> tuple[str, dict[str, str]]:
    """A condition in SQL on the columns of an audience and a channel, and its values: the readers may know the row now.

    `thought_before` is what the row says of those before whom a thought made it (JSON as `kept_readers` gives, or
    NULL): that may hold more than its audience was ever shown, so that fewer may know it. Soul and workspace are the
    caller's to compare. The columns are literals of this package.
    """
    if readers.members_only or readers.apart:
        allowed = [str(one) for one in readers.may_know(where.workspace)]
        also, values = "", dict[str, str]()
    else:
        allowed = list(dict.fromkeys((str(readers.audience), str(_everybody(where)))))
        also, values = f" AND {channel} = :heard_in", {"heard_in": where.channel}
    values |= {f"heard{number}": one for number, one in enumerate(allowed)}
    names = ", ".join(f":heard{number}" for number in range(len(allowed)))
    if thought_before:
        also += f" AND {_before_no_fewer(thought_before)}"
        values["heard_members"] = "1" if readers.members_only else ""
        values["heard_rooms"] = json.dumps(sorted(readers.rooms))
    return f"({audience} IN ({names}){also})", values


def record_heard_by(readers: Readers, where: ConversationKey) -> tuple[str, dict[str, str]]:
    """The same for a record `r`, which is none any more if the thought that noted it has lost its words."""
    heard, values = heard_by(readers, where, audience="r.audience", channel="r.channel", thought_before=_THOUGHT_BEFORE)
    return f"({heard} AND NOT EXISTS ({_ADRIFT}))", values


def _before_no_fewer(thought: str) -> str:
    """Whether a thought came before no readers who could know more than those who ask."""
    rooms = f"SELECT 1 FROM json_each({thought}, '$.rooms')"  # noqa: S608 - a column
    return f"""CASE WHEN {thought} IS NULL THEN 1 WHEN NOT json_valid({thought}) THEN 0 ELSE
      (:heard_members <> '' OR NOT coalesce(json_extract({thought}, '$.members_only'), 0))
      AND NOT EXISTS ({rooms} WHERE value NOT IN (SELECT value FROM json_each(:heard_rooms))) END"""  # noqa: S608 - a column


def _private(where: ConversationKey, audiences: Sequence[str]) -> tuple[str, ...]:
    return tuple(make(where, one) for one in audiences for make in (_anywhere, _for_members))


def _everybody(where: ConversationKey) -> Audience:
    return Audience(AudienceKind.WORKSPACE, where.workspace)


def _anywhere(where: ConversationKey, audience: str) -> str:
    return code("anywhere", where.soul, where.workspace, audience)


def _for_members(where: ConversationKey, audience: str) -> str:
    return code("members", where.soul, where.workspace, audience)


def _in_channel(where: ConversationKey) -> str:
    return code("channel", where.soul, where.workspace, where.channel)
