"""The scenes of Slack, played in the local workspace by every run, and in the real Slack where tokens are given.

The live run needs a developer sandbox: `LIVE_SLACK_BOT_TOKEN`, `LIVE_SLACK_APP_TOKEN`, the ids `LIVE_SLACK_CHANNEL` and
`LIVE_SLACK_ARCHIVED` of a channel that the app is in and of an archived one, and `LIVE_SLACK_USER`. It takes some seven
minutes, most of them for a stream to be sealed. Every code and shape goes to `LIVE_SLACK_REPORT` (live-report.json).
"""

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from msgspec.structs import asdict
from slack_sdk.web.async_client import AsyncWebClient

from daemon.core.ports.services import SystemClock
from daemon.local_slack.server import serve_workspace
from tests.fakes import FakeClock
from tests.live.scenes import EXPECTED, SCENES
from tests.live.stage import LiveStage, RecordedCall, differences
from tests.workspace_client import WorkspaceClient

_TOKENS = tuple(f"LIVE_SLACK_{name}" for name in ("BOT_TOKEN", "APP_TOKEN", "CHANNEL", "ARCHIVED", "USER"))
_REPORT = Path(os.environ.get("LIVE_SLACK_REPORT", "live-report.json"))
_LIVE = {name: os.environ.get(name, "") for name in _TOKENS}


@asynccontextmanager
async def _local() -> AsyncIterator[LiveStage]:
    """The local workspace, whose time moves only when a scene waits."""
    async with serve_workspace(clock=FakeClock()) as server, WorkspaceClient(server.page_url) as people:
        await people.fault(room="founders", archived=True)

        async def throttle(on: bool) -> None:
            await people.limits("slack" if on else "off")

        async with aiohttp.ClientSession() as session:
            client = AsyncWebClient(token=server.bot_token, base_url=server.api_url, session=session)
            client.proxy = None
            rooms = ("C0GENERAL", "C0FOUNDERS", "D0ADA", "U0ADA")
            yield LiveStage(client, server.app_token, *rooms, server.team.id, people.advance, throttle)


@asynccontextmanager
async def _slack() -> AsyncIterator[LiveStage]:
    """The real Slack."""
    clock = SystemClock()

    async def nothing(on: bool) -> None:
        """Slack's limits are always on; the other scenes stay below them, since each call waits."""

    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(token=_LIVE["LIVE_SLACK_BOT_TOKEN"], session=session)
        team = str((await client.auth_test())["team_id"])
        opened = await client.conversations_open(users=_LIVE["LIVE_SLACK_USER"])
        channel, archived, user = (_LIVE[f"LIVE_SLACK_{name}"] for name in ("CHANNEL", "ARCHIVED", "USER"))
        dm = str(opened["channel"]["id"])
        yield LiveStage(client, _LIVE["LIVE_SLACK_APP_TOKEN"], channel, archived, dm, user, team, clock.sleep, nothing)


async def _played(stage: LiveStage, name: str) -> list[RecordedCall]:
    stage.calls.clear()
    await SCENES[name](stage)
    return list(stage.calls)


async def test_the_local_workspace_plays_every_scene_as_slack_is_known_to() -> None:
    async with _local() as stage:
        calls = {name: await _played(stage, name) for name in SCENES}
    assert all(calls.values())
    refused = {name: tuple(call.code for call in made if call.code != "ok") for name, made in calls.items()}
    assert {name: codes for name, codes in refused.items() if codes} == EXPECTED


@pytest.mark.live
@pytest.mark.timeout(1_800)
@pytest.mark.skipif(not all(_LIVE.values()), reason=f"needs {', '.join(_TOKENS)}")
async def test_slack_and_the_local_workspace_say_the_same() -> None:
    report: dict[str, object] = {}
    other: dict[str, list[str]] = {}
    async with _slack() as slack, _local() as local:
        opened = await slack.client.apps_connections_open(app_token=slack.app_token)
        assert str(opened["url"]).startswith("wss://")
        for name in SCENES:
            there, here = await _played(slack, name), await _played(local, name)
            other[name] = differences(there, here)
            report[name] = {
                "slack": [asdict(call) for call in there],
                "local": [asdict(call) for call in here],
                "differences": other[name],
            }
            await slack.wait(2.0)  # about one post a second and channel
    _write(report)
    assert not {name: found for name, found in other.items() if found}, f"see {_REPORT}"


def _write(report: dict[str, object]) -> None:
    _REPORT.write_text(json.dumps(report, indent=2, ensure_ascii=False), encoding="utf-8")


def test_a_difference_is_another_code_another_note_a_missing_call_or_a_field_that_slack_lacks() -> None:
    there = [
        RecordedCall("chat.update", "msg_too_long"),
        RecordedCall("", "ok", (), {"metadata": True}),
        RecordedCall("chat.delete", "ok", ("ok: bool", "ts: str")),
    ]
    assert differences(there, list(there)) == []
    here = [
        RecordedCall("chat.update", "ok"),
        RecordedCall("", "ok", (), {"metadata": False}),
        RecordedCall("chat.delete", "ok", ("ok: bool", "when: str")),
        RecordedCall("auth.test", "ok"),
    ]
    assert len(differences(there, here)) == 4
    assert differences(there, here)[-1] == "call 2, chat.delete: Slack has no when: str"
