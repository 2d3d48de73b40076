"""HTTP as a `Channel`, alone and beside another one."""

import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from daemon.channels.http import stream as server_sent
from daemon.channels.http.channel import HttpChannel
from daemon.channels.souls import channels_of
from daemon.core.channels import Channels
from daemon.core.concurrency import alongside
from daemon.core.errors import ChannelRefused, ConfigError, NotDelivered
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place
from daemon.core.ports import Intake
from daemon.core.ports.channel import Offers
from daemon.core.ports.library import FoundPost, Post
from daemon.core.ports.services import DraftLog, Speech, Task, TaskState
from daemon.core.sessions import DOOR
from daemon.core.telemetry.metrics import Metrics
from daemon.core.text import Trusted
from tests.fakes import TIMEOUT, Events, FakeChannel, FakeClock
from tests.given import CLOSING, OPENING, perception
from tests.http.daemons import HttpHome, settings_for
from tests.models import Flow

HERE = ConversationKey("minoan", "T1", "http", "s")
IN_SLACK = ConversationKey("minoan", "T1", "D1")


def _perception(conversation: ConversationKey = HERE) -> Perception:
    said = perception(ts="1.0", source="http.s", place=Place.TERMINAL, channel=conversation.channel)
    return replace(said, conversation=conversation, audience=Audience(AudienceKind.DM, "http.s"))


def _post(conversation: ConversationKey = HERE) -> Post:
    return Post("key#0", conversation, "words", reply_to="1.0", recipient="http.s", newer_than_ts="1.0")


async def _nothing(*_: str) -> None:
    return None


async def _always() -> bool:
    return True


SILENT = DraftLog(_nothing, _nothing, _nothing)


def _http(tmp_path: Path, **changes: object) -> HttpChannel:
    return HttpChannel(settings_for(tmp_path, **changes), FakeClock(), Events(), Metrics())


ASKED = ("thinking", "speak", "deliver", "find", "thread_before", "linked", "readers", "admit")


class Main(FakeChannel):
    """A main channel that records which of its methods were asked for."""

    name = "slack"

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.opens = asyncio.Event()

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401  # whatever it has
        if name in ASKED:
            self.asked.append(name)
        return super().__getattribute__(name)

    async def listen(self, intake: Intake, ready: asyncio.Event) -> None:
        await self.opens.wait()
        ready.set()
        await asyncio.Event().wait()

    def speak(
        self, perception: Perception, drafts: DraftLog, trusted: Trusted | None = None, *, grows: bool | None = None
    ) -> Speech:
        return self  # never spoken with


async def _everything(channels: Channels, conversation: ConversationKey) -> list[object]:
    perception, post, channel = _perception(conversation), _post(conversation), channels.of(conversation)
    async with channel.thinking(perception):
        channel.speak(perception, SILENT)
    return [
        channel.reply_to(perception),
        await channel.deliver(post),
        await channel.find(post),
        await channel.thread_before(perception, 5),
        await channel.linked(perception, await channel.readers(perception)),
    ]


async def test_each_conversation_goes_to_its_channel_and_what_is_of_none_to_the_main_one(tmp_path: Path) -> None:
    main = Main()
    http = _http(tmp_path)
    channels = channels_of(main, http)
    over_http = await _everything(channels, HERE)
    assert over_http == ["1.0", "key#0", FoundPost("key#0", finished=True), (), ()]
    assert not main.asked
    in_slack = await _everything(channels, IN_SLACK)
    assert in_slack == ["", "1.0", FoundPost("1.0", finished=True), (), ()]
    assert (await channels.of(IN_SLACK).admit(_perception(IN_SLACK))).admitted
    assert main.asked == list(ASKED)
    assert channels.of(HERE) is channels.of(replace(HERE, channel=DOOR)) is http
    assert channels.of(HERE).offers(HERE) == Offers()
    assert channels.of(HERE).split("two words", HERE) == ("two words",)
    with pytest.raises(ChannelRefused):
        await http.find_room("U1")
    assert channels.main is channels.of(IN_SLACK) is main


async def test_alone_it_admits_no_one_and_keeps_a_long_reply_whole(tmp_path: Path) -> None:
    http = _http(tmp_path)
    assert not http.healthy()
    with pytest.raises(NotDelivered):
        await http.admit(_perception())
    assert http.split(f"  {'x' * 50_000}\n", HERE) == ("x" * 50_000,)
    assert http.split(" \n ", HERE) == ()
    await http.close()


async def test_it_is_ready_once_every_channel_is_and_fails_with_any_of_them(home: HttpHome, tmp_path: Path) -> None:
    main, http, ready = Main(), _http(tmp_path, http=False), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        listening = group.create_task(channels_of(main, http).listen(home.built.store.inbox, ready))
        await asyncio.sleep(0)
        assert not ready.is_set()
        main.opens.set()
        async with asyncio.timeout(TIMEOUT):
            await ready.wait()
        listening.cancel()
    taken = int(home.now.channel.url.rpartition(":")[2])
    http = _http(tmp_path, http_port=taken)
    http.connect(home.now.channel._side)
    with pytest.raises(ConfigError, match="SOUL_HTTP_PORT"):
        await channels_of(Main(), http).listen(home.built.store.inbox, asyncio.Event())


async def test_a_free_port_in_place_of_the_configured_one_is_kept_for_one_run(home: HttpHome, tmp_path: Path) -> None:
    configured = home.now.channel.url
    side, intake = dataclasses.replace(home.now.channel._side, has_neighbours=_always), home.built.store.inbox

    async def url_of_a_run() -> str:
        http = _http(tmp_path, http_port=int(configured.rpartition(":")[2]))
        http.connect(side)
        ready = asyncio.Event()
        async with alongside(http.listen(intake, ready)), asyncio.timeout(TIMEOUT):
            await ready.wait()
        await http.close()
        return http.url

    assert await url_of_a_run() != configured, "a neighbour listens there"
    await home.now.stop()
    assert await url_of_a_run() == configured


async def test_parts_that_another_channel_cut_are_joined_in_order(home: HttpHome) -> None:
    def cut(reply: str, conversation: ConversationKey, trusted: Trusted | None = None) -> tuple[str, ...]:
        return tuple(reply.partition(" "))

    home.now.channel.split = cut  # type: ignore[method-assign]  # as Slack would
    done = await home.say("hello")
    assert done.data["text"] == "Echo: hello"
    assert done.data["parts"] == ["Echo:", " ", "hello"]
    assert (await home.answered("m")).json["parts"] == done.data["parts"]


async def test_tasks_are_streamed_as_they_change(home: HttpHome) -> None:
    flow = Flow()
    home.model.flows.append(flow)
    async with home.stream("hello") as stream:
        await flow.asked.wait()
        speech = home.now.channel.speak(replace(_perception(), ts="99999999999.0"), SILENT)
        await speech.show(Task("t", "Look it up", TaskState.IN_PROGRESS, "in the docs"))
        shown = await stream.until("task")
        flow.end(OPENING, "Found.", CLOSING)
        await stream.until("done")
    assert shown.data == {"id": "t", "title": "Look it up", "state": "in_progress", "details": "in the docs"}


async def test_a_client_that_does_not_read_is_disconnected(home: HttpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_sent, "_SLOWEST", 0.2)
    flow = Flow()
    home.model.flows.append(flow)
    async with home.stream("hello") as stream:
        await flow.asked.wait()
        async with asyncio.timeout(TIMEOUT):
            while not home.events.named("http.reader_stuck"):  # each round fills what the machine buffers a bit more
                speech = home.now.channel.speak(replace(_perception(), ts="99999999999.0"), SILENT)
                await speech.say("x" * 65_000)
                await asyncio.sleep(0.001)
        stream.response.close()
    flow.end(OPENING, "Never mind.", CLOSING)
    assert (await home.answered("m")).json["text"] == "Never mind."
