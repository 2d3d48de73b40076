"""The events that an app gets when users act in the workspace."""

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.client import WorkspaceClient
from tests.local_slack.stock import StockApp


async def test_a_dm_reaches_the_app_in_slacks_shape(stock: StockApp, people: WorkspaceClient) -> None:
    said = await people.say("Ada", "dm", "hello & <welcome>")
    (event,) = await stock.received_text("hello")
    assert event["text"] == "hello &amp; &lt;welcome&gt;"
    assert event["channel_type"] == "im"
    assert (event["user"], event["ts"], event["event_ts"], event["team"]) == (
        "U0ADA",
        said["ts"],
        said["ts"],
        "T0LOCAL",
    )
    assert event["client_msg_id"]
    assert "thread_ts" not in event
    body = stock.bodies[0]
    assert body["authorizations"][0]["user_id"] == "U0SOUL"
    assert body["is_ext_shared_channel"] is False
    assert body["event_id"].startswith("Ev")


async def test_a_mention_in_a_channel_is_two_events_in_either_order(stock: StockApp, people: WorkspaceClient) -> None:
    said = await people.say("Ben", "general", "@soul are you there?")
    pair = await stock.received_text("are you there", 2)
    assert [event["type"] for event in pair] == ["message", "app_mention"]
    assert {event["ts"] for event in pair} == {said["ts"]}
    assert pair[0]["text"] == "<@U0SOUL> are you there?"
    assert len({body["event_id"] for body in stock.bodies}) == 2
    assert "channel_type" not in pair[1]
    await people.fault(socket="mention_first", on=True)
    await people.say("Ben", "general", "@Soul first")
    await stock.received_text("first", 2)
    log = [d["event_type"] for d in await people.deliveries() if d["event_type"] != "hello"]
    assert log[2:] == ["app_mention", "message"]


async def test_the_app_hears_its_channels_and_other_bots_but_not_itself(
    stock: StockApp, people: WorkspaceClient, api: AsyncWebClient
) -> None:
    await people.say("Ada", "random", "@soul can you hear this?")
    posted = await api.chat_postMessage(channel="D0ADA", text="mine")
    await people.say("Ada", "dm", "yours")
    await stock.received_text("yours")

    async def all_acked() -> list[Any] | None:
        log = await people.deliveries()
        return log if len(log) == 2 and all(d["acked_at"] for d in log) else None

    await people.wait_for(all_acked)
    assert posted["message"]["bot_id"] == "B0SOUL"
    assert [event["text"] for event in stock.events] == ["yours"]
    await people.add_person("Parrot", standing="bot")
    await people.join("Parrot", "general")
    await people.say("Parrot", "general", "polly @soul")
    pair = await stock.received_text("polly", 2)
    assert all(event["bot_id"] == "B0PARROT" for event in pair)


async def test_edits_and_deletions_are_events_with_the_previous_text(stock: StockApp, people: WorkspaceClient) -> None:
    said = await people.say("Ada", "dm", "frist")
    await people.edit("Ada", "dm", said["ts"], "first")
    (changed,) = await stock.received(lambda e: e.get("subtype") == "message_changed")
    assert (changed["message"]["text"], changed["previous_message"]["text"]) == ("first", "frist")
    assert changed["message"]["edited"]["user"] == "U0ADA"
    assert changed["message"]["ts"] == said["ts"] != changed["ts"]
    await people.delete("Ada", "dm", said["ts"])
    (deleted,) = await stock.received(lambda e: e.get("subtype") == "message_deleted")
    assert (deleted["deleted_ts"], deleted["previous_message"]["text"]) == (said["ts"], "first")
    assert await people.messages("D0ADA") == []
    root = await people.say("Ada", "general", "root")
    await people.say("Ben", "general", "reply", thread=root["ts"])
    await people.delete("Ada", "general", root["ts"])
    await stock.received(lambda e: e.get("subtype") == "message_deleted", 2)
    tombstone, reply = await people.messages("general", thread=root["ts"])
    assert (tombstone["subtype"], reply["text"]) == ("tombstone", "reply")


async def test_files_broadcasts_and_joins_have_their_subtypes(stock: StockApp, people: WorkspaceClient) -> None:
    root = await people.say("Ada", "general", "root")
    await people.say("Ada", "general", "look", files=[{"name": "a.txt", "text": "letters"}])
    await people.say("Ben", "general", "for all", thread=root["ts"], broadcast=True)
    await people.add_person("Dora", standing="guest")
    await people.join("Dora", "general")
    (shared,) = await stock.received(lambda e: e.get("subtype") == "file_share")
    assert shared["files"][0]["size"] == 7
    (broadcast,) = await stock.received(lambda e: e.get("subtype") == "thread_broadcast")
    assert (broadcast["thread_ts"], broadcast["root"]["text"]) == (root["ts"], "root")
    await stock.received(lambda e: e.get("subtype") == "channel_join")
    await stock.received(lambda e: e["type"] == "member_joined_channel")


async def test_reactions_come_and_go(stock: StockApp, people: WorkspaceClient, api: AsyncWebClient) -> None:
    said = await people.say("Ada", "dm", "nice")
    await people.react("Ada", "dm", said["ts"], ":eyes:")
    await people.react("Ada", "dm", said["ts"], "eyes", remove=True)
    (added,) = await stock.received(lambda e: e["type"] == "reaction_added")
    assert (added["reaction"], added["item"]["ts"], added["item_user"]) == ("eyes", said["ts"], "U0ADA")
    await stock.received(lambda e: e["type"] == "reaction_removed")
    await api.reactions_add(channel="D0ADA", timestamp=said["ts"], name="wave")
    (message,) = await people.messages("D0ADA")
    assert message["reactions"] == [{"name": "wave", "users": ["U0SOUL"], "count": 1}]


async def test_events_of_shared_channels_and_group_dms_are_marked(stock: StockApp, people: WorkspaceClient) -> None:
    await people.add_person("Sven", standing="stranger")
    await people.add_channel("partners", members=["Ada", "Sven"], shared=True)
    await people.add_channel("", kind="mpim", members=["Ada", "Ben"])
    await people.say("Sven", "partners", "from outside")
    (event,) = await stock.received_text("from outside")
    assert event["team"] == "T0ELSEWHERE"
    assert stock.bodies[0]["is_ext_shared_channel"] is True
    room = next(c for c in (await people.state("Ben"))["channels"] if c["kind"] == "mpim")
    await people.say("Ben", room["id"], "the three of us")
    (event,) = await stock.received_text("the three of us")
    assert event["channel_type"] == "mpim"
