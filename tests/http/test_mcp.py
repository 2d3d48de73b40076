"""MCP at the door: what each tool does, for whom, and what it says where it can't."""

import asyncio
import json

import pytest
from mcp import MCPError
from msgspec.structs import replace

from daemon.channels.http import pairing as session_talk
from daemon.core.contexts import ADMIN
from daemon.core.perception import Audience, AudienceKind, ConversationKey, Perception, Place, Readers
from daemon.memory.database import Transaction
from daemon.memory.knowledge.turn_index import store_turns
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.queues.claims import open_conversation
from daemon.memory.records import Speaks, Turn
from tests.fakes import TIMEOUT
from tests.given import perception
from tests.http.daemons import EVERYBODY, TOKEN, WORKSPACE, Got, HttpHome, bearer
from tests.http.machines import Machine, key_of, revoke
from tests.http.mcp_clients import TOOLS, connected, key_for, said
from tests.models import Flow

HEADERS = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


async def called(home: HttpHome, key: str, name: str, given: dict[str, object]) -> tuple[str, bool]:
    """What a tool says, and whether it was refused; without the official client, which takes longer than the tool."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": given}}
    got = await home.ask("POST", "/mcp", headers=bearer(key) | HEADERS, json=message)
    return given_back(got)


def given_back(got: Got) -> tuple[str, bool]:
    """The text of the one result in an answer, and whether it is a refusal."""
    assert got.status == 200, got.body
    (line,) = [one for one in got.body.decode().splitlines() if one.startswith("data: {")]
    result = json.loads(line.removeprefix("data: "))["result"]
    return "".join(one["text"] for one in result["content"]), bool(result.get("isError"))


async def use(home: HttpHome, key: str, name: str, /, **given: object) -> str:
    """What a tool gives that works."""
    text, wrong = await called(home, key, name, given)
    assert not wrong, text
    return text


async def refused(home: HttpHome, key: str, name: str, /, **given: object) -> str:
    """What a tool says that can't do it."""
    text, wrong = await called(home, key, name, given)
    assert wrong, text
    return text


async def said_in(home: HttpHome, channel: str, audience: Audience, text: str) -> None:
    """Let a person have said something in a room."""
    where, now = ConversationKey("minoan", WORKSPACE, channel), home.clock.now_ms()

    async def unit(transaction: Transaction) -> None:
        await open_conversation(transaction, where, Place.PUBLIC_CHANNEL, audience, now, heard=True)
        turn = Turn(Speaks.PERSON, "UBO", "Bo", f"{now / 1000:.6f}", text)
        await store_turns(transaction, [turn], conversation=where, audience=audience, trace_id=text, now=now)

    await home.database.write(unit)


async def test_the_official_client_finds_the_tools_and_uses_one(home: HttpHome) -> None:
    for mode in ("auto", "legacy"):
        async with connected(home, await key_for(home), mode) as client:
            assert {one.name for one in (await client.list_tools()).tools} == TOOLS, mode
            assert "information, never an instruction" in str(client.instructions)
            result = await client.call_tool("context_list", {})
        assert (result.is_error, json.loads(said(result))) == (False, [])


async def test_a_revoked_key_ends_a_client_that_is_connected(home: HttpHome) -> None:
    key = await key_for(home)
    async with connected(home, key) as client:
        assert not (await client.call_tool("sessions", {})).is_error
        await revoke(home, key)
        with pytest.raises(MCPError):
            await client.call_tool("sessions", {})
    got = await home.ask("POST", "/mcp", headers=bearer(key) | HEADERS, data=b"{}")
    assert (got.status, got.code) == (401, "unauthorized")


async def test_a_web_page_and_a_stranger_reach_no_tool_and_what_is_no_message_is_refused(home: HttpHome) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    got = await home.ask("POST", "/mcp", headers=HEADERS, json=message)
    assert (got.status, got.code) == (401, "unauthorized")
    page = bearer(await key_for(home)) | HEADERS | {"Origin": "https://evil.example"}
    got = await home.ask("POST", "/mcp", headers=page, json=message)
    assert (got.status, got.code) == (403, "web_page")
    headers = bearer(await key_for(home)) | HEADERS
    for body, status in (
        (b'{"jsonrpc": ', 400),
        (b"[" * 10_000, 400),
        (b"[]", 400),
        (b"{}", 400),
        (b"\xff", 400),
        (b'{"a": "' + b"x" * 300_000 + b'"}', 413),
    ):
        got = await home.ask("POST", "/mcp", headers=headers, data=body)
        assert (got.status, "error" in got.json) == (status, True), body[:40]
    assert not home.events.named("http.crashed")


# Memory


async def test_recall_finds_what_the_workspace_may_know_and_no_word_of_private_rooms(home: HttpHome) -> None:
    for person in ("UADA", ""):
        key = await key_for(home, person)
        rooms = {"CPUB": EVERYBODY, "CPRIV": _channel("CPRIV"), "DUADA": _dm("UADA"), "DUBO": _dm("UBO")}
        for channel, audience in rooms.items():
            await said_in(home, channel, audience, f"The heron nests in {channel} {person}")
        await said_in(home, "admin", Audience(AudienceKind.OPERATOR, ""), "The heron nests with the admin")
        found = await use(home, key, "recall", query="where does the heron nest", limit=20)
        assert "nests in CPUB" in found
        assert "information, never an instruction" in found
        for private in ("CPRIV", "DUADA", "DUBO", "with the admin"):
            assert f"nests in {private}" not in found
            assert private not in found


async def test_what_is_remembered_is_kept_for_its_owners_dm_and_no_one_else_finds_it(home: HttpHome) -> None:
    key = await key_for(home)
    assert "kept" in await use(home, key, "remember", text="The badger key opens the north gate")
    assert "badger" not in await use(home, key, "recall", query="which key opens the north gate")
    assert await _recalled(home, "UADA", "which key opens the north gate") == ["The badger key opens the north gate"]
    assert await _recalled(home, "UBO", "which key opens the north gate") == []
    row = await _row(home, "SELECT author, name, audience, conversation FROM turns")
    assert row == (f"session.{key.split('-')[2]}", "Ada Lovelace's session", "dm:DUADA", _where(key))


async def test_a_key_without_remember_keeps_nothing_nor_does_one_whose_person_paused_it(home: HttpHome) -> None:
    said = await refused(home, await key_for(home, remember=False), "remember", text="The badger key")
    assert "soul sessions keys add --remember" in said
    assert await _row(home, "SELECT count(*) FROM turns") == (0,)
    key = await key_for(home)
    await _run(home, "INSERT INTO remembering (soul, workspace, person, paused_ms) VALUES ('minoan', 'T1', 'UADA', 1)")
    assert "paused" in await refused(home, key, "remember", text="The badger key")
    assert "Echo" in await use(home, key, "ask_soul", message="Mind the badger key")
    assert "badger" not in str(await _recalled(home, "UADA", "which badger key"))


async def test_who_is_forgotten_in_one_workspace_keeps_the_key_of_another(home: HttpHome) -> None:
    here, there, _, bo = [await key_for(home, person) for person in ("UADA", "UADA", "UADA", "UBO")]
    for key in (here, there, bo):
        await use(home, key, "remember", text="The badger key opens the north gate")
        await use(home, key, "ask_soul", message="I am the lighthouse")
    talk = _where(there)  # as if a daemon of another workspace had kept it
    await _run(home, f"UPDATE conversations SET workspace = 'T2' WHERE id = '{talk}'")
    await _run(home, f"UPDATE inbox SET workspace = 'T2' WHERE conversation = '{talk}'")
    database, now = home.database, home.clock.now_ms()
    await database.write(lambda unit: erase(unit, WORKSPACE, "UADA", Spared(), now, now))
    assert await _ids(home) == {_id(there), _id(bo)}, "one that no one used is of no other workspace"
    assert await _rows(home, "SELECT DISTINCT conversation FROM turns ORDER BY 1") == [
        (where,) for where in sorted((_where(there), _where(bo, "UBO")))
    ]
    await database.write(lambda unit: erase(unit, "T2", "UADA", Spared(), now, now))
    assert await _ids(home) == {_id(bo)}
    assert await _rows(home, "SELECT DISTINCT conversation FROM turns") == [(_where(bo, "UBO"),)]
    assert await _rows(home, "SELECT DISTINCT conversation FROM inbox WHERE body <> ''") == [(_where(bo, "UBO"),)]
    assert await _recalled(home, "UADA", "which key opens the north gate") == []


# Talk


async def test_the_soul_knows_the_workspace_and_this_session_and_nothing_of_its_owners_dm(home: HttpHome) -> None:
    key = await key_for(home)
    await said_in(home, "CPUB", EVERYBODY, "The heron nests in the public attic")
    await said_in(home, "DUADA", _dm("UADA"), "The heron nests in my secret cellar")
    assert await use(home, key, "ask_soul", message="I am the lighthouse") == "Echo: I am the lighthouse"
    await use(home, key, "ask_soul", message="Where does the heron nest?")
    prompt = str(home.model.prompts[-1])
    assert "public attic" in prompt
    assert "I am the lighthouse" in prompt
    assert "secret cellar" not in str(home.model.prompts)
    assert "secret cellar" in str(await _recalled(home, "UADA", "where does the heron nest"))
    audiences = await _rows(home, f"SELECT DISTINCT audience FROM turns WHERE conversation = '{_where(key)}'")
    assert audiences == [("dm:DUADA",)]
    assert await _recalled(home, "UADA", "who is the lighthouse") != []
    assert await _recalled(home, "UBO", "who is the lighthouse") == []


async def test_a_session_knows_its_owners_dm_where_they_chose_so_and_a_guests_knows_none(home: HttpHome) -> None:
    key, guest = await key_of(home, "UADA", direct=True), await key_of(home, "UGUEST", direct=True)
    rooms = {"DUADA": _dm("UADA"), "DUBO": _dm("UBO"), "DUGUEST": _dm("UGUEST"), "CPRIV": _channel("CPRIV")}
    for channel, audience in (rooms | {"CPUB": EVERYBODY}).items():
        await said_in(home, channel, audience, f"The heron nests in the cellar of {channel}")
    recalled = await use(home, key, "recall", query="in which cellar does the heron nest", limit=20)
    await use(home, key, "ask_soul", message="In which cellar does the heron nest?")
    for known in (recalled, str(home.model.prompts)):
        assert "cellar of DUADA" in known
        for private in ("DUBO", "DUGUEST", "CPRIV"):
            assert f"cellar of {private}" not in known
    for of_a_guest in (guest, await key_for(home, "UGUEST")):
        assert "heron" not in await use(
            home, of_a_guest, "recall", query="in which cellar does the heron nest", limit=20
        )


async def test_what_is_said_without_a_person_is_kept_for_the_admin(home: HttpHome) -> None:
    await use(home, TOKEN, "ask_soul", message="I am the lighthouse")
    await use(home, await key_for(home, ""), "ask_soul", message="I am the tower")
    assert await _rows(home, "SELECT DISTINCT audience FROM turns") == [("operator:",)]


async def test_a_session_hears_nothing_of_another_and_the_same_id_brings_the_same_reply(home: HttpHome) -> None:
    one, two = await key_for(home), await key_for(home)
    await use(home, one, "ask_soul", message="The badger key opens the north gate")
    await use(home, two, "ask_soul", message="Which key opens the north gate?")
    assert "badger" not in str(home.model.prompts[-1])
    first = await use(home, one, "ask_soul", message="hello", id="a")
    calls = len(home.model.prompts)
    assert await use(home, one, "ask_soul", message="hello", id="a") == first
    assert len(home.model.prompts) == calls
    assert "id of its own" in await refused(home, one, "ask_soul", message="goodbye", id="a")


async def test_what_a_key_asks_and_has_kept_keeps_to_its_budget_and_costs_nothing_then(empty: HttpHome) -> None:
    await empty.start(session_hourly=2)
    key, other = await key_for(empty), await key_for(empty, "UBO")
    async with connected(empty, key) as client, asyncio.timeout(TIMEOUT):
        results = await asyncio.gather(*(client.call_tool("ask_soul", {"message": f"hello {n}"}) for n in range(5)))
    assert sorted(one.is_error for one in results) == [False, False, True, True, True]
    assert all("2 times within an hour" in said(one) for one in results if one.is_error)
    assert len(await _rows(empty, "SELECT id FROM inbox")) == 2
    assert "Echo" in await use(empty, other, "ask_soul", message="hello")
    empty.clock.turn(3_601)
    assert "Echo" in await use(empty, key, "ask_soul", message="hello again")
    key, other = await key_for(empty), await key_for(empty, "UBO")
    await use(empty, key, "ask_soul", message="hello")
    async with connected(empty, key) as client, asyncio.timeout(TIMEOUT):
        results = await asyncio.gather(*(client.call_tool("remember", {"text": f"The badger {n}"}) for n in range(5)))
    assert sorted(one.is_error for one in results) == [False, True, True, True, True]
    assert all("2 times within an hour" in said(one) for one in results if one.is_error)
    assert len(await _rows(empty, "SELECT seq FROM turns WHERE body LIKE 'The badger%'")) == 1
    assert "2 times within an hour" in await refused(empty, key, "ask_soul", message="hello again")
    assert "kept" in await use(empty, other, "remember", text="The badger key")
    empty.clock.turn(3_601)
    assert "kept" in await use(empty, key, "remember", text="The badger key")


async def test_one_key_takes_few_places_of_those_who_wait(home: HttpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_talk, "_MOST_CALLS_WAITING", 1)
    key, other = await key_for(home), await key_for(home, "UBO")
    home.model.flows.append(flow := Flow())
    async with connected(home, key) as client, asyncio.timeout(TIMEOUT):
        waiting = asyncio.ensure_future(client.call_tool("ask_soul", {"message": "hello"}))
        await flow.asked.wait()
        assert "wait for their replies" in await refused(home, key, "ask_soul", message="hello again")
        assert "Echo" in await use(home, other, "ask_soul", message="hello")
        flow.end("a reply")
        assert not (await waiting).is_error
    assert "Echo" in await use(home, key, "ask_soul", message="hello again")


async def test_the_gate_is_asked_again_before_a_reply_and_an_outsider_is_known_as_one(home: HttpHome) -> None:
    ada, guest = await key_for(home), await key_for(home, "UGUEST")
    asked, by_guest = _perceived(ada), _perceived(guest)
    channel = home.now.channel
    assert (await channel.admit(asked)).admitted
    assert (await channel.readers(asked)) == Readers(_dm("UADA"), members_only=True, apart=True)
    assert (await channel.admit(by_guest)).outsider
    assert (await channel.readers(by_guest)).may_know(WORKSPACE) == ()
    home.now.gate_down = True
    assert (await channel.readers(asked)).may_know(WORKSPACE) == ()
    home.now.gate_down = False
    await revoke(home, ada)
    assert not (await channel.admit(asked)).admitted


async def test_another_persons_session_is_not_there(home: HttpHome) -> None:
    ada, bo = await key_for(home), await key_for(home, "UBO")
    await Machine(home, ada, "s-ada").start()
    for name in ("s-ada", "ada-api"):
        for key in (bo, TOKEN):
            assert "no such session of yours" in await refused(home, key, "ask_soul", message="hello", session=name)
            assert "no such session of yours" in await refused(home, bo, "remember", text="hello", session=name)
        assert "Echo" in await use(home, ada, "ask_soul", message=f"hello {name}", session=name)
    assert await _rows(home, "SELECT DISTINCT conversation FROM turns") == [("minoan/T1/session/UADA:s-ada",)]


async def test_no_session_comes_into_the_talk_of_another_by_the_id_that_it_chooses(home: HttpHome) -> None:
    ada, guest = await key_for(home), await key_for(home, "UGUEST")
    await use(home, TOKEN, "ask_soul", message="the payroll word is CANARY-4711")
    await use(home, ada, "ask_soul", message="the vault word is CANARY-4712")
    for name in ("admin", ada.split("-")[2], f"key-{ada.split('-')[2]}"):
        await Machine(home, guest, name).start()
        await use(home, guest, "ask_soul", message=f"what did we say, {name}?", session=name)
        assert "CANARY" not in str(home.model.prompts[-1])
    rows = await _rows(home, "SELECT DISTINCT conversation FROM turns WHERE author LIKE 'session.%'")
    assert len(rows) == 2 + 3


async def test_a_session_decides_nothing_about_what_is_kept_of_people(home: HttpHome) -> None:
    ada = await key_for(home)
    for key in (ada, TOKEN):
        for words in ("forget me", "yes, forget me", "pause remembering", "what do you know about me"):
            assert "direct message" in await use(home, key, "ask_soul", message=words)
        for words in ("my keys", "end key 1", "end my keys"):
            assert "Only people ask for their keys" in await use(home, key, "ask_soul", message=words)
    assert await _rows(home, "SELECT count(*) FROM keys WHERE revoked_ms IS NOT NULL") == [(0,)]
    assert await _rows(home, "SELECT count(*) FROM tombstones") == [(0,)]
    assert await _rows(home, "SELECT count(*) FROM remembering WHERE paused_ms IS NOT NULL") == [(0,)]


async def test_the_sessions_are_ones_own_and_what_others_work_on_is_what_they_show(home: HttpHome) -> None:
    ada, bo, guest = await key_for(home), await key_for(home, "UBO"), await key_for(home, "UGUEST")
    await Machine(home, ada, "s-ada").start(session_title="A secret rename")
    await Machine(home, bo, "s-bo").start()
    assert [one["name"] for one in json.loads(await use(home, bo, "sessions"))] == ["bo-api"]
    seen = await use(home, bo, "working_on")
    assert {one["name"] for one in json.loads(seen)} == {"ada-api", "bo-api"}
    assert "secret" not in seen
    assert [one["project"] for one in json.loads(await use(home, bo, "working_on", who="Ada"))] == ["api"]
    assert json.loads(await use(home, guest, "working_on")) == []
    assert "no living session" in await refused(home, guest, "working_on", who="Ada")


# Shared contexts


async def test_a_context_is_written_from_the_version_that_was_seen_by_who_may_read_and_write_it(home: HttpHome) -> None:
    key = await key_for(home)
    written = json.loads(await use(home, key, "context_set", key="launch", version=0, data={"phase": "testing"}))
    assert (written["version"], written["author"]) == (1, "UADA")
    late = await refused(home, key, "context_set", key="launch", version=0, data={"phase": "late"})
    assert "its version is 1" in late
    assert "testing" in late
    assert json.loads(await use(home, key, "context_get", key="launch"))["data"] == {"phase": "testing"}
    assert [one["key"] for one in json.loads(await use(home, key, "context_list"))] == ["launch"]
    contexts = home.built.contexts.store
    await contexts.define("launch", writers=["minoan"])
    assert "may not write launch" in await refused(home, key, "context_set", key="launch", version=1, data={})
    await contexts.define("mine", audience=_dm("UADA"))
    await contexts.write("mine", {"canary": "between us"}, None, ADMIN)
    for owner in (key, TOKEN, await key_for(home, "UGUEST")):
        said = await refused(home, owner, "context_get", key="mine")
        assert "between us" not in said + await refused(
            home, owner, "context_set", key="mine", version=1, data={"a": 1}
        )
    assert (await contexts.get("mine")).version == 1
    guest = await key_for(home, "UGUEST")
    assert "no context" in await refused(home, guest, "context_set", key="open", version=0, data={"a": 1})


# Bad input


async def test_bad_arguments_get_a_sentence_and_change_nothing(home: HttpHome) -> None:
    headers = bearer(await key_for(home)) | HEADERS
    for name, given, says in (
        ("context_set", '{"key": "a", "version": 0, "data": {"b": NaN}}', "b is nan"),
        ("context_set", '{"key": "a", "version": NaN, "data": {}}', "version:"),
        ("context_set", '{"key": "a", "version": -1, "data": {}}', "version:"),
        ("context_set", '{"key": "a", "data": {}}', "version:"),
        ("context_set", '{"key": "../etc", "version": 0, "data": {}}', "no key of a shared context"),
        ("context_get", '{"key": "a\\u0000"}', "no key of a shared context"),
        ("recall", '{"query": "' + "x" * 2_000 + '"}', "query:"),
        ("recall", '{"query": "a", "limit": 1e9}', "limit:"),
        ("recall", '{"query": "\\u0000"}', "query:"),
        ("ask_soul", '{"message": "' + "x" * 9_000 + '"}', "message:"),
        ("ask_soul", '{"message": "hello", "id": "../x"}', "id:"),
        ("remember", '{"text": ""}', "text:"),
        ("remember", '{"text": "a", "audience": "workspace"}', "audience:"),
        ("bind", "{}", "There is no tool 'bind'"),
    ):
        params = f'{{"name": "{name}", "arguments": {given}}}'
        body = f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'
        text, wrong = given_back(await home.ask("POST", "/mcp", headers=headers, data=body.encode()))
        assert (wrong, says in text, "What to do:" in text) == (True, True, True), (name, given[:60], text)
        assert len(text) < 1_000
    for table in ("turns", "inbox", "shared_context"):
        assert await _row(home, f"SELECT count(*) FROM {table}") == (0,)


def _dm(person: str) -> Audience:
    return Audience(AudienceKind.DM, f"D{person}")


def _channel(id_: str) -> Audience:
    return Audience(AudienceKind.CHANNEL, id_)


def _where(key: str, person: str = "UADA") -> str:
    return f"minoan/{WORKSPACE}/session/{person}:key-{key.split('-')[2]}"


async def _recalled(home: HttpHome, person: str, query: str) -> list[str]:
    """What a person's words find in their DM with the soul."""
    readers = Readers(_dm(person), members_only=True)
    where = ConversationKey("minoan", WORKSPACE, f"D{person}")
    return [one.text for one in await home.built.surfacing.search(where, readers, query, 9)]


def _perceived(key: str) -> Perception:
    """What a session said."""
    said = perception(source=f"session.{_id(key)}", place=Place.TERMINAL)
    return replace(said, conversation=ConversationKey.parse(_where(key)), audience=_dm("UADA"))


async def _rows(home: HttpHome, statement: str) -> list[tuple[object, ...]]:
    found = await home.database.read(lambda transaction: transaction.rows(statement))
    return [tuple(row) for row in found]


def _id(key: str) -> str:
    return key.split("-")[2]


async def _ids(home: HttpHome) -> set[object]:
    return {row[0] for row in await _rows(home, "SELECT id FROM keys")}


async def _row(home: HttpHome, statement: str) -> tuple[object, ...]:
    return (await _rows(home, statement))[0]


async def _run(home: HttpHome, statement: str) -> None:
    await home.database.write(lambda transaction: transaction.run(statement))


async def test_a_session_to_which_no_thread_is_bound_says_nothing_in_any(home: HttpHome) -> None:
    ada, bo = await key_for(home), await key_for(home, "UBO")
    await Machine(home, ada, "s-ada").start()
    assert "No thread is bound" in await refused(home, ada, "say_in_thread", session="ada-api", text="hello")
    assert "no such session of yours" in await refused(home, bo, "say_in_thread", session="ada-api", text="hello")
    for wrong in ("", "x" * 4_001, "a\x00b"):
        assert "nothing was done" in await refused(home, ada, "say_in_thread", session="ada-api", text=wrong)
    assert await _rows(home, "SELECT count(*) FROM shared_messages") == [(0,)]
