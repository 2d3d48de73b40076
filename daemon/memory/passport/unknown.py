"""What a file holds that no form knows: a record keeps it for its file, and anything else is brought without it."""

from collections.abc import Iterator, Mapping
from typing import Final

from daemon.memory.passport.forms import REFERENCES
from daemon.memory.passport.names import PassportKind

_MOVING: Final[Mapping[str, tuple[str, ...]]] = {
    PassportKind.INTENTION: ("state", "reason", "fired", "due_ms", "settled_ms", "faults", "cue"),
    PassportKind.USER_MODEL: ("modelled_to",),
    PassportKind.SESSION: ("summarized_to",),
}

JSONValue = object
"""A value as JSON has it."""

_OWN_WORDS: Final = ("created_at", "learned_at", "last_accessed", "source", "conversation", "episode_id")
"""Fields whose value is kept as it was written where ours would be another one: a moment, a room, a missing episode."""


def unknown_in(original: Mapping[str, object], known: Mapping[str, object]) -> dict[str, JSONValue]:
    """What stands in a file beside what is known of it: further fields, at any depth, and ids that lead nowhere."""
    rest: dict[str, JSONValue] = {}
    for name, value in original.items():
        if name not in known:
            rest[name] = value
        elif name in REFERENCES and isinstance(value, list):
            ours = known[name]
            assert isinstance(ours, list | tuple)
            if missing := [one for one in value if one not in ours]:
                rest[name] = missing
        elif isinstance(value, Mapping) and isinstance(ours := known[name], Mapping):
            if deeper := unknown_in(value, ours):
                rest[name] = deeper
        elif name in _OWN_WORDS and value != known[name]:
            rest[name] = value
    return rest


def names_in(unknown: Mapping[str, object], within: str = "") -> Iterator[str]:
    """The names of unknown fields, with those of the fields that hold them: `soul_daemon.mood`."""
    for name, value in unknown.items():
        if isinstance(value, Mapping) and value:
            yield from names_in(value, f"{within}{name}.")
        else:
            yield f"{within}{name}"


def shared_with(original: Mapping[str, object], known: Mapping[str, object]) -> dict[str, JSONValue]:
    """Those fields of a form that its file has, too, at any depth."""
    kept: dict[str, JSONValue] = {}
    for name, value in original.items():
        if name in known:
            ours = known[name]
            if isinstance(value, Mapping) and isinstance(ours, Mapping):
                ours = shared_with(value, ours)
            kept[name] = ours
    return kept


def merged(known: Mapping[str, object], unknown: Mapping[str, object]) -> dict[str, JSONValue]:
    """The fields of a form with those that were unknown in its file."""
    whole = dict(known)
    for name, value in unknown.items():
        ours = known.get(name)
        if isinstance(ours, Mapping) and isinstance(value, Mapping):
            whole[name] = merged(ours, value)
        elif name in REFERENCES and isinstance(ours, list | tuple) and isinstance(value, list):
            whole[name] = [*ours, *(one for one in value if one not in ours)]
        elif name not in known or name in _OWN_WORDS:
            whole[name] = value
    return whole


def without_links(content: Mapping[str, object]) -> dict[str, JSONValue]:
    """A file without the fields that its links give: ids of others, and those of ours."""
    kept = {name: value for name, value in content.items() if name not in (*REFERENCES, "episode_id")}
    ours = content.get("soul_daemon")
    if isinstance(ours, Mapping):
        kept["soul_daemon"] = {name: value for name, value in ours.items() if name != "links"}
    return kept


def without_moving(content: Mapping[str, object]) -> dict[str, JSONValue]:
    """A file of what is no memory, without the fields that go on by themselves wherever it is."""
    ours = content.get("soul_daemon")
    if not isinstance(ours, Mapping):
        return dict(content)
    moving = _MOVING.get(str(content.get("type")), ())
    return {**content, "soul_daemon": {name: value for name, value in ours.items() if name not in moving}}


def covers(whole: object, part: object) -> bool:
    """Whether all that `part` says stands in `whole`: fields at any depth, lists as they are, ids in any order."""
    if isinstance(part, Mapping):
        return isinstance(whole, Mapping) and all(
            name in whole
            and (
                set(map(str, value)) <= set(map(str, whole[name]))
                if name in REFERENCES and isinstance(value, list) and isinstance(whole[name], list | tuple)
                else covers(whole[name], value)
            )
            for name, value in part.items()
        )
    if isinstance(part, list) and isinstance(whole, list | tuple):
        return len(part) == len(whole) and all(map(covers, whole, part))
    return (type(part) is type(whole) and part == whole) or (
        isinstance(part, int | float)
        and isinstance(whole, int | float)
        and not isinstance(part, bool)
        and not isinstance(whole, bool)
        and part == whole
    )
