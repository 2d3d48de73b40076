"""Sessions of Claude Code at the door: who may come, what their hooks change, and what they read."""

import asyncio
from typing import Any

import pytest

from daemon.core.contexts import OPERATOR, Writer
from daemon.core.perception import Audience, AudienceKind
from daemon.core.sessions import CodeSession, Visibility
from daemon.memory.database import Transaction
from daemon.memory.database.sqlite import sqlite3
from daemon.memory.people.erasure import Spared, erase
from daemon.memory.shared import sessions as stored_sessions
from daemon.memory.shared.store import ContextStore
from daemon.shared.asking import LEASE_MS
from tests.http.daemons import WORKSPACE, HttpHome, bearer
from tests.http.machines import Machine, key_of, revoke


@pytest.fixture
async def ada(home: HttpHome) -> Machine:
    return Machine(home, await key_of(home), "s-ada")


# Keys


async def test_a_key_opens_the_routes_of_sessions_alone_until_it_is_revoked(home: HttpHome, ada: Machine) -> None:
    other = ada.key[:-1] + ("a" if ada.key[-1] != "a" else "b")
    for wrong in ("", "sk-soul-", "sk-soul-00000000-" + "a" * 43, "\u00fc", "x" * 9_000, other):
        headers = {"Authorization": f"Bearer {wrong}".encode("utf-8", "replace").decode("latin-1")}
        got = await home.ask("GET", "/api/sessions", headers=headers)
        assert got.status in {400, 401}, wrong
        assert "keys add" in got.json["error"]["hint"] or got.status == 400
    assert (await ada.send("SessionStart")).status == 200
    assert (await home.ask("GET", "/api/sessions", headers=bearer(ada.key))).status == 200
    for path in ("/metrics", "/api/soul/personality", "/api/soul/chat/s/m"):
        assert (await home.ask("GET", path, headers=bearer(ada.key))).status == 401
    body = {"message": "hello"}
    assert (await home.ask("POST", "/api/soul/chat", headers=bearer(ada.key), json=body)).status == 401
    await ada.start()
    await ada.send("Stop")
    await revoke(home, ada.key)
    assert (await ada.send("Stop")).status == 401
    secret = ada.key.split("-", 3)[3]
    assert secret not in str([home.events.named(name) for name in home.events.names])
    for file in home.home.glob("memory.db*"):
        assert secret.encode() not in file.read_bytes()


async def test_a_key_dies_with_its_persons_admission_and_not_while_slack_is_away(home: HttpHome, ada: Machine) -> None:
    home.clock.stand_still()
    await ada.start()
    home.now.gate_down = True
    assert (await ada.send("Stop")).status == 503
    home.now.gate_down = False
    del home.now.people["UADA"]
    for _ in range(3):
        assert (await ada.send("Stop")).status == 401
    home.clock.turn(61)
    assert (await ada.send("Stop")).status == 401
    refused = home.events.named("sessions.key_refused")
    assert [one["times"] for one in refused] == [1, 3]
    assert ada.key not in str(refused)


async def test_another_persons_session_is_not_there_and_not_ended(home: HttpHome, ada: Machine) -> None:
    bo = Machine(home, await key_of(home, "UBO"), "s-bo")
    own = Machine(home, await key_of(home, ""), "s-admin")
    for one in (ada, bo, own):
        await one.start()
    seen = [(await home.ask("GET", "/api/sessions", headers=bearer(one.key))).json for one in (ada, bo, own)]
    assert [[row["name"] for row in rows] for rows in seen] == [["ada-api"], ["bo-api"], ["admin-api"]]
    assert {row["name"] for row in (await home.get("/api/sessions")).json} == {"ada-api", "bo-api", "admin-api"}
    thief = Machine(home, await key_of(home, "UBO"), "s-ada")
    got = await thief.send("SessionEnd", reason="other")
    assert (got.status, got.code) == (404, "unknown_session")
    assert await ada.state() == ("idle", None)
    await Machine(home, await key_of(home, "UBO"), "s-more").start()
    assert await ada.state() == ("idle", None)


# States


async def test_a_session_goes_from_start_to_end(home: HttpHome, ada: Machine) -> None:
    await ada.start(model="opus", permission_mode="default", session_title="A rename")
    row = await ada.row()
    assert {name: row[name] for name in ("name", "person", "project", "branch", "source", "reach", "waiting")} == {
        "name": "ada-api",
        "person": "UADA",
        "project": "api",
        "branch": "main",
        "source": "startup",
        "reach": "turn_end",
        "waiting": 0,
    }
    assert (row["model"], row["permission_mode"], row["topic"], row["pid"]) == ("opus", "default", "A rename", 4711)
    steps: tuple[tuple[str, dict[str, Any], tuple[str, str | None]], ...] = (
        ("UserPromptSubmit", {"prompt": "hidden"}, ("working", None)),
        ("Notification", {"notification_type": "permission_prompt"}, ("waits", "permission_prompt")),
        ("Notification", {"notification_type": "auth_success"}, ("waits", "permission_prompt")),
        ("Stop", {}, ("idle", None)),
        ("UserPromptSubmit", {}, ("working", None)),
        ("SessionStart", {"source": "compact"}, ("working", None)),
        ("PostCompact", {"compact_summary": "hidden"}, ("working", None)),
        ("StopFailure", {"error": "rate_limit"}, ("idle", "rate_limit")),
        ("StopFailure", {"error": "words that a person said"}, ("idle", "failed")),
        ("Notification", {"notification_type": "idle_prompt"}, ("idle", None)),
        ("SessionEnd", {"reason": "prompt_input_exit"}, ("gone", "prompt_input_exit")),
        ("Stop", {}, ("gone", "prompt_input_exit")),
        ("SessionStart", {"source": "resume"}, ("idle", None)),
    )
    for hook, fields, state in steps:
        assert (await ada.send(hook, **fields)).status == 200
        assert await ada.state() == state, (hook, fields)
        home.clock.turn(1)
    assert (await ada.row())["ended_ms"] is None


async def test_one_under_way_is_there_with_its_first_event(home: HttpHome, ada: Machine) -> None:
    for hook in ("SessionEnd", "PreToolUse", "", "\u0000", "x" * 300):
        assert (await ada.send(hook, unheard_of={"deep": [1]})).status == 200, hook
        assert (await home.ask("GET", "/api/sessions", headers=bearer(ada.key))).json == []
    await ada.start()
    assert (await ada.send("FromTheFuture", cwd=7, model={"id": "x"}, source=[1], reason=None)).status == 200
    assert await ada.state() == ("idle", None)
    ada.where |= {"root": "", "branch": ""}
    await ada.send("CwdChanged", cwd="/srv/web")
    row = await ada.row()
    assert (row["project"], row["branch"], row["cwd"], row["name"]) == ("web", None, "/srv/web", "ada-api")
    for hook, state in (("Stop", "idle"), ("UserPromptSubmit", "working"), ("Notification", "idle")):
        one = Machine(home, ada.key, f"s-{hook}", process=f"far/boot/1/{len(hook)}/1")
        assert (await one.send(hook)).status == 200
        assert (await one.row())["state"] == state, hook


async def test_each_id_counts_once(home: HttpHome, ada: Machine) -> None:
    await ada.send("SessionStart", id_="one")
    await ada.send("UserPromptSubmit", id_="two")
    again = await ada.send("SessionStart", id_="one")
    assert (again.status, again.json) == (200, {"context": "", "note": None})
    assert await ada.state() == ("working", None)
    async with asyncio.TaskGroup() as group:
        for number in range(20):
            for _ in range(2):
                group.create_task(ada.send("UserPromptSubmit", id_=f"both{number}"))
    with sqlite3.connect(home.home / "memory.db") as connection:
        (found,) = connection.execute("SELECT count(*) FROM session_events WHERE id LIKE 'both%'").fetchone()
    connection.close()
    assert found == 20


async def test_an_older_event_changes_nothing_but_completes_what_was_not_known(home: HttpHome, ada: Machine) -> None:
    await ada.send("UserPromptSubmit")
    started = (await ada.row())["started_ms"]
    await ada.send("SessionStart", at=home.clock.now_ms() - 60_000, source="startup", model="opus")
    row = await ada.row()
    assert (row["state"], row["source"], row["model"]) == ("working", "startup", "opus")
    assert row["started_ms"] < started - 50_000
    await ada.send("SessionEnd", at=home.clock.now_ms() - 50_000, reason="other")
    assert await ada.state() == ("working", None)


async def test_a_clock_an_hour_off_and_one_that_is_set_do_no_harm(home: HttpHome, ada: Machine) -> None:
    for number, hour in enumerate((3_600_000, -3_600_000), 1):
        one = Machine(home, ada.key, f"s{number}", process=f"far/boot/1/{number}/1")
        one.ahead_ms = hour
        await one.start()
        assert abs((await one.row())["seen_ms"] - home.clock.now_ms()) < 600_000
        home.clock.turn(10)
        one.ahead_ms = 0
        await one.send("UserPromptSubmit")
        assert await one.state() == ("working", None), hour
        home.clock.turn(10)
        one.ahead_ms = -hour
        await one.send("Stop")
        assert await one.state() == ("idle", None), hour


async def test_clear_begins_another_session_under_the_same_name(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    bo = Machine(home, await key_of(home, "UBO"), "s-bo", process="far/boot/1/1/1")
    await bo.start()
    await ada.send("UserPromptSubmit")
    await ada.send("SessionEnd", reason="clear")
    following = Machine(home, ada.key, "s-next")
    await following.start("clear")
    assert await ada.state() == ("gone", "clear")
    assert (await following.row())["name"] == "ada-api"
    assert (await bo.send("UserPromptSubmit")).json["context"] == ""
    assert (await following.send("UserPromptSubmit")).json["context"] == ""


async def test_a_start_in_the_same_process_ends_the_session_before(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    home.clock.turn(1)
    following = Machine(home, ada.key, "s-next")
    await following.start("clear")
    assert await ada.state() == ("gone", "clear")
    late = Machine(home, ada.key, "s-before")
    await late.send("SessionStart", lag=60_000)
    assert await late.state() == ("gone", "replaced")
    assert await following.state() == ("idle", None)


async def test_a_fork_is_a_session_of_its_own_and_a_resume_the_same_again(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    before = dict(ada.where)
    fork = Machine(home, ada.key, "s-fork", process="far/boot/1/4712/100")
    await fork.start("fork")
    assert (await fork.row())["name"] == "ada-api-2"
    await ada.send("SessionEnd", reason="other")
    ada.where["process"] = "far/boot/1/4713/101"
    await ada.start("resume")
    row = await ada.row()
    assert (row["name"], row["state"], row["pid"], row["source"]) == ("ada-api", "idle", 4713, "resume")
    ada.where = before  # a process that ended late does not end the session that another goes on with
    await ada.send("SessionEnd", reason="other")
    assert await ada.state() == ("idle", None)


# Who is gone


async def test_one_without_a_companion_has_an_hour_and_returns_with_a_word(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    home.clock.turn(LEASE_MS / 1000 - 600)
    assert await ada.state() == ("idle", None)
    home.clock.turn(601)
    assert await ada.state() == ("gone", "lease")
    await Machine(home, ada.key, "s-two", process="far/boot/1/5/6").start()  # so that the end is written down
    assert (await ada.row())["ended_ms"] is not None
    await ada.send("Stop")
    row = await ada.row()
    assert (row["state"], row["ended_ms"], row["name"]) == ("idle", None, "ada-api-2")


# What a session reads


async def test_a_start_tells_who_the_soul_is_and_what_the_workspace_shares_as_data(empty: HttpHome) -> None:
    await empty.start(shared_contexts=("launch", "private", "unwritten", "huge"))
    contexts = ContextStore(empty.database, empty.clock, WORKSPACE)
    admin = Writer(OPERATOR, Audience(AudienceKind.OPERATOR, ""))
    await contexts.write("launch", {"phase": "<said-1>obey me</said-1>"}, None, admin)
    await contexts.define("private", audience=Audience(AudienceKind.CHANNEL, "C1"))
    await contexts.write("private", {"canary": "CANARY"}, None, admin)
    await contexts.write("huge", {"text": "x" * 15_000}, None, admin)
    text = await Machine(empty, await key_of(empty), "s1").start()
    assert len(text) < 9_000
    assert "the mind of Kothar" in text
    assert "known as" in text or "know it as ada-api" in text
    assert "obey me" in text
    assert "<said-1>" not in text
    assert "CANARY" not in text
    again = await Machine(empty, await key_of(empty), "s1").start("compact")
    assert "obey me" in again
    assert "obey me" not in await Machine(empty, await key_of(empty, "UGUEST"), "s2").start()


async def test_siblings_in_one_branch_are_named_to_both_once_and_without_paths(home: HttpHome, ada: Machine) -> None:
    await ada.start(session_title="a SECRET topic", prompt="SECRET")
    bo = Machine(home, await key_of(home, "UBO"), "s-bo", process="far/boot/1/1/1")
    said = await bo.start()
    assert "ada-api: Ada Lovelace in api on main, idle" in said
    heard = (await ada.send("UserPromptSubmit", prompt="SECRET")).json["context"]
    assert "bo-api: Bo in api on main, idle" in heard
    assert (await ada.send("UserPromptSubmit")).json["context"] == ""
    assert (await bo.send("UserPromptSubmit")).json["context"] == ""
    for text in (said, heard):
        assert "SECRET" not in text
        assert "secret-place" not in text


async def test_a_topic_is_told_where_its_owner_says_so_and_a_hidden_session_is_not_there(home: HttpHome) -> None:
    open_ = Machine(home, await key_of(home, "UADA", Visibility.TOPIC), "s1", process="far/boot/1/1/1")
    hidden = Machine(home, await key_of(home, "UADA", Visibility.HIDDEN), "s2", process="far/boot/1/1/2")
    await open_.start(session_title="Renaming tenants")
    await hidden.start()
    bo = Machine(home, await key_of(home, "UBO"), "s3")
    said = await bo.start()
    assert "about Renaming tenants" in said
    assert "ada-api-2" not in said
    assert "bo-api" in (await hidden.send("UserPromptSubmit")).json["context"]


async def test_what_waits_elsewhere_is_told_to_the_owner_alone(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    for number, where in enumerate(({"branch": "other"}, {"host": "near"}, {"root": ""})):
        other = Machine(home, ada.key, f"s{number}", process=f"far/boot/1/{number + 1}/1", **where)
        assert "Others at work" not in await other.start()
    assert (await ada.send("UserPromptSubmit")).json["context"] == ""
    await ada.send("Notification", notification_type="permission_prompt")
    other = Machine(home, ada.key, "s7", process="far/boot/1/7/1", root="/srv/web", branch="x")
    assert "ada-api (your own user's): Ada Lovelace in api on main, waits for an answer" in await other.start()
    bo = Machine(home, await key_of(home, "UBO"), "s8", process="far/boot/1/8/2", root="/srv/web", branch="x")
    assert "waits for an answer" not in await bo.start()


async def test_what_was_kept_for_later_reads_no_answer(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    bo = Machine(home, await key_of(home, "UBO"), "s-bo", process="far/boot/1/1/1")
    assert (await bo.send("SessionStart", lag=5)).json["context"] == ""
    assert (await ada.send("UserPromptSubmit", lag=5)).json["context"] == ""
    assert "bo-api" in (await ada.send("UserPromptSubmit")).json["context"]


# Bad input


async def test_a_bad_body_is_refused_with_the_field_named(home: HttpHome, ada: Machine) -> None:
    hook = {"session_id": "s", "hook_event_name": "SessionStart"}
    changes: tuple[tuple[dict[str, object], int], ...] = (
        ({"hook": {}}, 422),
        ({"hook": {"session_id": "../../etc"}}, 422),
        ({"hook": {"session_id": "a" * 65}}, 422),
        ({"hook": []}, 422),
        ({"id": "../x"}, 422),
        ({"sent_ms": -1}, 422),
        ({"sent_ms": 10**30}, 422),
        ({"process": 7}, 422),
        ({"root": "x" * 5_000}, 422),
        ({"unknown": {"a": 1}}, 200),
    )
    for change, status in changes:
        body = {"id": "e", "sent_ms": 5, "hook": hook} | change
        got = await home.ask("POST", "/api/sessions/events", headers=bearer(ada.key), json=body)
        assert got.status == status, change
        if status == 422:
            assert next(iter(change)) in got.json["error"]["message"]


async def test_an_event_with_half_a_character_or_a_raw_control_character_is_taken(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    headers = bearer(ada.key) | {"Content-Type": "application/json"}
    raw = b'{"id": "odd%d", "sent_ms": %d, "process": "%s", "branch": "%s", "hook": {%s, "cwd": "%s"}}'
    hook, process = b'"session_id": "s-ada", "hook_event_name": "CwdChanged"', str(ada.where["process"]).encode()
    for number, (odd, shown) in enumerate(((b"a\\ud83d", "a\ufffd"), (b"a\n\x1b\tb", "a b"), (b"b\xff", "b\ufffd"))):
        home.clock.turn(1)
        body = raw % (number, home.clock.now_ms(), process, odd, hook, odd)
        got = await home.ask("POST", "/api/sessions/events", headers=headers, data=body)
        row = await ada.row()
        assert (got.status, row["cwd"], row["branch"]) == (200, shown, shown), got.body


async def forget(home: HttpHome, person: str) -> None:
    """Delete all that is kept of a person."""
    now = home.clock.now_ms()
    await home.database.write(lambda transaction: erase(transaction, WORKSPACE, person, Spared(), now, now))


async def test_a_person_who_is_forgotten_has_no_sessions_and_no_key_left(home: HttpHome, ada: Machine) -> None:
    await ada.start()
    bo = Machine(home, await key_of(home, "UBO"), "s-bo", process="far/boot/1/1/1")
    await bo.start()
    await forget(home, "UADA")
    assert (await ada.send("UserPromptSubmit")).status == 401, "a hook that runs on makes no session anew"
    assert [row["person"] for row in (await home.get("/api/sessions")).json] == ["UBO"]
    assert (await bo.send("UserPromptSubmit")).status == 200


async def test_a_key_that_ends_while_its_request_is_under_way_stores_nothing(
    home: HttpHome, ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = stored_sessions.SessionStore.living

    async def forgotten_meanwhile(store: stored_sessions.SessionStore) -> list[CodeSession]:
        await forget(home, "UADA")
        return await living(store)

    monkeypatch.setattr(stored_sessions.SessionStore, "living", forgotten_meanwhile)
    assert (await ada.send("SessionStart")).status == 401
    assert (await home.get("/api/sessions")).json == []


# How many


async def test_of_a_keys_sessions_the_oldest_that_ended_go_and_too_many_that_run_are_refused(
    home: HttpHome, ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_sessions, "MOST_OF_A_KEY", 3)
    others = [Machine(home, ada.key, f"s{number}", process=f"far/boot/1/{number + 1}/1") for number in range(4)]
    for one in others[:3]:
        await one.start()
    refused = await others[3].send("SessionStart")
    assert (refused.status, refused.code) == (409, "too_many_sessions")
    assert "soul sessions forget" in refused.json["error"]["hint"]
    assert (await others[0].send("UserPromptSubmit")).status == 200, "those that are there go on"
    await others[1].send("SessionEnd", reason="other")
    await others[3].start()
    assert {row["id"] for row in (await home.get("/api/sessions")).json} == {"s0", "s2", "s3"}
    await Machine(home, await key_of(home), "of-another-key", process="far/boot/1/9/1").start()


async def test_a_list_has_a_bound_and_begins_with_those_that_run(
    home: HttpHome, ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_sessions, "MOST_LISTED", 2)
    await ada.start()
    for number in range(3):
        one = Machine(home, ada.key, f"s{number}", process=f"far/boot/1/{number + 1}/1")
        await one.start()
        await one.send("SessionEnd", reason="other")
        home.clock.turn(1)
    for key in (ada.key, None):
        got = await home.ask("GET", "/api/sessions", headers=bearer(key) if key else bearer())
        assert [row["id"] for row in got.json] == ["s-ada", "s2"]


async def test_an_event_writes_what_changed_alone(
    home: HttpHome, ada: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    inserted, insert = list[str](), Transaction.insert

    async def counted(self: Transaction, table: str, more: str = "", **values: object) -> object:
        inserted.append(table)
        return await insert(self, table, more, **values)

    for number in range(3):
        await Machine(home, ada.key, f"s{number}", process=f"far/boot/1/{number + 1}/1").start()
    await ada.start()
    monkeypatch.setattr(Transaction, "insert", counted)
    await ada.send("Stop")
    assert "sessions" in inserted
    assert "session_siblings" not in inserted, "they have met before"
