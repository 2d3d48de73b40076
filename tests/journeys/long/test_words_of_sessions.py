"""What is said in a session is kept where its key remembers: for its owner alone, found, exported and forgotten."""

import datetime as dt
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from daemon.core.questions import LONGEST_ANSWER
from daemon.core.sessions import Visibility
from tests.given import tagged
from tests.hooks.client import Client
from tests.http.daemons import TOKEN
from tests.journeys.asking import AskedSession, asks, door, new_key
from tests.journeys.house import House
from tests.journeys.own_memory import content_of, shared_files

PROMPT = "Rename the tenants of project Quagga with migration 0042."
ANSWER = "The tenants of Quagga are renamed, and the rollback stands in 0043."
DAY_S = 24 * 3_600.0
SUMMARY = "So far: the tenants of Quagga were renamed by two migrations."


@pytest.fixture
async def remembering(house: House, tmp_path: Path) -> AsyncIterator[AskedSession]:
    """A session of Ada's, whose key remembers."""
    async with door(house) as url:
        client = Client(tmp_path / "api", url, await new_key(house, visibility=Visibility.HIDDEN, remember=True))
        await client.report("SessionStart", source="startup")
        yield AskedSession(house, client)


async def works(session: AskedSession) -> None:
    """It is prompted, answers, and its talk is compacted."""
    await session.client.report("UserPromptSubmit", prompt_id="p1", prompt=PROMPT)
    await session.client.report("Stop", prompt_id="p1", stop_hook_active=False, last_assistant_message=ANSWER)
    await session.client.report("PostCompact", trigger="auto", compact_summary=SUMMARY)


async def kept(house: House) -> list[tuple[str, str]]:
    """Who said what in sessions, in its order."""
    rows = await house.rows("SELECT name, body FROM turns WHERE conversation LIKE '%/session/%' ORDER BY seq")
    return [(row["name"], row["body"]) for row in rows]


async def everything(house: House) -> str:
    """All that stands in the tables."""
    plain = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'"
    tables = [row["name"] for row in await house.rows(plain)]
    return str([tuple(row) for table in tables for row in await house.rows(f'SELECT * FROM "{table}"')])


async def test_it_is_kept_for_its_owner_alone_and_no_evidence(house: House, remembering: AskedSession) -> None:
    await works(remembering)
    assert await kept(house) == [
        ("Ada Lovelace's session, asked", PROMPT),
        ("Ada Lovelace's session", ANSWER),
        ("Ada Lovelace's session, in short", SUMMARY),
    ]
    (where,) = await house.rows("SELECT DISTINCT conversation, audience, author, speaker, trace_id <> '' FROM turns")
    assert (where["conversation"], where["audience"]) == ("minoan/T0LOCAL/session/U0ADA:s1", "dm:D0ADA")
    assert where["author"].startswith("session.")
    assert where["speaker"] == "session"
    date = dt.datetime.fromtimestamp(house.clock.now_ms() / 1000, dt.UTC).date().isoformat()
    asked = "what became of the tenants of Quagga and the rollback?"
    house.model.replies += [tagged("They are renamed."), tagged("I don't know."), tagged("I don't know.")]
    await house.answered("Ada", "dm", asked)
    assert ANSWER in house.last_prompt()
    assert f"session of Claude Code {date}, Ada Lovelace's session" in house.last_prompt()
    for person, room in (("Ben", "dm"), ("Ada", "general")):
        await house.answered(person, room, asked if room == "dm" else f"@soul {asked}")
        assert "0043" not in house.last_prompt()
    people = {row["person"] for row in await house.rows("SELECT person FROM user_models")}
    assert not any(one.startswith("session.") for one in people)


@pytest.mark.slow
async def test_what_the_owner_is_given_holds_it_and_forget_me_takes_it(house: House, remembering: AskedSession) -> None:
    await works(remembering)
    await house.answered("Ada", "dm", "export my memory")
    await house.idle()
    (file,) = await shared_files(house)
    messages = {one["text"]: one["speaker"] for one in json.loads(content_of(house, file["id"]))["messages"]}
    assert {messages[one] for one in (PROMPT, ANSWER, SUMMARY)} == {"session"}
    house.model.replies.append(tagged("Hello."))
    await house.answered("Ada", "dm", "hello")
    await house.answered("Ada", "dm", "forget me")
    await house.answered("Ada", "dm", "yes, forget me")
    await house.idle()
    assert await kept(house) == []
    assert "Quagga" not in await everything(house)


async def test_a_key_keeps_nothing_by_default_and_no_word_is_sent(house: House, session: AskedSession) -> None:
    await works(session)
    body = {"id": "e1", "sent_ms": house.clock.now_ms(), "hook": _hook("UserPromptSubmit", prompt=PROMPT)}
    got = await session.ask("POST", "/api/sessions/events", json=body)
    assert got.json == {"context": "", "note": None}
    assert (await session.ask("POST", "/api/sessions/events", TOKEN, json=body | {"id": "e2"})).status == 404
    own = body | {"id": "e3", "hook": _hook("UserPromptSubmit", prompt=PROMPT) | {"session_id": "s9"}}
    assert (await session.ask("POST", "/api/sessions/events", TOKEN, json=own)).json == {"context": "", "note": None}
    assert await kept(house) == [], "nobody chose it for the admin's token"
    assert "Quagga" not in await everything(house)


@pytest.mark.slow
async def test_no_word_is_sent_before_the_daemon_has_said_that_it_is_kept(house: House, tmp_path: Path) -> None:
    async with door(house) as url:
        client = Client(tmp_path / "api", "http://127.0.0.1:9", await new_key(house, remember=True))
        session = AskedSession(house, client)
        await works(session)
        assert len(client.kept) == 3
        assert not any("Quagga" in path.read_text() for path in client.kept)
        session.moves(url)
        await client.emptied()
        assert await kept(house) == []
        await works(session)
        await client.emptied()
        assert [body for _, body in await kept(house)] == [PROMPT, ANSWER, SUMMARY]


async def test_an_event_twice_counts_once_and_words_are_bounded(house: House, remembering: AskedSession) -> None:
    key = "sk-" + "a" * 40
    long = f"\x00use {key} \x1b[31m" + "\U0001f3fa" * 20_000
    body = {"id": "e1", "sent_ms": house.clock.now_ms(), "hook": _hook("UserPromptSubmit", prompt=long)}
    for _ in range(2):
        got = await remembering.ask("POST", "/api/sessions/events", json=body)
        assert got.json == {"context": "", "note": None, "remember": True}
    for odd in (7, None, [PROMPT], {"text": PROMPT}, "", " \x00 "):
        odd_one = body | {"id": f"e{odd}"[:20].encode().hex(), "hook": _hook("Stop", last_assistant_message=odd)}
        assert (await remembering.ask("POST", "/api/sessions/events", json=odd_one)).status == 200
    ((_, one),) = await kept(house)
    assert key not in one
    assert "\x00" not in one
    assert len(one) == LONGEST_ANSWER
    await remembering.client.report("UserPromptSubmit", prompt="\ud800 half " + "y" * 20_000)
    assert len((await kept(house))[1][1]) == LONGEST_ANSWER


@pytest.mark.slow
async def test_of_one_key_and_day_so_much_is_kept_and_its_session_hears_once_that_it_is_all(
    house: House, remembering: AskedSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daemon.memory.shared.session_words.MOST_KEPT_DAILY", 2)
    client, hears = remembering.client, "What is said from now on until midnight UTC is not kept"
    house.clock.turn(DAY_S - house.clock.now_ms() / 1000 % DAY_S)  # a day begins
    assert [hears in (await client.report("UserPromptSubmit", prompt=f"prompt {n}")).context for n in range(5)] == [
        *(False, False, True, False, False)
    ]
    assert [body for _, body in await kept(house)] == ["prompt 0", "prompt 1"]
    key = await house.one("SELECT words_kept, words_left_out FROM keys")
    assert tuple(key) == (2, 3)
    await client.report("SessionStart", session_id="s2", source="startup")
    await client.report("UserPromptSubmit", session_id="s2", prompt="of the same key")
    assert len(await kept(house)) == 2
    house.clock.turn(DAY_S)
    assert hears not in (await client.report("UserPromptSubmit", prompt="the next day")).context
    assert (await kept(house))[-1][1] == "the next day"


@pytest.mark.slow
async def test_what_others_ask_a_session_is_kept_once_where_they_asked(house: House, tmp_path: Path) -> None:
    async with door(house) as url:
        client = Client(tmp_path / "api", url, await new_key(house, remember=True))
        session = AskedSession(house, client)
        await client.report("SessionStart", source="startup")
        await asks(house, "Ada", "dm", "BENS-WORDS?")
        read = (await session.ends_turn()).context
        await client.report("UserPromptSubmit", prompt_id="p1", prompt=read)
        await session.goes_on("ITS-ANSWER")
        await house.settled("D0ADA", "ITS-ANSWER")
        assert await kept(house) == []


@pytest.mark.slow
async def test_nothing_is_kept_while_its_owner_pauses(house: House, remembering: AskedSession, tmp_path: Path) -> None:
    await house.answered("Ada", "dm", "pause remembering")
    await works(remembering)
    assert await kept(house) == []
    url = remembering.client.env["SOUL_URL"]
    admins = AskedSession(house, Client(tmp_path / "root", url, await new_key(house, "", remember=True)))
    await admins.client.report("SessionStart", session_id="s2", source="startup")
    await admins.client.report("UserPromptSubmit", session_id="s2", prompt=PROMPT)
    row = await house.one("SELECT name, audience FROM turns WHERE conversation LIKE '%/session/%'")
    assert tuple(row) == ("the admin's session, asked", "operator:")


def _hook(name: str, **fields: object) -> dict[str, object]:
    return {"session_id": "s1", "hook_event_name": name} | fields
