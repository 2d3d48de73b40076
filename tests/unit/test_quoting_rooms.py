"""What a link leads to is quoted only where everybody who reads the answer may read it; in a world drawn at random."""

from dataclasses import dataclass

from hypothesis import assume, given
from hypothesis import strategies as st

from daemon.core.hearing import Origin, may_quote
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers

TEAM = "T1"
PEOPLE = ("U1", "U2", "U3", "G1", "X1")
OUTSIDERS = frozenset({"G1", "X1"})


@dataclass(frozen=True, slots=True)
class RoomInWorld:
    """A room and who is in it; `kind` is public, shared, private, group or dm."""

    id: str
    kind: str
    members: frozenset[str]

    @property
    def readers(self) -> frozenset[str]:
        """Everybody who may read here: in a public channel each full member of the workspace, too."""
        everybody = frozenset(PEOPLE) - OUTSIDERS if self.kind == "public" else frozenset()
        return self.members | everybody

    @property
    def audience(self) -> Audience:
        """Who may ever learn what is said here, as the event reader says it."""
        if self.kind == "public":
            return Audience(AudienceKind.WORKSPACE, TEAM)
        return Audience(AudienceKind.DM if self.kind == "dm" else AudienceKind.CHANNEL, self.id)


@st.composite
def rooms(draw: st.DrawFn, name: str) -> RoomInWorld:
    kind = draw(st.sampled_from(("public", "shared", "private", "group", "dm")))
    size = 1 if kind == "dm" else 5
    members = draw(st.frozensets(st.sampled_from(PEOPLE), min_size=1, max_size=size))
    return RoomInWorld(f"{name}{kind}", kind, members)


def readers_of(room: RoomInWorld, rooms_of_asker: frozenset[str]) -> Readers:
    only = room.kind != "shared" and not room.members & OUTSIDERS
    recalled = rooms_of_asker if only and room.kind == "dm" else frozenset[str]()
    return Readers(room.audience, members_only=only, rooms=recalled)


@given(answer=rooms("A"), source=rooms("B"), same=st.booleans(), data=st.data())
def test_who_reads_the_answer_may_read_what_is_quoted(
    answer: RoomInWorld, source: RoomInWorld, same: bool, data: st.DataObject
) -> None:
    source = answer if same else source
    asker = data.draw(st.sampled_from(sorted(answer.members)))
    is_in = source.kind == "private" and asker in source.members
    where = ConversationKey("minoan", TEAM, answer.id, "")
    if may_quote(Origin(source.audience, source.id), where, readers_of(answer, frozenset()), asker_is_in=is_in):
        assert asker in source.readers
        assert answer.readers <= source.readers


@given(answer=rooms("A"), source=rooms("B"))
def test_of_two_rooms_that_others_read_nothing_private_is_quoted_though_the_same_people_are_in_both(
    answer: RoomInWorld, source: RoomInWorld
) -> None:
    assume(answer.kind != "dm" and source.kind != "public")
    where = ConversationKey("minoan", TEAM, answer.id, "")
    origin = Origin(source.audience, source.id)
    assert not may_quote(origin, where, readers_of(answer, frozenset()), asker_is_in=True)


@given(source=rooms("B"))
def test_a_session_is_quoted_nothing_of_private_rooms(source: RoomInWorld) -> None:
    own = Readers(Audience(AudienceKind.DM, "D1"), members_only=True, apart=True)
    where = ConversationKey("minoan", TEAM, "D1", "")
    quoted = may_quote(Origin(source.audience, source.id), where, own, asker_is_in=True)
    assert quoted is (source.kind == "public")
