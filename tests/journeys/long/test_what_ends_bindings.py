"""A bound thread in time: what its session says there by itself, what ends it, and what it outlives."""

import asyncio

import pytest

from daemon.core.questions import MOST_SAID_HOURLY
from daemon.core.sessions import KeyOwner, Visibility
from daemon.memory.shared.keys import KeyAdmin
from daemon.memory.shared.thread_bindings import SaidInThread, ThreadBindings, said_by
from tests.journeys.asking import TEAM, AskedSession, forgotten, new_key, states
from tests.journeys.binding import HEAD, bound_thread, put
from tests.journeys.house import House, said

LOST = "takes nothing from here now"


async def says(house: House, words: str, call: str) -> SaidInThread:
    """Ada's session says something by itself, as the tool has it do."""
    store = house.built.store
    session = await store.sessions.one("s1")
    assert session is not None
    came = await ThreadBindings(store.database, house.clock, TEAM).say(
        session, words, said_by(KeyOwner(session.key).author, "s1", call)
    )
    house.built.dispatcher.look_again()
    return came


@pytest.mark.usefixtures("session")
async def test_a_session_speaks_in_its_own_thread_alone_each_call_once_and_so_much_an_hour(house: House) -> None:
    assert await says(house, "too early", "a") is SaidInThread.UNBOUND
    ts = await bound_thread(house)
    came = await asyncio.gather(*(says(house, "The tests <!channel> pass.", "b") for _ in range(4)))
    assert sorted(came) == sorted([SaidInThread.TAKEN, *[SaidInThread.BEFORE] * 3])
    post = await house.settled("general", "pass.")
    assert post["thread_ts"] == ts
    assert said(post).startswith(f"{HEAD}\n\nThe tests")
    assert "<!channel>" not in str(await house.posting_calls())
    assert len(await house.replies("general")) == 2
    assert house.prompts == []
    await house.change(
        f"""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MOST_SAID_HOURLY})
        INSERT INTO shared_messages (id, kind, sender, addressee, workspace, conversation, heard_in, inbox, behalf,
                                     audience, hops, state, created_ms, words)
        SELECT 'NT_x' || i, 'said', 's1', 'minoan', 'T0LOCAL', '', '', '', '', 'workspace:T0LOCAL', 1, 'delivered', ?,
               '' FROM n
        """,
        house.clock.now_ms(),
    )
    assert await says(house, "one more", "c") is SaidInThread.OVER
    await house.change("UPDATE bound_threads SET session = 'other'")
    assert await says(house, "nowhere", "d") is SaidInThread.UNBOUND
    assert len(await house.replies("general")) == 2


@pytest.mark.usefixtures("session")
async def test_a_key_that_is_revoked_ends_the_binding(house: House) -> None:
    ts = await bound_thread(house)
    admin = KeyAdmin(house.built.store.database, house.clock, "root")
    await admin.revoke((await admin.list())[0].id)
    house.clock.turn(3)
    assert LOST in said(await house.settled("general", LOST))
    assert await house.answered("Ada", "general", "@soul so?", thread=ts) == "Echo: so?"


async def test_a_session_that_is_hidden_by_now_leaves_its_thread(house: House, session: AskedSession) -> None:
    await bound_thread(house)
    session.client.env["SOUL_KEY"] = await new_key(house, visibility=Visibility.HIDDEN)
    await session.client.report("UserPromptSubmit")
    house.clock.turn(3)
    await house.settled("general", LOST)
    assert await house.rows("SELECT * FROM bound_threads") == []


@pytest.mark.usefixtures("session")
async def test_forget_me_of_the_owner_ends_it_and_leaves_nothing_of_it(house: House) -> None:
    ts = await bound_thread(house)
    await put(house, "Ada", ts, "ADAS-WORDS")
    await forgotten(house, "Ada")
    house.clock.turn(3)
    await house.settled("general", LOST)
    left = [
        tuple(row) for one in ("bound_threads", "shared_messages") for row in await house.rows(f"SELECT * FROM {one}")
    ]
    assert left == []


async def test_an_owner_who_is_no_longer_admitted_speaks_no_more(house: House, session: AskedSession) -> None:
    ts = await bound_thread(house, "bind ada-api here for everybody")
    await house.noticed(house.people.change_standing("Ada", "deactivated"))
    await house.say("Ben", "general", "which migration?", thread=ts)
    await house.settled("general", LOST)
    assert (await session.ends_turn()).context == ""
    assert await states(house) == []
