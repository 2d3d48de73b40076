"""The hook script as a client runs it: it reports to a real door, keeps what it can't send, and never fails."""

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from daemon.memory.database.sqlite import sqlite3
from tests.chance import dice
from tests.hooks.client import Client
from tests.hooks.odd_inputs import odd_inputs
from tests.http.daemons import HttpHome, bearer
from tests.http.machines import key_of, revoke


async def rows(home: HttpHome) -> list[dict[str, object]]:
    got = await home.ask("GET", "/api/sessions", headers=bearer())
    return list(got.json)


@pytest.fixture
async def client(home: HttpHome, tmp_path: Path) -> Client:
    return Client(tmp_path / "user", home.url(""), await key_of(home))


@asynccontextmanager
async def babbling() -> AsyncIterator[tuple[str, list[bytes | None]]]:
    """The address of something that is no daemon, and what it says at the end of the list; with None never a word."""
    words, lines = list[bytes | None](), list[asyncio.StreamWriter]()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines.append(writer)
        if (said := words[-1]) is not None:
            await reader.read(65_536)
            with suppress(ConnectionError):
                writer.write(said)
                await writer.drain()
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", words
    finally:
        server.close()
        for line in lines:
            line.close()


async def test_a_session_is_there_with_its_process_folder_and_branch(home: HttpHome, client: Client) -> None:
    (client.home / ".git").mkdir()
    (client.home / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    client.env["CLAUDE_CODE_SESSION_ATTENDED"] = "1"
    ran = await client.report("SessionStart", source="startup", model="opus", prompt="NEVER")
    assert "the mind of Kothar" in ran.context
    assert len(ran.context) < 9_000
    (row,) = await rows(home)
    assert (row["name"], row["branch"], row["attended"], row["pid"]) == ("ada-user", "feature/x", True, os.getpid())
    assert (row["state"], row["model"], row["cwd"]) == ("idle", "opus", str(client.home))
    assert (await client.report("UserPromptSubmit", prompt="NEVER")).out == b""
    assert (await rows(home))[0]["state"] == "working"
    await client.report("SessionEnd", reason="other")
    assert (await rows(home))[0]["state"] == "gone"
    assert b"NEVER" not in (home.home / "memory.db").read_bytes()


async def test_a_worktree_and_a_commit_without_a_branch_are_read(home: HttpHome, client: Client) -> None:
    real, tree = client.home / "real", client.home / "tree" / "deep"
    real.mkdir()
    tree.mkdir(parents=True)
    (real / "HEAD").write_text("0123456789abcdef0123\n")
    (tree.parent / ".git").write_text(f"gitdir: {real}\n")
    await client.report("SessionStart", cwd=str(tree))
    (row,) = await rows(home)
    assert (row["project"], row["branch"]) == ("tree", "0123456789ab")


async def test_what_could_not_be_sent_comes_first_in_order_and_once(home: HttpHome, client: Client) -> None:
    url, client.env["SOUL_URL"] = client.env["SOUL_URL"], "http://127.0.0.1:9"
    hooks = ["SessionStart", "UserPromptSubmit", "Stop", "UserPromptSubmit", "Notification"]
    for number, name in enumerate(hooks):
        assert (await client.report(name, notification_type="permission_prompt")).out == b""
        assert len(client.kept) == number + 1
    assert [json.loads(path.read_text())["hook"]["hook_event_name"] for path in client.kept] == hooks
    sent = [json.loads(path.read_text())["id"] for path in client.kept]
    for path in client.kept:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert client.env["SOUL_KEY"] not in path.read_text()
        assert "token-of-the-environment" not in path.read_text()
    (waiting,) = client.home.glob(".local/state/soul/*")
    assert stat.S_IMODE(waiting.stat().st_mode) == 0o700
    assert (await client.status())["kept"] == 5
    client.env["SOUL_URL"] = url  # the spool of one address is not sent to another
    waiting.rename(waiting.with_name(_folder(url)))
    assert (await client.report("CwdChanged")).out == b""
    while client.kept:  # a busy daemon puts an event off
        assert (await client.report("CwdChanged")).out == b""
    with sqlite3.connect(home.home / "memory.db") as connection:
        found = [row[0] for row in connection.execute("SELECT id FROM session_events")]
    connection.close()
    ingested = len(set(found) & set(sent))
    print(f"sent={len(sent)} ingested={ingested} doubled={len(found) - len(set(found))}")
    assert (ingested, len(found)) == (5, len(set(found)))
    assert (await rows(home))[0]["state"] == "waits"


def _folder(url: str) -> str:
    import binascii

    return f"sessions-{binascii.crc32(url.encode()):08x}"


async def test_many_scripts_that_empty_one_spool_send_each_event_once(home: HttpHome, client: Client) -> None:
    url, client.env["SOUL_URL"] = client.env["SOUL_URL"], "http://127.0.0.1:9"
    for number in range(8):
        await client.report("UserPromptSubmit" if number % 2 else "Stop")
    sent = [json.loads(path.read_text())["id"] for path in client.kept]
    (waiting,) = client.home.glob(".local/state/soul/*")
    client.env["SOUL_URL"] = url
    waiting.rename(waiting.with_name(_folder(url)))
    async with asyncio.TaskGroup() as group:
        for _ in range(4):
            group.create_task(client.report("Stop"))
    runs = 4 + await client.emptied()
    with sqlite3.connect(home.home / "memory.db") as connection:
        found = [row[0] for row in connection.execute("SELECT id FROM session_events")]
    connection.close()
    assert set(sent) <= set(found)
    assert len(found) == len(set(found)) == 8 + runs


async def test_what_babbles_or_hangs_is_no_daemon_and_the_event_is_kept(home: HttpHome, client: Client) -> None:
    answers: tuple[bytes, ...] = (
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n{",
        b"HTTP/1.1 nonsense\r\n\r\n",
        b"x" * 100_000,
        b"HTTP/1.1 200 OK\r\nContent-Length: 20000\r\n\r\n" + b"[" * 20_000,
    )
    async with babbling() as (url, say):
        client.env["SOUL_URL"] = url
        for number, answer in enumerate(answers):
            say.append(answer)
            assert (await client.report("SessionStart")).out == b"", answer[:60]
            assert len(client.kept) == number + 1, answer[:60]
        client.script.write_text(client.script.read_text().replace("NET_S = 60", "NET_S = 1"))
        say.append(None)
        assert (await client.report("SessionStart")).out == b""
        assert len(client.kept) == len(answers) + 1


async def test_an_event_that_the_daemon_refuses_does_not_block_the_others(home: HttpHome, client: Client) -> None:
    url, client.env["SOUL_URL"] = client.env["SOUL_URL"], "http://127.0.0.1:9"
    await client.report("SessionStart", session_id="../../etc")
    await client.report("SessionStart")
    (waiting,) = client.home.glob(".local/state/soul/*")
    (waiting / "000000000000001-torn.json").write_text('{"id": ')
    client.env["SOUL_URL"] = url
    waiting.rename(waiting.with_name(_folder(url)))
    await client.report("Stop")
    await client.emptied()
    assert len(await rows(home)) == 1


async def test_an_event_of_odd_characters_is_known_and_an_unreadable_counted(home: HttpHome, client: Client) -> None:
    assert (await client.report("SessionStart", session_title="\ud83d", model="x\ud83d")).context
    assert (await rows(home))[0]["model"] == "x\ufffd"
    odd = os.fsencode(client.home) + b"/caf\xe9"
    git = client.home / os.fsdecode(b"caf\xe9") / ".git"
    git.mkdir(parents=True)
    (git / "HEAD").write_text("ref: refs/heads/odd")
    await client.run(b'{"session_id": "s1", "hook_event_name": "CwdChanged", "cwd": "%s"}' % odd)
    (row,) = await rows(home)
    assert (row["cwd"], row["branch"]) == (f"{client.home}/caf\ufffd", "odd")
    await client.run(b'{"session_id": "s1", "hook_event_name": "UserPromptSubmit", "prompt": "a\n\t\x1b[1mb"}')
    assert (await rows(home))[0]["state"] == "working"
    await client.run(b'{"session_id": "s1", "hook_event_name": "SessionEnd", "reason": "ot\nher"}')
    assert (await rows(home))[0]["state"] == "gone"
    assert (await client.status())["dropped"] == 0
    for number, unread in enumerate((b'{"session_id": ', b"[" * 100_000, b'{"session_id": "a/b"}'), start=1):
        await client.run(unread)
        assert (await client.status())["dropped"] == number


async def test_a_revoked_key_keeps_what_it_has_and_a_copy_by_itself_is_silent(home: HttpHome, client: Client) -> None:
    await revoke(home, client.env["SOUL_KEY"])
    assert (await client.report("SessionStart")).out == b""
    assert len(client.kept) == 1
    (client.home / "soul_address.py").unlink()
    assert (await client.report("SessionStart")).out == b""


async def test_settings_come_from_environment_then_plugin_then_ones_own_file(home: HttpHome, client: Client) -> None:
    url, key = client.env.pop("SOUL_URL"), client.env.pop("SOUL_KEY")
    assert (await client.report("SessionStart")).out == b""
    assert client.kept == []  # without a key there is nothing to keep
    folder = client.home / ".config" / "soul"
    folder.mkdir(parents=True)
    file = folder / "session.json"
    file.write_text(json.dumps({"url": url, "key": key}))
    file.chmod(0o644)
    assert (await client.status())["fault"] == "there is no key"
    file.chmod(0o600)
    assert (await client.report("SessionStart")).context
    client.env["SOUL_URL"] = "https://example.com"  # as a repository may set it
    assert (await client.status())["key"] is False
    client.env["SOUL_URL"] = f"{url}/"  # the same as the file names
    assert (await client.status())["key"] is True
    del client.env["SOUL_URL"]
    client.env["CLAUDE_PLUGIN_OPTION_URL"] = "http://127.0.0.1:9"  # without a key a mere default
    assert (await client.status())["url"] == url
    client.env["CLAUDE_PLUGIN_OPTION_KEY"] = "another"
    assert (await client.status())["url"] == "http://127.0.0.1:9"
    client.env |= {"SOUL_URL": url, "SOUL_KEY": key}
    assert (await client.report("SessionStart", source="compact")).context


async def test_a_key_goes_over_plain_http_to_this_machine_alone_and_of_too_many_events_the_oldest_go_and_are_counted(
    home: HttpHome, client: Client
) -> None:
    for url in (
        "http://example.com:8766",
        "http://10.0.0.1",
        "http://127.0.0.1.example.com",
        "http://localhost@example.com",
        "ftp://127.0.0.1",
        "127.0.0.1:8766",
        "http://127.0.0.1:port",
        "http://127.0.0.1:80\r\nX: y",
        "http://",
    ):
        client.env["SOUL_URL"] = url
        assert (await client.report("SessionStart")).out == b"", url
        assert (await client.status())["fault"], url
        assert client.kept == []
    client.script.write_text(client.script.read_text().replace("MOST_KEPT = 1000", "MOST_KEPT = 3"))
    client.env["SOUL_URL"] = "http://127.0.0.1:9"
    for number in range(5):
        await client.report("Stop", reason=str(number))
    assert [json.loads(path.read_text())["hook"]["reason"] for path in client.kept] == ["2", "3", "4"]
    assert (await client.status())["dropped"] == 2
    client.script.write_text(client.script.read_text().replace("5 * 1024 * 1024", "1000"))
    await client.report("Stop", reason="5")
    assert sum(path.stat().st_size for path in client.kept) <= 1000


@pytest.mark.slow
async def test_odd_inputs_never_fail_and_never_chatter(home: HttpHome, client: Client) -> None:
    nonzero = stderr = 0
    for number, given in enumerate(odd_inputs(300, dice("hooks"))):
        client.env["CLAUDE_PID"] = ("1", "x", "", "-5", str(10**30))[number % 5]
        ran = await asyncio.to_thread(client.now, given)
        nonzero += ran.code != 0
        stderr += bool(ran.err)
        assert len(ran.context) < 9_000
    print(f"inputs=300 nonzero={nonzero} stderr={stderr}")
    assert (nonzero, stderr) == (0, 0)


async def test_closed_streams_unwritable_homes_and_lost_folders_are_no_failure(home: HttpHome, client: Client) -> None:
    command = [sys.executable, "-I", "-S", str(client.script)]
    hook = b'{"session_id": "s1", "hook_event_name": "SessionStart"}'
    closed = await asyncio.to_thread(
        subprocess.run, ["sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-', *command], check=False, env=client.env
    )
    assert closed.returncode == 0
    for env in ({"HOME": "/proc/1"}, {"HOME": "/dev/null/x"}, {}):
        bare = {"SOUL_URL": "http://127.0.0.1:9", "SOUL_KEY": "k"} | env
        done = await asyncio.to_thread(
            subprocess.run, command, input=hook, capture_output=True, check=False, env=bare, cwd="/"
        )
        assert (done.returncode, done.stderr, done.stdout) == (0, b"", b"")


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[HttpHome]:
    async with aiohttp.ClientSession() as session:
        made = HttpHome(tmp_path / "daemon", session)
        made.home.mkdir()
        await made.start()
        yield made
        await made.now.cut()
