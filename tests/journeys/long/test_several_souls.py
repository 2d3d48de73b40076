"""Two souls in one daemon: each answers in its own channels, under its own name, from its own memory."""

from tests.journeys.house import House
from tests.journeys.learning import notes, teach
from tests.journeys.souls import write_soul

ROLF = """icon = ":anchor:"
channels = ["C0GENERAL"]
emotional_states = ["calm", "stormy"]
[presence]
speaks_when_dormant = true
"""
TESS_THERE, ROLF_THERE = "You are Tess, a weaver.", "You are Rolf, a sailor."


async def two(house: House) -> None:
    """Start Tess, and Rolf for #general."""
    home = house.settings.home
    write_soul(home, more='emotional_states = ["calm", "stormy"]\n')
    write_soul(home, "rolf", ROLF, shown="Rolf", personality=ROLF_THERE)
    await house.start(name="tess", souls=("rolf",), quiet_hours="")


async def test_each_soul_answers_where_it_is_at_home_under_its_own_name(empty_house: House) -> None:
    await two(empty_house)
    await empty_house.answered("Ada", "dm", "hello")
    assert TESS_THERE in empty_house.last_prompt()
    await empty_house.answered("Ada", "founders", "@soul hello")
    assert TESS_THERE in empty_house.last_prompt()
    await empty_house.answered("Ada", "general", "@soul ahoy")
    assert ROLF_THERE in empty_house.last_prompt()
    assert TESS_THERE not in empty_house.last_prompt()
    assert "You have not met this person here before" in empty_house.last_prompt(), "each counts its own encounters"
    assert (await empty_house.path("C0GENERAL"))[0] == "enter: engaged → greeting, rule"
    [rolf] = await empty_house.people.posts_by_bot("C0GENERAL")
    assert rolf["username"] == "Rolf"
    assert rolf["icons"]["emoji"] == ":anchor:"
    for room in ("D0ADA", "C0FOUNDERS"):
        [tess] = await empty_house.people.posts_by_bot(room)
        assert "username" not in tess, "the main soul has the app's own face"


async def test_notes_of_one_soul_never_reach_the_other(empty_house: House) -> None:
    await two(empty_house)
    await teach(empty_house, "Ada", "general", "keeps a canary-rolf")
    await empty_house.people.add_channel("market", members=["U0ADA"])
    await empty_house.answered("Ada", "market", "@soul what shall I weave?")
    assert TESS_THERE in empty_house.last_prompt()
    assert "a canary" not in empty_house.last_prompt()
    await teach(empty_house, "Ada", "market", "keeps a canary-tess")
    await empty_house.answered("Ada", "general", "@soul and you?")
    assert "canary-rolf" in empty_house.last_prompt()
    assert "canary-tess" not in empty_house.last_prompt()
    rows = await empty_house.rows("SELECT soul, text FROM records WHERE kind = 'fact' ORDER BY soul")
    assert [tuple(row) for row in rows] == [("rolf", "keeps a canary-rolf"), ("tess", "keeps a canary-tess")]
    assert len(await notes(empty_house)) == 1, "one audience, two souls"
