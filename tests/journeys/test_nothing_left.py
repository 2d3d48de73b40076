"""Forget me after a model has repeated every word: nothing is left in any table or file, nor comes back (P45)."""

import asyncio

import pytest

from daemon.core.ports.services import SystemClock
from daemon.memory.admin.restore import restore
from daemon.memory.database.backup import back_up
from tests.journeys.house import House
from tests.journeys.own_memory import forget
from tests.journeys.repeated_talk import OTHERS, THEIRS, begin, talk
from tests.residues import residues


@pytest.mark.slow
async def test_nothing_is_left_of_a_person_whose_words_were_repeated_everywhere(empty_house: House) -> None:
    await begin(empty_house)
    await talk(empty_house)
    home = empty_house.settings.home
    before = {one.split(":")[0] for one in residues(home, *THEIRS)}
    assert {
        "turns.body",
        "records.text",
        "outbox.body",
        "user_models.whispers",
        "journal.tags",
        "links.quote",
    } <= before
    copy = await asyncio.to_thread(back_up, empty_house.settings.database_path, home / "before.db", SystemClock())
    aside = copy.path.rename(home.parent / f"{home.name}-before.db")
    assert (await forget(empty_house)).startswith("Forgotten:")
    await empty_house.idle()
    assert residues(home, *THEIRS) == []
    kept = {row["body"] for row in await empty_house.rows("SELECT body FROM turns WHERE author = 'U0BEN'")}
    assert {f"my {OTHERS} stands in the garden", "what stands in the garden?"} <= kept
    await empty_house.stop()
    done = restore(aside, empty_house.settings.database_path, SystemClock(), actor="admin")
    assert done.replaced is not None
    done.replaced.unlink()
    aside.unlink()
    assert residues(home, *THEIRS) == []
    await begin(empty_house)
    await empty_house.answered("Ben", "general", "@soul what stands in the garden?")
    await empty_house.idle()
    assert residues(home, *THEIRS) == []
    assert all(one not in empty_house.last_prompt() for one in THEIRS)
