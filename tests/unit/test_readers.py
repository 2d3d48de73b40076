"""The one value that says who reads, and what is remembered of the kinds of channels."""

from hypothesis import given
from hypothesis import strategies as st

from daemon.channels.slack.access.known_places import TRUSTED, KnownPlaces
from daemon.core.perception import Audience, AudienceKind, Place, Readers
from tests.fakes import FakeClock

TEAM = Audience(AudienceKind.WORKSPACE, "T1")
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
