"""Before whom something was thought, as it is kept with the thought, and before whom it may be thought again."""

from collections.abc import Mapping

from daemon.core.perception import Audience, AudienceKind, Readers


def kept_readers(readers: Readers) -> Mapping[str, object]:
    """The readers as JSON values, as `read_readers` reads them back."""
    kept = {"audience": str(readers.audience), "members_only": readers.members_only}
    rooms = {"rooms": sorted(readers.rooms)} if readers.rooms else {}
    return {**kept, **rooms, **({"apart": True} if readers.apart else {})}


def read_readers(stored: object) -> Readers | None:
    """What `kept_readers` gave; None for anything else."""
    if not isinstance(stored, Mapping):
        return None
    rooms = stored.get("rooms")
    try:
        return Readers(
            Audience.parse(str(stored.get("audience"))),
            members_only=stored.get("members_only") is True,
            rooms=frozenset(map(str, rooms)) if isinstance(rooms, list) else frozenset(),
            apart=stored.get("apart") is True,
        )
    except ValueError:
        return None


def may_think_again(readers: Readers, then: Readers | None) -> bool:
    """Whether a thought of the same conversation may be thought again: it came before no narrower readers than these.

    A thought may hold what its readers then were allowed to know: notes of the workspace, earlier talk, also that of
    private rooms which its reader may have left since.
    """
    return then is not None and then.audience == readers.audience and not readers.exclude_what(then)


def may_think_here(readers: Readers, then: Readers | None) -> bool:
    """Whether a thought of another conversation may be: its audience is the same, or the whole workspace.

    Before readers who aren't all members none is. A session hears none of what else was thought before its audience.
    """
    if then is None or not readers.members_only or not then.rooms <= readers.rooms:
        return False
    return then.audience.kind is AudienceKind.WORKSPACE or (then.audience == readers.audience and not readers.apart)
