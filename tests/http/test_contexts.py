"""Shared contexts over HTTP: no change is lost, none is written that was not seen, and a watcher leaves nothing."""

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import aiohttp
import pytest

from daemon.channels.http import contexts
from daemon.core.contexts import ADMIN
from daemon.core.perception import Audience, AudienceKind
from daemon.shared import session_context as door
from daemon.shared.contexts import SharedContexts
from tests.fakes import TIMEOUT
from tests.http.daemons import Got, HttpHome, Stream, bearer
from tests.http.machines import key_of, revoke

LAUNCH = "/api/shared-context/launch"
FIELDS = {"key", "version", "data", "audience", "writers", "author", "updated_ms"}


async def put(home: HttpHome, data: object, version: str, path: str = LAUNCH) -> Got:
    return await home.ask("PUT", path, headers=bearer() | {"If-Match": version}, json=data)


def shared(home: HttpHome) -> SharedContexts:
    """The contexts as the daemon itself sees them."""
    return home.built.contexts


def watched(home: HttpHome, path: str = f"{LAUNCH}/events") -> Any:  # noqa: ANN401  # aiohttp's own context manager
    return home.client.get(home.url(path), headers=bearer())


def watchers() -> int:
    """How many tasks wait for a change on behalf of a client."""
    return sum("ContextPages" in getattr(one.get_coro(), "__qualname__", "") for one in asyncio.all_tasks())


async def test_what_is_put_is_read_listed_and_known_to_the_admin(home: HttpHome) -> None:
    got = await home.get(LAUNCH)  # never written
    assert (got.status, got.headers["Etag"]) == (200, '"0"')
    assert got.json.keys() == FIELDS
    assert (got.json["version"], got.json["data"], got.json["author"]) == (0, {}, "")
    got = await put(home, {"phase": "testing", "left": 2}, '"0"')
    assert (got.status, got.headers["Etag"], got.json["version"], got.json["author"]) == (200, '"1"', 1, "operator")
    assert (await home.get(LAUNCH)).json == got.json
    assert (await home.get("/api/shared-context")).json == [got.json]
    assert (await shared(home).store.get("launch")).data == {"phase": "testing", "left": 2}


async def test_a_write_needs_the_version_that_it_was_made_from(home: HttpHome) -> None:
    missing = await home.ask("PUT", LAUNCH, headers=bearer(), json={"a": 1})
    assert (missing.status, missing.code) == (428, "no_version")
    assert (await put(home, {"a": 1}, '"0"')).status == 200
    late = await put(home, {"a": 2}, '"0"')
    assert (late.status, late.headers["Etag"]) == (412, '"1"')
    assert late.json.keys() == FIELDS | {"error"}
    assert (late.json["version"], late.json["data"], late.json["error"]["code"]) == (1, {"a": 1}, "changed")
    assert (await put(home, {"a": 3}, '"7", "1"')).json["version"] == 2
    assert (await put(home, {"a": 4}, "*")).json["version"] == 3
    assert (await put(home, {"a": 5}, 'W/"3"')).status == 412, "a weak tag matches nothing (RFC 9110)"
    assert (await put(home, {"a": 5}, "3")).status == 422


async def test_what_is_not_for_the_whole_workspace_is_not_there_and_no_page_may_watch(home: HttpHome) -> None:
    await shared(home).store.define("mine", audience=Audience(AudienceKind.DM, "D1"))
    await shared(home).store.write("mine", {"canary": "between us"}, None, ADMIN)
    for method, path in (("GET", "mine"), ("PUT", "mine"), ("GET", "mine/events")):
        headers = bearer() | {"If-Match": "*"}
        got = await home.ask(method, f"/api/shared-context/{path}", headers=headers, json={"a": 1})
        assert (got.status, got.code) == (404, "unknown_context")
        assert b"between us" not in got.body
    assert (await home.get("/api/shared-context")).json == []
    assert (await shared(home).store.get("mine")).version == 1
    for wrong, status in (({"Origin": "https://example.org"}, 403), ({"Host": "example.org"}, 421)):
        assert (await home.get(f"{LAUNCH}/events", **wrong)).status == status
    with pytest.raises(aiohttp.ClientResponseError):
        async with home.client.get(home.url(LAUNCH)) as response:
            response.raise_for_status()


async def test_data_that_can_not_be_stored_changes_nothing_and_says_why(home: HttpHome) -> None:
    headers = bearer() | {"If-Match": "*", "Content-Type": "application/json"}
    for body, status, said in (
        (b'{"a": NaN}', 422, "a is nan"),
        (b'{"a": {"b": 1e999}}', 422, "a/b is inf"),
        (b"[1]", 422, "body"),
        (json.dumps({"a": "x" * 17_000}).encode(), 422, "16384 are the most"),
        (b'{"a":' * 40 + b"1" + b"}" * 40, 422, "nested more than"),
    ):
        got = await home.ask("PUT", LAUNCH, headers=headers, data=body)
        assert (got.status, said in got.json["error"]["message"]) == (status, True), got.body
    port = int(home.now.channel.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"PUT {LAUNCH} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {bearer()['Authorization']}\r\n"
    head += 'If-Match: *\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a": 1}'
    writer.write(head.encode())  # half a body
    writer.write_eof()
    await reader.read()
    writer.close()
    assert (await home.get(LAUNCH)).json["version"] == 0
    assert not home.events.named("http.crashed")


async def test_a_watcher_sees_the_context_now_and_each_change(home: HttpHome) -> None:
    async with watched(home) as response:
        stream = Stream(response)
        assert (await stream.next()).data["version"] == 0
        await put(home, {"phase": "testing"}, "*")
        said = await stream.next()
        await shared(home).store.write("launch", {"phase": "done"}, None, ADMIN)  # rings nothing
        later = await home.turning(stream.next())
    assert said.name == "soul:context:changed"
    assert said.data.keys() == {"key", "version", "data", "author", "at_ms"}
    assert (said.data["version"], said.data["data"], said.data["author"]) == (1, {"phase": "testing"}, "operator")
    assert later.data["data"] == {"phase": "done"}


async def test_an_idle_watcher_gets_keep_alives_and_leaves_no_task_whoever_ends_the_stream(home: HttpHome) -> None:
    assert watchers() == 0
    async with watched(home) as response:
        stream = Stream(response)
        await stream.next()
        assert watchers() == 1
        await home.turning(stream.comment())
        response.close()
    await home.turning(home.events.until("http.reader_left", context="launch"))
    async with asyncio.timeout(TIMEOUT):
        while watchers():  # noqa: ASYNC110  # the handler's own end has no event
            await asyncio.sleep(0)
    async with watched(home) as response:
        stream = Stream(response)
        await stream.next()
        await home.now.stop()
        async with asyncio.timeout(TIMEOUT):
            assert (await response.content.read()).strip() == b"", "no more than the end of the event that was read"
    assert watchers() == 0


async def test_one_key_takes_few_places_and_too_many_are_put_off(
    home: HttpHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contexts, "_MOST_OF_A_KEY", 1)
    monkeypatch.setattr(contexts, "_MOST_WATCHERS", 4)
    keys = [await key_of(home), await key_of(home, "UBO")]
    events = f"{LAUNCH}/events"
    async with AsyncExitStack() as stack:
        for who in (bearer(keys[0]), bearer(keys[1]), bearer()):
            opened = home.client.get(home.url(events), headers=who)
            await Stream(await stack.enter_async_context(opened)).next()
        got = await home.ask("GET", events, headers=bearer(keys[0]))
        assert (got.status, got.code) == (429, "too_many")
        assert "end one of them" in got.json["error"]["hint"]
        await Stream(await stack.enter_async_context(watched(home))).next()
        got = await home.get(events)
        assert (got.status, got.code) == (503, "busy")


async def test_one_key_begins_so_many_contexts_and_no_more(home: HttpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MOST_BY_KEY", 2)
    ada, bo = await key_of(home), await key_of(home, "UBO")

    async def write(key: str, name: str, n: int = 1) -> Got:
        headers = bearer(key) | {"If-Match": "*"}
        return await home.ask("PUT", f"/api/shared-context/{name}", headers=headers, json={"n": n})

    assert [(await write(ada, name)).status for name in ("a", "b", "c")] == [200, 200, 422]
    assert "begins no other" in (await write(ada, "c")).json["error"]["message"]
    assert (await write(ada, "a", 2)).status == 200, "what there is goes on"
    assert (await write(bo, "c")).status == 200
    assert (await put(home, {"n": 1}, "*", "/api/shared-context/d")).status == 200


# -- who is present ---------------------------------------------------------------------------------------------------


async def be(home: HttpHome, member: str, state: object, key: str = "launch") -> Got:
    path = f"/api/shared-context/{key}/presence/{member}"
    return await home.ask("PUT", path, headers=bearer(), json=state)


async def present(home: HttpHome, key: str = "launch") -> list[tuple[str, object]]:
    """The members and their states as programs see them."""
    found = (await home.get(f"/api/shared-context/{key}/presence")).json
    assert all(one.keys() == {"member", "process", "state", "seen_ms"} for one in found)
    return [(one["member"], one["state"]) for one in found]


async def test_a_program_is_present_for_fifteen_seconds_or_until_it_leaves_in_no_other_name(home: HttpHome) -> None:
    home.clock.stand_still()
    got = await be(home, "page", {"cursor": 1})
    assert (got.status, got.json["member"], got.json["process"]) == (200, "page", "http")
    home.clock.turn(14)
    await be(home, "page", {"cursor": 2})
    home.clock.turn(14)
    assert await present(home) == [("page", {"cursor": 2})]
    home.clock.turn(1)
    assert await present(home) == []
    await be(home, "page", {"cursor": 3})
    gone = await home.ask("DELETE", "/api/shared-context/launch/presence/page", headers=bearer())
    assert (gone.status, gone.body) == (204, b"")
    assert await present(home) == []
    wrong: tuple[tuple[str, str, object, str], ...] = (
        ("launch", "..%2Fx", {}, "no name of a member"),
        ("launch", "a%00", {}, "no name of a member"),
        ("Launch", "page", {}, "no key"),
        ("launch", "page", {"a": "x" * 4_100}, "4096 are the most"),
        ("launch", "page", [1], "body"),
        ("souls", "ada", {"doing": "nothing"}, "kept by the daemons alone"),
    )
    for key, member, state, said in wrong:
        got = await be(home, member, state, key)
        assert (got.status, said in got.json["error"]["message"]) == (422, True), (member, got.body)
        assert ("page", {}) not in await present(home)
    lobby = shared(home).awareness("launch")
    await lobby.set_local_state({"status": "here"})
    taken = await be(home, "operator", {"status": "mine"})
    assert (taken.status, taken.code) == (409, "taken")
    await home.ask("DELETE", "/api/shared-context/launch/presence/operator", headers=bearer())
    assert await present(home) == [("operator", {"status": "here"})]


# Keys of people's sessions


async def by(  # noqa: PLR0917 - one of each
    home: HttpHome, key: str, method: str, path: str = LAUNCH, data: object = None, version: str = "*"
) -> Got:
    """A request with a key."""
    return await home.ask(method, path, headers=bearer(key) | {"If-Match": version}, json=data)


async def test_a_key_reads_writes_and_is_present_in_its_persons_name_where_the_writers_let_it(home: HttpHome) -> None:
    ada, store = await key_of(home), shared(home).store
    got = await by(home, ada, "PUT", data={"phase": "testing"}, version='"0"')
    assert (got.status, got.json["author"], got.json["version"]) == (200, "UADA", 1)
    assert (await by(home, ada, "GET")).json == got.json
    assert (await by(home, ada, "GET", "/api/shared-context")).json == [got.json]
    await store.define("launch", writers=["minoan"])
    got = await by(home, ada, "PUT", data={"phase": "done"})
    assert (got.status, got.json["error"]["message"]) == (422, "UADA may not write launch.")
    await store.define("launch", writers=["minoan", "UADA"])
    assert (await by(home, ada, "PUT", data={"phase": "done"})).status == 200
    assert (await by(home, await key_of(home, ""), "PUT", data={"phase": "over"})).json["author"] == "operator"
    state = {"where": "desk"}
    assert (await by(home, ada, "PUT", f"{LAUNCH}/presence/UADA:laptop", state)).status == 200
    for method in ("PUT", "DELETE"):
        for name in ("release-bot", "UBO", "UADAX", "UADA.x"):
            got = await by(home, ada, method, f"{LAUNCH}/presence/{name}", state)
            assert (got.status, "UADA:laptop" in got.json["error"]["hint"]) == (422, True)
    assert [one["member"] for one in (await by(home, ada, "GET", f"{LAUNCH}/presence")).json] == ["UADA:laptop"]


async def test_a_key_knows_no_context_of_a_dm_not_even_its_owners_and_a_guests_none(home: HttpHome) -> None:
    ada, guest = await key_of(home), await key_of(home, "UGUEST")
    await put(home, {"canary": "open"}, "*")
    await shared(home).store.define("mine", audience=Audience(AudienceKind.DM, "DUADA"))
    await shared(home).store.write("mine", {"canary": "between us"}, None, ADMIN)
    for key, hidden in ((ada, "mine"), (guest, "mine"), (guest, "launch")):
        for method, path in (
            ("GET", ""),
            ("PUT", ""),
            ("GET", "/events"),
            ("GET", "/presence"),
            ("PUT", "/presence/me"),
        ):
            got = await by(home, key, method, f"/api/shared-context/{hidden}{path}", {"a": 1})
            assert (got.status, got.code) == (404, "unknown_context")
            assert b"canary" not in got.body
    assert (await by(home, guest, "GET", "/api/shared-context")).json == []
    assert (await shared(home).store.get("launch")).version == 1


async def test_a_key_that_is_revoked_ends_what_it_watches(home: HttpHome) -> None:
    ada = await key_of(home)
    await put(home, {"a": 1}, "*")
    async with home.client.get(home.url(f"{LAUNCH}/events"), headers=bearer(ada)) as response:
        stream = Stream(response)
        assert (await stream.next()).data["version"] == 1
        await revoke(home, ada)
        await put(home, {"a": 2}, "*")

        async def ended() -> bytes:
            return await response.content.read()

        assert b"soul:stream" not in await home.turning(ended())
    assert watchers() == 0
