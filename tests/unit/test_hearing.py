"""Who may hear what is made of several things: exactly those who may hear each of them."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, MultipleResults, RuleBasedStateMachine, multiple, rule

from daemon.core.hearing import Origin, common, may_hear
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Readers

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
    """Who of them may hear it, by their places; of nothing none."""
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


@given(st.lists(ORIGINS, min_size=1, max_size=5), st.randoms())
def test_neither_order_nor_number_of_sources_counts(sources: list[Origin], chance: object) -> None:
    shuffled = [*sources, *sources]
    chance.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a Random
    assert common(shuffled) == common(sources)


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
