"""People name a soul as Slack shows it; its sentences name it so, too."""

from tests.journeys.handing import ACTS, talking, words
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.journeys.surfaces import COMMAND, shown


async def test_a_thread_goes_to_the_soul_that_slack_shows_under_a_name(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, more=ACTS, shown="Tess Weaver")
    write_soul(house.settings.home, "minoan", ACTS, shown="Kothar wa Khasis", personality="You are Kothar, a smith.")
    for folder in ("one", "two"):
        write_soul(house.settings.home, folder, ACTS, shown="Kim")
    await house.start(name="tess", souls=("minoan", "one", "two"))
    status = await house.command("status")
    for said in ("tess is called Tess Weaver", "minoan is called Kothar wa Khasis", "one is called Kim"):
        assert f", {said}" in status
    assert ", called " not in status
    for name, answer in (
        ("Kim", "Several souls here are called Kim: Kim (one), Kim (two)."),
        ("Tess", "I already answer here."),
        ("Cleo", "with one of these: Kim (one), Kim (two), Kothar wa Khasis."),
    ):
        assert answer in await house.answered("Ada", "dm", f"hand this thread to {name}")
    ts = await talking(house)
    await house.say("Ada", "general", "@soul hand this thread to Kothar", thread=ts)
    await house.reply("general", "From now on I answer here in place of Tess Weaver, and I know what was said.")
    assert "From now on Kothar wa Khasis answers here; what was said is passed on." in await words(house)


async def test_a_soul_has_a_slash_command_of_the_name_that_slack_shows(house: House) -> None:
    for count, command in enumerate((COMMAND, "/kothar"), start=1):
        assert await house.people.command("Ada", "general", command, "help")
        assert "This is what I can do for you" in await shown(house, "Ada", "general", count)
        await house.idle()
