"""The events that an app gets when users act in the workspace."""

from tests.local_slack.stock import StockApp
from tests.workspace_client import WorkspaceClient


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
