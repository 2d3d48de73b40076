"""The real client tells the daemon of its sessions: how they begin, work, are compacted, forked, cleared, and end."""

import asyncio
import json
from pathlib import Path

import pytest

from tests.fakes import TIMEOUT
from tests.hooks.real_client.rig import ROOT, ClientTerminal, Installed
from tests.hooks.real_client.stand_in import StandIn
from tests.http.daemons import HttpHome, bearer

pytestmark = pytest.mark.slow
WHO = "the mind of Kothar"
RUN = ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]


async def rows(home: HttpHome) -> dict[str, dict[str, object]]:
    return {one["id"]: one for one in (await home.ask("GET", "/api/sessions", headers=bearer())).json}


async def until(home: HttpHome, session: str, **fields: object) -> dict[str, object]:
    """Wait until a session has these fields; a row of memory.db has no events to wait on."""
    async with asyncio.timeout(TIMEOUT):
        while not fields.items() <= (found := (await rows(home)).get(session, {})).items():  # noqa: ASYNC110  # as said
            await asyncio.sleep(0.05)
    return found


async def test_plugin_and_marketplace_are_valid_and_the_directory_would_take_the_plugin(client: Installed) -> None:
    for options in (("--strict",), ("--profile", "directory"), ("--strict", "--profile", "directory")):
        assert "Validation passed" in await client.run("plugin", "validate", *options, str(ROOT / "hooks"))
    assert "Validation passed" in await client.run("plugin", "validate", "--strict", str(ROOT))
    assert "soul@soul" in await client.run("plugin", "list")


async def test_a_session_without_a_terminal_is_told_of_from_its_start_to_its_end(
    home: HttpHome, api: StandIn, client: Installed
) -> None:
    api.uses["by a command"] = ("Bash", {"command": "echo h''i"})
    said = await client.run("-p", "say hi by a command", "--allowedTools", "Bash")
    assert said.strip() == api.says
    assert client.names() == RUN
    (row,) = (await rows(home)).values()
    assert (row["state"], row["reason"], row["attended"], row["project"]) == ("gone", "other", False, "api")
    assert WHO in json.dumps(api.bodies[0]["messages"])
    assert '"content": "hi"' in json.dumps(api.bodies[-1]["messages"])
    client.record("print")


async def test_a_resumed_and_compacted_session_stays_itself_and_a_fork_is_another(
    home: HttpHome, api: StandIn, client: Installed
) -> None:
    await client.run("-p", "hello")
    (first,) = await rows(home)
    await client.run("-p", "again", "--resume", first)
    assert (await rows(home))[first]["source"] == "resume"
    await client.run("-p", "/compact", "--resume", first)
    assert client.names()[-4:] == ["SessionStart", "SessionStart", "PostCompact", "SessionEnd"]
    row = (await rows(home))[first]
    assert (row["source"], row["state"], row["model"]) == ("compact", "gone", client.hooks[-3]["hook"]["model"])
    api.bodies.clear()
    await client.run("-p", "once more", "--resume", first)
    assert WHO in json.dumps(api.bodies[0]["messages"])
    await client.run("-p", "elsewhere", "--resume", first, "--fork-session")
    found = await rows(home)
    (fork,) = found.keys() - {first}
    assert (found[fork]["source"], found[fork]["name"]) == ("fork", "ada-api")
    client.record("resume-compact-fork")


async def test_six_sessions_at_once_are_six(home: HttpHome, client: Installed) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(client.run("-p", f"hello {number}"))
    found = (await rows(home)).values()
    assert [one["state"] for one in found] == ["gone"] * 6
    assert len({one["pid"] for one in found}) == 6
    assert sorted(client.names()) == sorted(RUN * 6)


async def test_without_a_daemon_nothing_is_shown_or_lost(home: HttpHome, api: StandIn, client: Installed) -> None:
    port = int(home.url("").rpartition(":")[2])
    await home.now.stop()
    running = await client.begin("-p", "hello")
    async with asyncio.timeout(TIMEOUT):
        out, err = await running.communicate()
    assert (running.returncode, out.decode().strip(), err) == (0, api.says, b"")
    assert WHO not in json.dumps(api.bodies[0]["messages"])
    kept = client.kept
    assert [one["hook"]["hook_event_name"] for one in kept] == [
        "SessionStart",
        "UserPromptSubmit",
        "Stop",
        "SessionEnd",
    ]
    await home.start(http_port=port)
    await client.run("-p", "again")
    assert client.kept == []
    found = [row["id"] for row in await home.database.rows("SELECT id FROM session_events")]
    ingested = len({one["id"] for one in kept} & set(found))
    print(f"sent={len(kept)} ingested={ingested} doubled={len(found) - len(set(found))}")
    assert (ingested, len(found)) == (4, 8)
    assert [one["state"] for one in (await rows(home)).values()] == ["gone", "gone"]
    client.record("without-a-daemon")


async def test_in_a_terminal_it_works_rests_clears_and_ends(home: HttpHome, api: StandIn, client: Installed) -> None:
    async with ClientTerminal(client) as terminal:
        first = (await client.until_hook("SessionStart"))["session_id"]
        before = await until(home, first, state="idle", reach="now", attended=True)
        await terminal.type("please HOLD it")
        await api.held.wait()
        await until(home, first, state="working")
        api.go_on.set()
        await until(home, first, state="idle")
        await terminal.type("/clear")
        second = (await client.until_hook("SessionStart", source="clear"))["session_id"]
        after = await until(home, second, state="idle", reach="now")
        assert second != first
        assert [after[name] for name in ("pid", "name")] == [before[name] for name in ("pid", "name")]
        await until(home, first, state="gone", reason="clear", reach="none")
        await terminal.type("/exit")
        await until(home, second, state="gone", reason="prompt_input_exit")
    client.record("terminal-clear-exit")


async def test_a_killed_one_is_gone_and_a_resumed_one_back(home: HttpHome, client: Installed, tmp_path: Path) -> None:
    async with ClientTerminal(client) as terminal:
        session = (await client.until_hook("SessionStart"))["session_id"]
        await terminal.type("hello")
        await client.until_hook("Stop")
        await until(home, session, state="idle", reach="now")
        await terminal.kill()
        await until(home, session, state="gone", reason="process")
        assert "SessionEnd" not in client.names()
        await terminal.open("--resume", session)
        await client.until_hook("SessionStart", source="resume")
        await until(home, session, state="idle", reach="now", source="resume")
    client.record("killed-resumed")
