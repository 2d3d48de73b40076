"""Who may hear or be quoted what is made of several things: those alone who may hear each of them."""

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, multiple, rule

from daemon.channels.slack.rooms import TRUSTED, KnownPlaces
from daemon.core.perception import (
    Audience,
    AudienceKind,
    ConversationKey,
    Origin,
    Place,
    Readers,
    common,
    may_hear,
    may_quote,
)
from daemon.core.ports.library import Passage
from daemon.core.value import Value
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism.problem import Problem
from daemon.memory.records import Speaks, Turn
from daemon.mind.recall import MONOLOGUE, last_thoughts, thought_for
from tests.fakes import FakeClock

TEAM = Audience(AudienceKind.WORKSPACE, "T1")
OTHERS = Audience(AudienceKind.WORKSPACE, "T2")
ADMIN = Audience(AudienceKind.OPERATOR, "T1")
PUBLIC, PRIVATE, DMS = ("C1", "C2"), ("G1", "G2"), ("D1", "D2")


def room(channel: str) -> Audience:
    return Audience(AudienceKind.CHANNEL, channel)


def dm(channel: str) -> Audience:
    return Audience(AudienceKind.DM, channel)


SAID = (
    *(Origin(TEAM, channel) for channel in PUBLIC),
    *(Origin(room(channel), channel) for channel in PRIVATE),
    *(Origin(dm(channel), channel) for channel in DMS),
    Origin(TEAM, "G1"),  # said there while it was public
    Origin(ADMIN, "C1"),
)
"""What can be said, each where it is."""

HEARERS = tuple(
    (Readers(audience, members_only=only, rooms=frozenset(rooms) if only else frozenset()), channel)
    for channel, audience in (
        *((one, TEAM) for one in PUBLIC),
        *((one, room(one)) for one in PRIVATE),
        *((one, dm(one)) for one in DMS),
    )
    for only in (True, False)
    for rooms in ((), ("G1",), ("G1", "G2"))
    if audience.kind is AudienceKind.DM or not rooms
)
"""Everybody who can read a reply, each where they are."""

ORIGINS = st.sampled_from(SAID)


def hearers(origin: Origin | None) -> set[int]:
    if origin is None:
        return set()
    return {
        number
        for number, (readers, channel) in enumerate(HEARERS)
        if may_hear(readers, ConversationKey("minoan", "T1", channel), origin)
    }


@given(st.lists(ORIGINS, min_size=1, max_size=5))
def test_what_is_made_of_several_is_heard_by_those_alone_who_may_hear_each(sources: list[Origin]) -> None:
    allowed = set[int].intersection(*map(hearers, sources))
    made = common(sources)
    assert hearers(made) <= allowed
    assert made is None or hearers(made) == allowed
    private = {one.audience for one in sources if one.audience.kind in (AudienceKind.DM, AudienceKind.CHANNEL)}
    if len(private) > 1:
        assert made is None, "nothing is made of two private rooms"
    elif {one.audience for one in sources} <= {TEAM, *private}:
        assert made is not None


def test_nothing_is_made_of_nothing_and_private_rooms_are_recalled_for_one_full_member_alone() -> None:
    assert common(()) is None
    assert common((Origin(TEAM, "C1"), Origin(OTHERS, "C1"))) is None
    for one, other in product(SAID, SAID):
        if common((one, other)) == one:
            assert hearers(one) <= hearers(other), (one, other)
    known = Readers(dm("D1"), members_only=True, rooms=frozenset({"G2", "G1"})).may_know("T1")
    assert known == (dm("D1"), room("G1"), room("G2"), TEAM)
    for audience, only in ((dm("D1"), False), *product((TEAM, room("G1")), (True, False))):
        with pytest.raises(ValueError, match="alone"):
            Readers(audience, only, frozenset({"G1"}))


Known = tuple[Origin, frozenset[Origin]]
"""What there is, and the words it was made of."""


class Makings(RuleBasedStateMachine):
    """Things are said, and others made of what there is, again and again: facts, summaries, cores of summaries."""

    known: Bundle[Known] = Bundle("known")

    @rule(target=known, said=ORIGINS)
    def something_is_said(self, said: Origin) -> Known:
        return said, frozenset({said})

    @rule(target=known, sources=st.lists(known, min_size=1, max_size=4))
    def something_is_made_of_it(self, sources: list[Known]) -> Known | MultipleResults[Known]:
        origin, words = common(one for one, _ in sources), frozenset[Origin]().union(*(said for _, said in sources))
        assert hearers(origin) <= set[int].intersection(*map(hearers, words))
        assert origin == common(words), "a chain of makings gives what one making of all its words would"
        return (origin, words) if origin else multiple()


TestMakings = Makings.TestCase


PEOPLE = ("U1", "U2", "U3", "G1", "X1")
OUTSIDERS = frozenset({"G1", "X1"})


class RoomInWorld(Value):
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
            return TEAM
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
    where = ConversationKey("minoan", "T1", answer.id, "")
    if may_quote(Origin(source.audience, source.id), where, readers_of(answer, frozenset()), asker_is_in=is_in):
        assert asker in source.readers
        assert answer.readers <= source.readers


@given(answer=rooms("A"), source=rooms("B"))
def test_of_two_rooms_that_others_read_nothing_private_is_quoted_though_the_same_people_are_in_both(
    answer: RoomInWorld, source: RoomInWorld
) -> None:
    assume(answer.kind != "dm" and source.kind != "public")
    where = ConversationKey("minoan", "T1", answer.id, "")
    origin = Origin(source.audience, source.id)
    assert not may_quote(origin, where, readers_of(answer, frozenset()), asker_is_in=True)


@given(source=rooms("B"))
def test_a_session_is_quoted_nothing_of_private_rooms(source: RoomInWorld) -> None:
    own = Readers(Audience(AudienceKind.DM, "D1"), members_only=True, apart=True)
    where = ConversationKey("minoan", "T1", "D1", "")
    quoted = may_quote(Origin(source.audience, source.id), where, own, asker_is_in=True)
    assert quoted is (source.kind == "public")


ROOM, DM = Audience(AudienceKind.CHANNEL, "C1"), Audience(AudienceKind.DM, "D1")
READERS = st.builds(Readers, st.sampled_from([TEAM, ROOM, DM]), st.booleans())


def test_members_may_know_what_the_workspace_knows_and_others_only_their_own_room() -> None:
    assert Readers(ROOM, members_only=True).may_know("T1") == (ROOM, TEAM)
    assert Readers(TEAM, members_only=True).may_know("T1") == (TEAM,)
    assert Readers(ROOM, members_only=False).may_know("T1") == (ROOM,)
    assert Readers(TEAM, members_only=False).may_know("T1") == ()


@given(before=READERS, now=READERS)
def test_what_was_gathered_may_be_said_only_where_all_of_it_may_be_known(before: Readers, now: Readers) -> None:
    if not now.exclude_what(before):
        assert before.audience.within(now.audience)
        assert now.members_only or not before.members_only
    assert not before.exclude_what(before)


async def test_a_channel_remembered_as_public_counts_as_private_after_ten_minutes_and_only_so_many_are_remembered() -> (
    None
):
    clock = FakeClock()
    places = KnownPlaces(clock)
    places["C1"], places["D1"] = Place.PUBLIC_CHANNEL, Place.DM
    await clock.advance(TRUSTED - 1)
    assert dict(places) == {"C1": Place.PUBLIC_CHANNEL, "D1": Place.DM}
    await clock.advance(1)
    assert dict(places) == {"C1": Place.PRIVATE_CHANNEL, "D1": Place.DM}
    places["C1"] = Place.PUBLIC_CHANNEL
    assert places["C1"] is Place.PUBLIC_CHANNEL
    del places["C1"]
    assert places.get("C1") is None
    places = KnownPlaces(FakeClock())
    for number in range(5_010):
        places[f"C{number}"] = Place.PUBLIC_CHANNEL
    assert len(places) == 5_000
    assert "C0" not in places


DM = Audience(AudienceKind.DM, "D1")


def _readers(*rooms: str) -> Readers:
    return Readers(DM, members_only=True, rooms=frozenset(rooms))


def test_what_came_from_a_room_is_thought_again_only_while_its_reader_is_in_it() -> None:
    thought = {MONOLOGUE: "the plan is bold", **thought_for(_readers("G1", "G2"))}
    turn = Turn(Speaks.SOUL, "minoan", "Minoan", "1.0", "Well.", thought)
    assert last_thoughts([turn], _readers("G1", "G2", "G3")) == ("the plan is bold",)
    for now in ((), ("G1",)):
        assert last_thoughts([turn], _readers(*now)) == ()

    def parked() -> Problem:
        problem = Problem(WorkingMemory("minoan", (Memory(Role.SYSTEM, "found much"),)))
        problem.keep_for(_readers("G1", "G2"))
        problem.add([Passage("private channel", "one", room="G1"), Passage("private channel", "two", room="G2")])
        problem.add([Passage("docs/a.md:1", "three")])
        return Problem.resumed(problem.to_json(), "minoan")

    problem = parked()
    problem.keep_for(_readers("G1", "G2"))
    assert len(problem.found) == 3
    assert problem.internal.memories
    problem.keep_for(_readers("G1"))
    assert [one.text for one in problem.found] == ["one", "three"]
    assert not problem.internal.memories
