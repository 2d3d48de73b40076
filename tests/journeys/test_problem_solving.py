"""A hard problem: a hint starts the loop, its work shows in Slack, messages steer it, one reply ends it."""

import asyncio

from daemon.local_slack.model import Json
from tests.fakes import TIMEOUT
from tests.given import shown
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, cards, goes_on, parked, posted, script, solver
from tests.unit.ism_parts import chosen

THINK, RESPOND = chosen(("Think", "the glaze")), chosen("Respond")


def steps(house: House) -> list[str]:
    """The kinds of steps for which the model was called."""
    return [prompt.step for prompt in house.prompts]


def states(*posts: Json) -> dict[str, str]:
    """Titles and states of the cards under messages."""
    return {one["title"]: one["status"] for post in posts for one in cards(post)}


# -- the whole way -----------------------------------------------------------------------------------------------------


async def test_a_message_that_calls_for_research_starts_the_loop_and_cards_grow_to_one_reply(
    empty_house: House,
) -> None:
    house = empty_house
    await solver(house)
    script(
        house,
        chosen(("Think", "CANARY-INPUT"), reasoning="CANARY-REASON"),
        RESPOND,
        internal_monologue="CANARY-THOUGHT",
        external_dialog="It cools too fast.",
    )
    assert await house.answered("Ada", "dm", PROBLEM) == "It cools too fast."
    assert steps(house) == ["respond", "choose_actions", "internal_monologue", "choose_actions", "external_dialog"]
    assert "CANARY-THOUGHT" in house.last_prompt(), "what it thought feeds the answer"
    left = await posted(house)
    assert "CANARY" not in left
    assert await house.path() == [
        "enter: engaged → greeting, rule",
        "move: greeting → problem_solving, model",
        "move: problem_solving → engaged, rule",
    ]
    script(house, RESPOND, external_dialog="It cools too fast [1], said [2, 3] all.")
    assert await house.answered("Ben", "dm", PROBLEM) == "It cools too fast, said all."
    script(empty_house, THINK, RESPOND)
    flow = empty_house.flow()
    await empty_house.say("Chloe", "dm", PROBLEM)
    async with asyncio.timeout(TIMEOUT):
        await flow.asked.wait()

    async def both() -> dict[str, str] | None:
        found = states(*await empty_house.people.posts_by_bot("D0CHLOE"))
        return found if len(found) == 2 else None

    assert await empty_house.until(both) == {"Thinking it through": "complete", "Writing the answer": "in_progress"}
    flow.end("It cools too fast.")
    post = await empty_house.reply("D0CHLOE", "It cools too fast.")
    assert states(post) == {"Thinking it through": "complete", "Writing the answer": "complete"}


async def test_where_the_loop_is_off_nothing_of_it_is_reachable(empty_house: House) -> None:
    await solver(empty_house)
    script(empty_house, chosen(("Ask", "which kiln")), external_dialog="Which kiln?")
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "Which kiln?"
    assert await parked(empty_house)
    soul = empty_house.settings.home / "souls" / "tess" / "soul.toml"
    await empty_house.stop()
    soul.write_text(soul.read_text(encoding="utf-8").replace("enabled = true", "enabled = false"), encoding="utf-8")
    await empty_house.start(name="tess")
    goes_on(empty_house)
    empty_house.model.steps["external_dialog"].append("Then I can only guess.")
    before = len(empty_house.prompts)
    assert await empty_house.answered("Ada", "dm", "the big one") == "Then I can only guess."
    assert not await parked(empty_house)
    await empty_house.answered("Ada", "dm", PROBLEM)
    assert steps(empty_house)[before:] == ["mental_query", "external_dialog", "respond"]


# -- steering ----------------------------------------------------------------------------------------------------------


async def _at_work(house: House) -> tuple[str, asyncio.Event]:
    """The soul works on a problem of Ada's until the test lets it end; gives the ts of her message."""
    thinking, never = asyncio.Event(), asyncio.Event()

    async def muse(_: object) -> str:
        thinking.set()
        await never.wait()
        return "never"

    script(house, THINK)
    house.model.steps["internal_monologue"].append(muse)
    ts = await house.say("Ada", "general", f"@soul {PROBLEM}")
    async with asyncio.timeout(TIMEOUT):
        await thinking.wait()
    return ts, never


async def _ends_in_one(house: House, words: str) -> None:
    """The one reply stands, and nothing follows it."""
    await house.reply("general", words)
    await house.acknowledged()
    await house.idle()
    assert await house.replies("general") == [words]
    assert len(house.events.named("cycle.committed")) == 1


async def test_a_plain_reply_steers_the_work_and_one_reply_answers_both(empty_house: House) -> None:
    await solver(empty_house)
    ts, _ = await _at_work(empty_house)
    script(empty_house, RESPOND, enters=False, external_dialog="Then it is the clay.")
    await empty_house.say("Ada", "general", "it is the RED kiln", thread=ts)
    await _ends_in_one(empty_house, "Then it is the clay.")
    cut = await empty_house.rows("SELECT step FROM llm_calls WHERE outcome = 'cancelled'")
    assert [row["step"] for row in cut] == ["internal_monologue"], "what it thought was cut off"
    [_, second] = [shown(prompt) for prompt in empty_house.prompts if prompt.step == "choose_actions"]
    assert "it is the RED kiln" in second
    assert [row["state"] for row in await empty_house.rows("SELECT state FROM inbox")] == ["answered"] * 2


async def test_a_daemon_cut_off_in_the_middle_of_the_work_loses_and_doubles_nothing(empty_house: House) -> None:
    await solver(empty_house)
    await _at_work(empty_house)
    await empty_house.cut()
    script(empty_house, RESPOND, external_dialog="It cools too fast.")
    await empty_house.start(name="tess")
    await empty_house.reply("general", "It cools too fast.")
    await empty_house.idle()
    assert await empty_house.replies("general") == ["It cools too fast."]
