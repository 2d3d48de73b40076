"""The routes by which machines get keys: what they refuse, and how much of it they take."""

import asyncio
import json
import os
import socket
from itertools import count
from typing import Any

import pytest

from daemon.channels.http import pairing
from daemon.channels.http.pairing import asker_at
from daemon.core.pairing import LIVES_MS, MOST_A_MINUTE, MOST_OF_ONE, MOST_OPEN, TRIES
from tests.http.daemons import Got, HttpHome, bearer
from tests.store.parts import look

SECRET = "x" * 43


async def begin(home: HttpHome, machine: object = "ada-laptop", **how: Any) -> Got:  # noqa: ANN401  # any option of aiohttp
    return await home.ask("POST", "/api/pair", **({"json": {"machine": machine}} | how))


async def fetch(home: HttpHome, code: str, secret: str = SECRET, query: str = "") -> Got:
    return await home.ask("GET", f"/api/pair/{code}{query}", headers=bearer(secret))


def rows(home: HttpHome, sql: str) -> list[tuple[object, ...]]:
    """The rows that another program sees."""
    return look(home.home / "memory.db", sql)


BODIES = [
    (b'{"machine": NaN}', 422),
    (b"{}", 422),
    (b'{"machine": ""}', 422),
    (b'{"machine": {"$ne": ""}}', 422),
    (json.dumps({"machine": "x" * 81}).encode(), 422),
    (b'{"machine": "a", "code": "BBBB-BBBB"}', 422),
]


async def test_a_body_that_is_none_gets_a_sentence_and_no_code(home: HttpHome) -> None:
    for body, status in BODIES:
        got = await begin(home, data=body, headers={"Content-Type": "application/json"}, json=None)
        assert (got.status, set(got.json)) == (status, {"error"}), body[:40]
        assert got.json["error"]["message"]
    assert rows(home, "SELECT * FROM pairings") == []


CODES = [
    *("BBBB-BBBB", "bbbb-bbbb", "AAAA-AAAA", "..%2F..%2Fetc", "%00", "BBBB-BBBB%00", "x" * 5000, "ЖЖЖЖ-ЖЖЖЖ", "[" * 900)
]


async def test_a_code_is_over_after_ten_minutes_or_five_wrong_secrets(home: HttpHome) -> None:
    for code in CODES:
        got = await fetch(home, code)
        assert (got.status, got.code) in {(404, "unknown_code"), (404, "unknown")}, code
    code = (await begin(home)).json["code"]
    for headers in ({}, {"Authorization": "Bearer"}, {"Authorization": "Basic YTpi"}, bearer("é\udc80"), bearer()):
        got = await home.ask("GET", f"/api/pair/{code}", headers=headers)
        assert (got.status, got.code) == (404, "unknown_code"), headers
    begun = (await begin(home)).json
    for _ in range(TRIES - 1):
        assert (await fetch(home, begun["code"])).status == 404
    assert (await fetch(home, begun["code"], begun["secret"])).status == 202
    assert (await fetch(home, begun["code"])).status == 404
    got = await fetch(home, begun["code"], begun["secret"])
    assert (got.status, got.code) == (410, "code_over")
    begun = (await begin(home)).json
    for query in ("?wait=26", "?wait=-1", "?wait=1&wait=2", "?wait=", "?wait=NaN", "?wait=1e1"):
        assert (await fetch(home, begun["code"], begun["secret"], query)).status == 422, query
    assert 0 <= home.clock.now_ms() + LIVES_MS - begun["until_ms"] < LIVES_MS
    home.clock.turn(LIVES_MS / 1000)
    assert (await fetch(home, begun["code"], begun["secret"])).status == 404


@pytest.fixture
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request comes from another account."""
    number = count()
    monkeypatch.setattr(pairing, "asker_at", lambda *_: f"account {next(number)}")


async def test_one_account_takes_a_part_of_the_codes_alone(home: HttpHome, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):
        got = [(await begin(home)).status for _ in range(MOST_A_MINUTE)]
        assert got == [200] * (MOST_A_MINUTE // MOST_OF_ONE) + [429] * (MOST_A_MINUTE - MOST_A_MINUTE // MOST_OF_ONE)
        home.clock.turn(61)
    assert (await begin(home)).status == 429, "a third of those that may be open"
    monkeypatch.setattr(pairing, "asker_at", lambda *_: "another account")
    assert (await begin(home)).status == 200
    monkeypatch.undo()
    home.clock.turn(LIVES_MS / 1000)
    assert (await begin(home)).status == 200


@pytest.mark.parametrize("target", ["127.0.0.1", "::ffff:127.0.0.1", "::1"])
def test_an_asker_on_this_machine_is_its_account(target: str) -> None:
    family = socket.AF_INET6 if target == "::1" else socket.AF_INET
    with socket.socket(family) as listening:
        try:
            listening.bind((target.removeprefix("::ffff:"), 0))
        except OSError:
            pytest.skip("this machine has no IPv6")
        listening.listen()
        port = listening.getsockname()[1]
        with socket.create_connection((target, port)) as client, listening.accept()[0] as accepted:
            there, here = accepted.getpeername(), accepted.getsockname()
            assert asker_at(there, here) == f"account {os.getuid()}"
            client.close()
            assert asker_at(there, here) == there[0], "nobody knows whose it was"
    assert asker_at(("192.0.2.7", 4711), ("192.0.2.1", 8766)) == "192.0.2.7"
    assert asker_at(None, None) == ""


@pytest.mark.usefixtures("others")
async def test_so_many_codes_are_given_out_and_no_more_until_later(home: HttpHome) -> None:
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(begin(home, f"m{number}")) for number in range(MOST_A_MINUTE + 5)]
    assert sorted(one.result().status for one in asked) == [200] * MOST_A_MINUTE + [429] * 5
    refused = next(one.result() for one in asked if one.result().status == 429)
    assert (refused.code, refused.json["error"]["hint"]) == ("too_many_codes", "try again in a minute")
    home.clock.turn(61)
    for number in range(MOST_OPEN - MOST_A_MINUTE):
        assert (await begin(home, f"n{number}")).status == 200
    home.clock.turn(61)
    assert (await begin(home)).status == 429, "so many are open"
    home.clock.turn(LIVES_MS / 1000)
    assert (await begin(home)).status == 200
    home.clock.turn(7 * LIVES_MS / 1000)
    assert (await begin(home)).status == 200
    assert len(rows(home, "SELECT * FROM pairings")) == 1, "old ones go"


async def test_a_program_pairs_nothing_and_nothing_of_code_and_secret_is_kept_or_logged(home: HttpHome) -> None:
    begun = (await begin(home)).json
    await fetch(home, begun["code"], begun["secret"])
    (row,) = rows(home, "SELECT * FROM pairings")
    said = json.dumps(home.events.emitted, default=str) + repr(row)
    assert begun["code"] not in said
    assert begun["code"][:4] not in repr(row)
    assert begun["secret"] not in said
    answer = await home.say(f"pair {begun['code']}")
    assert answer.data["text"].startswith("Only people pair a machine")
    assert (await fetch(home, begun["code"], begun["secret"])).status == 202
