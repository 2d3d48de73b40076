"""What souls and people share: the soul has it in mind where it may be known, and changes it with its reply."""

import json

import pytest

from daemon.core.perception import Audience, AudienceKind
from tests.given import CLOSING, OPENING, shown
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, script, solver
from tests.unit.ism_parts import chosen


async def shared(house: House, key: str) -> dict[str, object]:
    """A context as `soul context get` prints it."""
    found: dict[str, object] = json.loads(await house.command("context", "get", key, "--json"))
    return found


async def test_what_is_shared_is_in_mind_as_plain_lines_where_it_may_be_read(empty_house: House) -> None:
    await empty_house.start(shared_contexts=("launch", "unwritten", "mine"))
    await empty_house.command("context", "set", "launch", '{"phase": "testing", "owners": ["Ada", "Ben"]}')
    await empty_house.answered("Ada", "dm", "how is it going?")
    prompt = empty_house.last_prompt()
    assert "owners: Ada, Ben\nphase: testing" in prompt
    assert 'about="launch, shared, version 1 of ' in prompt
    assert "unwritten" not in prompt
    await empty_house.command("context", "define", "mine", "--audience", "dm:D0ADA")
    await empty_house.command("context", "set", "mine", '{"canary": "between us"}')
    await empty_house.answered("Ben", "dm", "hello")
    assert "between us" not in empty_house.last_prompt()
    await empty_house.answered("Ada", "dm", "hello")
    assert "canary: between us" in empty_house.last_prompt()


async def test_the_loop_changes_what_is_shared_unless_it_is_garbage_or_was_private(empty_house: House) -> None:
    house = empty_house
    await solver(house, shared_contexts=("launch",))
    await house.command("context", "set", "launch", '{"phase": "testing", "left": 2}')
    share = ("Share", 'launch: {"phase": "done", "left": null}')
    script(house, chosen(share), chosen(("Respond", "it is done")), external_dialog="It is done.")
    await house.say("Ada", "general", f"@soul {PROBLEM}")
    await house.reply("general", "It is done.")
    found = await shared(house, "launch")
    assert (found["data"], found["author"], found["version"]) == ({"phase": "done"}, "tess", 2)
    script(house, chosen(("Share", 'launch: {"phase": "CANARY"}')), chosen(("Respond", "x")), external_dialog="Done.")
    assert await house.answered("Ada", "dm", PROBLEM) == "Done."
    assert (await shared(house, "launch"))["version"] == 2
    assert "context.refused" in house.events.names
    garbage = ("Share", "launch: {"), ("Share", "elsewhere: {}"), ("Share", 'launch: {"a": NaN}')
    script(house, *(chosen(one) for one in garbage), chosen(("Respond", "x")), external_dialog="Done.")
    await house.say("Ada", "general", f"@soul {PROBLEM}")
    await house.reply("general", "Done.")
    assert (await shared(house, "launch"))["version"] == 2


@pytest.mark.parametrize(
    ("room", "binding", "why"),
    [
        ("dm", (), "is not for all who read launch"),
        ("general", ("--writers", "rolf"), "tess may not write launch"),
    ],
)
async def test_the_loop_is_told_at_once_why_a_change_is_refused(
    empty_house: House, room: str, binding: tuple[str, ...], why: str
) -> None:
    house = empty_house
    await solver(house, shared_contexts=("launch",))
    await house.command("context", "set", "launch", '{"left": 2}')
    if binding:
        await house.command("context", "define", "launch", *binding)
    script(house, chosen(("Share", 'launch: {"phase": "x"}')), chosen(("Respond", "no")), external_dialog="I can't.")
    await house.say("Ada", room, f"@soul {PROBLEM}")
    await house.reply("D0ADA" if room == "dm" else room, "I can't.")
    told = "\n".join(shown(prompt) for prompt in house.prompts)
    assert "Nothing was shared: " in told
    assert why in told
    assert "is changed when you answer" not in told


async def test_others_see_what_a_soul_does_and_only_the_admin_sees_it_in_a_dm(house: House) -> None:
    async def souls() -> list[tuple[str, dict[str, object]]]:
        found = json.loads(await house.command("context", "presence", "souls", "--json"))
        return [(one["member"], one["state"]) for one in found]

    async def shows(**state: object) -> None:
        async def seen() -> bool:
            return await souls() == [(house.settings.name, state)]

        await house.when(seen)

    await shows(doing="idle")
    flow = house.flow()
    await house.say("Ada", "dm", "hello")
    await flow.asked.wait()
    where = [str((await house.one("SELECT conversation FROM inbox"))["conversation"])]
    await shows(doing="thinking", where=where)
    awareness = house.built.store.contexts.awareness
    (known,) = await awareness.members("souls", Audience(AudienceKind.DM, "D0BEN"))
    assert known.state == {"doing": "thinking"}
    flow.end(OPENING, "Hello.", CLOSING)
    await house.reply("D0ADA", "Hello.")
    await shows(doing="idle")
    await house.stop()
    assert await souls() == []
