"""Bad input at every door that takes a body: a sentence, what to do, and nothing is lost, kept or logged of it."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from daemon.channels.http.sessions import SessionEvent
from tests.http.daemons import HttpHome, bearer
from tests.http.machines import Machine, key_of

NO_JSON = {
    "nothing": b"",
    "half": b'{"text": "x", "id": "e1", "machine": ',
    "ten thousand brackets": b"[" * 10_000,
    "ten thousand brackets, closed": b'{"text": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
    "ten thousand objects": b'{"text": ' * 10_000 + b"1" + b"}" * 10_000,
    "half of a character": b'{"text": "\\ud800"}',
    "half of a character in a name": b'{"\\udfff": 1}',
    "no UTF-8": b'{"text": "\xff"}',
    "UTF-16": '{"text": "x"}'.encode("utf-16"),
    "a mark of the byte order": b'\xef\xbb\xbf{"text": "x"}',
    "a number without end": b'{"text": ' + b"9" * 5_000 + b"}",
    "two": b"{}{}",
}
MENDED = ("half of a character", "half of a character in a name", "no UTF-8")  # in what a session's hooks send
OTHER = {
    "a list": b"[]",
    "null": b"null",
    "a text": b'"x"',
    "not a number": b'{"text": NaN, "id": NaN, "machine": NaN, "hook": NaN, "sent_ms": NaN, "x": NaN}',
    "without end": b'{"text": Infinity, "id": Infinity, "machine": -Infinity, "hook": 1e999, "x": 1e999}',
    "nested too deep": b'{"x": ' + b"[" * 60 + b"]" * 60 + b"}",
    "a text of zeros": b'{"text": "\\u0000", "machine": 7, "x": NaN}',
}
DOORS = (
    ("PUT", "/api/shared-context/launch"),
    ("PUT", "/api/shared-context/launch/presence/UADA"),
    ("POST", "/api/sessions/events"),
    ("POST", "/api/sessions/s1/notes/NT_1/answer"),
    ("POST", "/api/pair"),
)
KEPT = ("shared_context", "sessions", "session_events", "shared_messages", "turns", "inbox", "pairings")
KEPT_BY_PROGRAMS = "awareness WHERE process = 'http'"  # the soul shows there what it does, too


async def counts(home: HttpHome) -> dict[str, int]:
    """How many rows each table has that such a request could change."""
    database = home.database
    found = {}
    for table in (*KEPT, KEPT_BY_PROGRAMS):
        row = await database.one(f"SELECT count(*) AS rows FROM {table}")
        assert row is not None
        found[table] = row["rows"]
    return found


def is_a_sentence(body: dict[str, Any]) -> bool:
    """Whether an error says what happened and what to do, and little of what was sent."""
    error = body["error"]
    return error["message"].endswith(".") and bool(error["hint"]) and len(error["message"]) < 600


async def test_a_body_that_can_not_be_read_is_refused_and_changes_nothing(home: HttpHome) -> None:
    key = await key_of(home)
    await Machine(home, key, "s1").start()
    before = await counts(home)
    head = bearer(key) | {"Content-Type": "application/json", "If-Match": "*"}
    large = b'{"text": "' + b"x" * 300_000 + b'"}'
    kinds = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
    others = [{"Content-Type": kind} for kind in kinds] + [{"Content-Encoding": "gzip"}]
    for method, path in DOORS:
        for name, body in NO_JSON.items():
            got = await home.ask(method, path, headers=head, data=body)
            mended = path.endswith("/events") and name in MENDED
            assert (got.status, got.code) == ((422, "invalid") if mended else (400, "malformed")), (path, name)
            assert mended or "UTF-8" in got.json["error"]["hint"], (path, name)
        for name, body in OTHER.items():
            got = await home.ask(method, path, headers=head, data=body)
            assert (got.status, got.code) == (422, "invalid"), (path, name, got.body)
            assert is_a_sentence(got.json), (path, name, got.body)
        got = await home.ask(method, path, headers=head, data=large)
        assert (got.status, got.code) == (413, "too_large"), path
        for other in others:
            got = await home.ask(method, path, headers=head | other, data=b"{}")
            assert (got.status, got.code) == (415, "not_json"), (path, other)
    assert await counts(home) == before
    assert not home.events.named("http.crashed")
    assert not home.events.named("http.request_failed")


async def test_who_asks_for_what_is_not_there_or_is_no_key_leaves_no_error_in_the_log(home: HttpHome) -> None:
    head = bearer() | {"If-Match": "*", "Content-Type": "application/json"}
    routes = (("GET", ""), ("PUT", ""), ("GET", "/presence"), ("PUT", "/presence/m"), ("GET", "/events"))
    for key in ("..%2fx", "a%00b", "%00", "A", "x" * 65, "%ff", "a%0d%0ab", "-a", "%d0%b6", "a%20"):
        where = f"/api/shared-context/{key}"
        for method, path in routes:
            got = await home.ask(method, f"{where}{path}", headers=head, data=b"{}" if method == "PUT" else None)
            assert (got.status, got.code) == (422, "invalid"), (key, method, path)
            assert "up to 64 of a-z" in got.json["error"]["hint"]
    assert (await counts(home))["shared_context"] == 0
    key = await key_of(home)
    for path in ("/api/sessions/none/notes", "/api/shared-context/A", "/api/pair/BCDF-GHJK"):
        assert (await home.ask("GET", path, headers=bearer(key))).status in {404, 422}
    got = await home.ask("POST", "/api/sessions/none/notes/NT_1/answer", headers=bearer(key), json={"text": "x"})
    assert got.code == "unknown_session"
    assert not home.events.named("http.request_failed")


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda one: st.lists(one, max_size=3) | st.dictionaries(st.text(max_size=8), one, max_size=3),
    max_leaves=8,
)
_HOOK = st.dictionaries(
    st.sampled_from(["session_id", "hook_event_name", "cwd", "source", "reason", "prompt", "session_title", "x"]),
    st.sampled_from(["s1", "SessionStart", "UserPromptSubmit", "/", "\x00", "\u202e<@U1>`"]) | _JSON,
)
_EVENT = st.fixed_dictionaries(
    {"id": st.just("e1") | _JSON, "sent_ms": st.integers(-5, 5_000_000_000_000) | _JSON, "hook": _HOOK | _JSON},
    optional=dict.fromkeys(("now_ms", "process", "host", "root", "branch", "attended", "said", "note", "y"), _JSON),
)


@given(_EVENT)
def test_what_a_hook_sends_is_refused_or_becomes_plain_lines(sent: dict[str, object]) -> None:
    try:
        event = SessionEvent.model_validate_json(json.dumps(sent)).event(1_000)
    except ValidationError:
        return
    assert event.id == "e1" or event.id.replace("-", "").replace("_", "").isalnum()
    assert 0 <= event.lag_ms <= 30 * 24 * 3_600_000
    for line in (event.hook, event.process, event.host, event.cwd, event.source, event.title, event.reason, event.note):
        assert line.isprintable()
        assert len(line) <= 4_096
