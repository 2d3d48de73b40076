"""Sockets and envelopes: tickets, acknowledgements, redelivery, and every way a connection can go wrong."""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.server import WorkspaceServer
from tests.local_slack.stock import HANG, Json, StockApp
from tests.workspace_client import WorkspaceClient

Dial = Callable[[], Coroutine[Any, Any, aiohttp.ClientWebSocketResponse]]


@pytest.fixture
async def dial(server: WorkspaceServer, api: AsyncWebClient) -> AsyncIterator[Dial]:
    """Opens a bare socket, which acknowledges nothing by itself."""
    async with aiohttp.ClientSession() as http:

        async def open_socket() -> aiohttp.ClientWebSocketResponse:
            opened = await api.apps_connections_open(app_token=server.app_token)
            return await http.ws_connect(str(opened["url"]), autoping=False)

        yield open_socket


async def frame(socket: aiohttp.ClientWebSocketResponse) -> Json:
    """The next text frame; pings are skipped."""
    while (message := await socket.receive(timeout=HANG)).type is aiohttp.WSMsgType.PING:
        continue
    return dict(json.loads(message.data))


async def test_hello_comes_first_and_envelopes_go_to_one_socket_in_turn(dial: Dial, people: WorkspaceClient) -> None:
    sockets = [await dial() for _ in range(2)]
    hello, other = [await frame(socket) for socket in sockets]
    assert (hello["type"], hello["num_connections"], hello["connection_info"]["app_id"]) == ("hello", 1, "A0SOUL")
    assert hello["debug_info"]["approximate_connection_time"] > 3600
    assert other["num_connections"] == 2
    for i in range(4):
        await people.say("Ada", "dm", f"m{i}")
    texts = [[(await frame(s))["payload"]["event"]["text"] for _ in range(2)] for s in sockets]
    assert sorted(itertools.chain.from_iterable(texts)) == ["m0", "m1", "m2", "m3"]


async def test_a_ticket_is_valid_for_one_handshake_and_one_minute_and_only_for_the_app_token(
    server: WorkspaceServer, api: AsyncWebClient, people: WorkspaceClient
) -> None:
    with pytest.raises(SlackApiError, match="not_allowed_token_type"):
        await api.apps_connections_open(app_token=server.bot_token)
    async with aiohttp.ClientSession() as http:
        used = str((await api.apps_connections_open(app_token=server.app_token))["url"])
        late = str((await api.apps_connections_open(app_token=server.app_token))["url"])
        async with http.ws_connect(used):
            with pytest.raises(aiohttp.WSServerHandshakeError, match="404"):
                await http.ws_connect(used)
        await people.advance(61)
        with pytest.raises(aiohttp.WSServerHandshakeError, match="404"):
            await http.ws_connect(late)


async def test_an_event_is_sent_again_until_it_is_acknowledged(dial: Dial, people: WorkspaceClient) -> None:
    socket = await dial()
    await frame(socket)
    await people.say("Ada", "dm", "are you there?")
    attempts = [await frame(socket)]
    for wait in (3.1, 63, 303):
        await people.advance(wait)
        attempts.append(await frame(socket))
    assert [a["retry_attempt"] for a in attempts] == [0, 1, 2, 3]
    assert [a["retry_reason"] for a in attempts] == ["", "timeout", "timeout", "timeout"]
    assert len({a["payload"]["event_id"] for a in attempts}) == 1
    assert len({a["envelope_id"] for a in attempts}) == 4
    await people.say("Ada", "dm", "once")
    envelope = await frame(socket)
    await socket.send_str("not json")
    await socket.send_json({"envelope_id": envelope["envelope_id"]})
    await people.wait_for_ack(envelope["payload"]["event_id"])
    await people.advance(1000)
    assert len(await people.deliveries()) == 5


async def test_an_event_without_any_socket_arrives_as_a_retry(server: WorkspaceServer, people: WorkspaceClient) -> None:
    await people.say("Ada", "dm", "while you were out")
    stock = await StockApp(server).connect()
    assert stock.events == []
    await people.advance(61)
    await stock.received_text("while you were out")
    assert stock.headers[0]["x-slack-retry-num"] == ["2"]
    assert stock.headers[0]["x-slack-retry-reason"] == ["connection_failed"]
    await stock.close()


async def test_a_lost_acknowledgement_or_a_fault_doubles_an_event(stock: StockApp, people: WorkspaceClient) -> None:
    await people.fault(socket="ignore_acks", times=1)
    await people.say("Ada", "dm", "twice")
    await stock.received_text("twice")

    async def delivered_twice() -> bool:
        await people.advance(1)
        return len(stock.events) == 2

    await people.wait_for(delivered_twice)
    await people.fault(socket="duplicate", times=1)
    await people.say("Ada", "dm", "double")
    await stock.received_text("double", 2)
    await people.repeat(stock.bodies[-1]["event_id"])
    await stock.received_text("double", 3)
    assert [len({body["event_id"] for body in bodies}) for bodies in (stock.bodies[:2], stock.bodies[2:])] == [1, 1]
