"""Where the soul may write first: the rooms it finds, and the contacts that the gate refuses."""

import pytest

from daemon.channels.slack.channel import SlackChannel
from daemon.core.errors import ChannelRefused, NotDelivered
from daemon.core.perception import AudienceKind, Place
from tests.slack.conftest import Open
from tests.slack.parts import Control


async def test_a_contact_is_a_dm_or_a_channel_with_its_audience(channel: SlackChannel) -> None:
    await channel.identify()
    for contact, channel_id, place, audience in (
        ("U0ADA", "D0ADA", Place.DM, AudienceKind.DM),
        ("C0GENERAL", "C0GENERAL", Place.PUBLIC_CHANNEL, AudienceKind.WORKSPACE),
        ("C0FOUNDERS", "C0FOUNDERS", Place.PRIVATE_CHANNEL, AudienceKind.CHANNEL),
    ):
        room = await channel.find_room(contact)
        assert (room.channel, room.place, room.audience.kind) == (channel_id, place, audience)


async def test_a_contact_that_the_gate_refuses_is_not_written_to(channel: SlackChannel) -> None:
    await channel.identify()
    for contact, code in (
        *(("U0GUS", "guest"), ("U0UNKNOWN", "unknown"), ("U0SOUL", "self"), ("C0NOWHERE", "channel_not_found")),
        *(("C0RANDOM", "not_in_channel"), ("general", "invalid_id"), ("", "invalid_id")),
    ):
        with pytest.raises(ChannelRefused) as refused:
            await channel.find_room(contact)
        assert refused.value.code == code, contact


async def test_a_shared_channel_is_written_to_only_if_settings_allow_it(open_channel: Open, control: Control) -> None:
    made = (await control.do("channel", name="bridge", members=["U0ADA"], shared=True, app=True))["channel"]["id"]
    opened, closed = open_channel(allow_shared_channels=True), open_channel()
    await opened.identify()
    await closed.identify()
    assert (await opened.find_room(made)).channel == made
    with pytest.raises(ChannelRefused, match="may not write to"):
        await closed.find_room(made)


async def test_opening_a_dm_can_be_retried(open_channel: Open, control: Control) -> None:
    for fault in ({"mode": "reset_before"}, {"body": {"ok": True}}):
        channel = open_channel()
        with pytest.raises(NotDelivered):
            await channel.find_room("U0ADA")
        await channel.identify()
        await control.fail("conversations.open", **fault)
        with pytest.raises(NotDelivered):
            await channel.find_room("U0ADA")
        assert (await channel.find_room("U0ADA")).channel == "D0ADA", fault
