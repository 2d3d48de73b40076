"""Codes of audiences, channels and folders in a full-text index, and the SQL that checks what was found again.

A code is the fingerprint of its parts, because an id can hold characters that an index word can't. Both follow
`core.hearing.may_hear`.
"""

import json
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers

READERS: Final = "thought_before"
"""The key in a record's `extra` for the readers before whom a thought noted it."""

_THOUGHT_BEFORE: Final = f"CASE WHEN json_valid(r.extra) THEN json_extract(r.extra, '$.{READERS}') ELSE '' END"
"""The value of `READERS` in SQL for the record `r`: NULL if it holds only what was said, '' if unreadable."""

_ADRIFT: Final = "SELECT 1 FROM thought_notes n WHERE n.record = r.id AND n.adrift = 1"
_BYTES: Final = 6  # of the fingerprint; plain SQL checks each result again


def code(*parts: str) -> str:
    """Return the fingerprint of these parts."""
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return blake2b(joined, digest_size=_BYTES).hexdigest()


def entries(readers: str, words: str) -> str:
    """Return a row's words for the index: each word prefixed by each code."""
    return " ".join(f"{one}{word}" for one in readers.split() for word in words.split())


def codes_of_turn(where: ConversationKey, audience: str) -> tuple[str, ...]:
    """Return the index codes of a turn or record from `where`.

    `audience` is that of its row. Content for the whole workspace also gets the code of its channel, for readers
    limited to that channel. Content for a private room that comes from elsewhere too (see `core.hearing.common`) is for
    the room's members.
    """
    if audience == str(_everybody(where)):
        return (_anywhere(where, audience), _in_channel(where)) if where.channel else (_anywhere(where, audience),)
    return (_anywhere(where, audience),) if where.channel else (_for_members(where, audience),)


def codes_for_readers(where: ConversationKey, readers: Readers) -> tuple[tuple[str, ...], ...]:
    """Return the codes of rows that a reply's readers may know, in groups that are searched one by one.

    Members may know their audience's content, the workspace's, and in a DM that of the user's private rooms. Readers
    who aren't all members may know that of the same channel only. Separate groups keep the frequent content of one from
    hiding another's.
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
    """Return an SQL condition and its values: the readers may know a row now.

    `thought_before` is the row's readers as JSON of `kept_readers`, or NULL. A thought may hold more than its audience
    saw, and fewer readers may know it. The caller compares soul and workspace. The columns must be literals.
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
    """Return the condition of `heard_by` for a record `r` whose thought still has its words."""
    heard, values = heard_by(readers, where, audience="r.audience", channel="r.channel", thought_before=_THOUGHT_BEFORE)
    return f"({heard} AND NOT EXISTS ({_ADRIFT}))", values


def _before_no_fewer(thought: str) -> str:
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
