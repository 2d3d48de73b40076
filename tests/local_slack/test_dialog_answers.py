"""What an app's acknowledgement does with a dialog: another view, errors, an end; anything else leaves it open."""

import asyncio

from slack_bolt.context.ack.async_ack import AsyncAck

from daemon.local_slack.server import WorkspaceServer
from tests.local_slack.stock import HANG, Json, StockApp
from tests.workspace_client import WorkspaceClient

TITLE = {"type": "plain_text", "text": "One"}
INPUT = {"type": "plain_text_input", "action_id": "words"}
DIALOG: Json = {
    "type": "modal",
    "title": TITLE,
    "submit": TITLE,
    "blocks": [{"type": "input", "block_id": "words", "label": TITLE, "element": INPUT}],
}
LATER: Json = {"type": "modal", "title": TITLE, "blocks": []}


async def answered(server: WorkspaceServer, stock: StockApp, people: WorkspaceClient, answer: Json) -> Json:
    """Open a dialog, send it, and have it answered so; gives what Ada's page hears."""
    name = str(len(stock.app._async_listeners))

    async def sent(ack: AsyncAck) -> None:
        await ack(**answer)

    stock.app.view(name)(sent)
    trigger = server.workspace.interactions.new_trigger("U0ADA")
    opened = await stock.client.views_open(trigger_id=trigger, view=DIALOG | {"callback_id": name})
    feed = people.events("Ada")
    assert (await anext(feed))[0] == "ready"
    assert await people.submit("Ada", str(opened["view"]["id"]), words="hello")
    async with asyncio.timeout(HANG):
        async for kind, news in feed:
            if kind == "modal_answered":
                await feed.aclose()
                return news
    raise AssertionError("the page heard nothing")


async def test_an_answer_that_slack_can_not_use_leaves_the_dialog_open(
    server: WorkspaceServer, stock: StockApp, people: WorkspaceClient
) -> None:
    for answer in (
        {"response_action": "update", "view": {"type": "modal"}},
        {"response_action": "update", "view": {**LATER, "title": None}},
        {"response_action": "update", "view": {**LATER, "blocks": ["x"]}},
        {"response_action": "update", "view": {**LATER, "type": "home"}},
        {"response_action": "errors", "errors": {"nowhere": "No."}},
        {"response_action": "odd"},
    ):
        assert "trouble" in (await answered(server, stock, people, answer)).get("trouble", ""), answer
        [left] = await people.modals("Ada")
        await people.post("close", person="Ada", view=left["id"])


async def test_an_empty_answer_and_a_clear_end_it_and_another_view_takes_its_place(
    server: WorkspaceServer, stock: StockApp, people: WorkspaceClient
) -> None:
    for answer in ({}, {"response_action": "clear"}):
        news = await answered(server, stock, people, answer)
        assert news.keys() == {"view_id"}, answer
        assert await people.modals("Ada") == [], answer
    news = await answered(server, stock, people, {"response_action": "update", "view": LATER})
    assert news["view"]["blocks"] == []
    assert [one["id"] for one in await people.modals("Ada")] == [news["view_id"]]
