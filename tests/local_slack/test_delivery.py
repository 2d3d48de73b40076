"""Sockets and envelopes: tickets, acknowledgements, redelivery, and every way a connection can go wrong."""

import itertools
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from daemon.local_slack.client import WorkspaceClient
from daemon.local_slack.server import WorkspaceServer
from tests.local_slack.stock import HANG, Json, StockApp

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


async def test_the_stock_client_reconnects(stock: StockApp, people: WorkspaceClient) -> None:
    async def sockets() -> set[int]:
        return set((await people.get("sockets"))["sockets"])

    for order in ({"socket": "close"}, {"socket": "disconnect", "reason": "refresh_requested"}):
        before = await sockets()

        async def reconnected(before: set[int] = before) -> bool:
            return bool(await sockets() - before)

        await people.fault(**order)
        await people.wait_for(reconnected)
        await people.say("Ada", "dm", f"welcome back {order}")
        await stock.received_text(f"welcome back {order}")


async def test_a_reset_connection_ends_without_a_close_frame(dial: Dial, people: WorkspaceClient) -> None:
    socket = await dial()
    await frame(socket)
    await people.fault(socket="reset")
    assert (await socket.receive(timeout=HANG)).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
    await people.wait_for_sockets(0)


async def test_pongs_echo_their_payload_unless_the_server_is_silent(dial: Dial, people: WorkspaceClient) -> None:
    socket = await dial()
    await frame(socket)
    await socket.ping(b"sdk-ping-pong:1.5")
    pong = await socket.receive(timeout=HANG)
    assert (pong.type, pong.data) == (aiohttp.WSMsgType.PONG, b"sdk-ping-pong:1.5")
    await people.fault(socket="silence", on=True)
    await socket.ping(b"unanswered")
    await people.say("Ada", "dm", "swallowed")
    with pytest.raises(TimeoutError):
        await socket.receive(timeout=0.1)
    await people.clear_faults()
    await people.advance(31)
    assert {(await socket.receive(timeout=HANG)).type for _ in range(2)} == {
        aiohttp.WSMsgType.PING,
        aiohttp.WSMsgType.TEXT,
    }


async def test_a_disconnect_frame_precedes_the_close(dial: Dial, people: WorkspaceClient) -> None:
    staying = await dial()
    await frame(staying)
    for reason in ("warning", "refresh_requested", "too_many_websockets", "link_disabled"):
        leaving, staying = staying, await dial()
        await frame(staying)
        await people.fault(socket="disconnect", reason=reason, only=1)
        assert (await frame(leaving))["reason"] == reason
        for i in range(2):
            await people.say("Ada", "dm", f"only to the other {i}")
            envelope = await frame(staying)
            assert envelope["type"] == "events_api", reason
            await staying.send_json({"envelope_id": envelope["envelope_id"]})
            await people.wait_for_ack(envelope["payload"]["event_id"])
        await people.advance(11)
        assert (await leaving.receive(timeout=HANG)).type is aiohttp.WSMsgType.CLOSE, reason


async def test_a_disconnect_right_after_hello_and_refused_handshakes(dial: Dial, people: WorkspaceClient) -> None:
    await people.fault(socket="greet", reason="link_disabled", times=1)
    socket = await dial()
    assert [(await frame(socket))["type"] for _ in range(2)] == ["hello", "disconnect"]
    await people.fault(socket="refuse_handshakes", status=503, times=1)
    with pytest.raises(aiohttp.WSServerHandshakeError, match="503"):
        await dial()
    await people.fault(socket="dead_tickets", times=1)
    with pytest.raises(aiohttp.WSServerHandshakeError, match="404"):
        await dial()
    assert (await frame(await dial()))["type"] == "hello"
    sockets = [await dial() for _ in range(10)]
    await frame(sockets[-1])
    assert (await frame(sockets[-1]))["reason"] == "too_many_websockets", "the eleventh that is open at once"


async def test_any_event_can_be_raised_while_the_app_has_a_socket(stock: StockApp, people: WorkspaceClient) -> None:
    event_id = await people.emit({"type": "reaction_added", "user": "U0ADA", "reaction": "eyes", "item": {}})
    await stock.received(lambda e: e["type"] == "reaction_added")
    delivery = await people.wait_for_ack(event_id)
    assert (delivery["attempt"], delivery["event_type"]) == (0, "reaction_added")
    assert (await people.state())["bot"]["active"] is True
    await stock.close()
    await people.wait_for_sockets(0)
    assert (await people.state())["bot"]["active"] is False
    assert not await people.emit_envelope({"type": "events_api"})
