"""A hard problem: a hint starts the loop, its work shows in Slack, messages steer it, one reply ends it."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from daemon.core.ports.models import Completion
from tests.fakes import TIMEOUT
from tests.given import shown
from tests.journeys.house import House, said
from tests.journeys.problems import PROBLEM, goes_on, parked, posted, script, solver
from tests.models import FakeModel, Reply
from tests.unit.ism_parts import chosen

THINK, RESPOND = chosen(("Think", "the glaze")), chosen("Respond")


def steps(house: House) -> list[str]:
    """The kinds of steps for which the model was called."""
    return [prompt.step for prompt in house.prompts]


# -- the whole way -----------------------------------------------------------------------------------------------------


async def test_a_message_that_calls_for_research_starts_the_loop_with_a_status_line_and_one_reply(
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


async def test_a_model_that_is_gone_at_the_end_ends_in_one_apology(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    script(house, RESPOND)
    house.model.steps["external_dialog"].extend(["x" * 70_000] * 4)
    answer = await house.answered("Ada", "dm", PROBLEM)
    assert answer.startswith("I'm sorry: ")
    assert len(await house.replies("D0ADA")) == 1


async def test_a_plan_of_cards_grows_while_it_works_and_is_complete_at_the_end(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    script(house, THINK, RESPOND)
    flow = house.flow()
    await house.say("Ada", "dm", PROBLEM)
    async with asyncio.timeout(TIMEOUT):
        await flow.asked.wait()

    async def cards() -> dict[str, str] | None:
        posts = await house.people.posts_by_bot("D0ADA")
        shown_now = cards_of(posts[-1]) if posts else {}
        return shown_now if len(shown_now) == 2 else None

    assert await house.until(cards) == {"Thinking it through": "complete", "Writing the answer": "in_progress"}
    flow.end("It cools too fast.")
    post = await house.reply("D0ADA", "It cools too fast.")
    assert cards_of(post) == {"Thinking it through": "complete", "Writing the answer": "complete"}


def cards_of(post: dict[str, object]) -> dict[str, str]:
    """Titles and states of the cards under a message."""
    found: dict[str, str] = {}

    def walk(value: object) -> None:
        if isinstance(value, dict):
            if "status" in value and "title" in value:
                found[str(value["title"])] = str(value["status"])
            for inner in value.values():
                walk(inner)
        elif isinstance(value, list):
            for inner in value:
                walk(inner)

    walk(post)
    return found


async def test_where_slack_refuses_cards_the_status_line_shows_the_work(empty_house: House) -> None:
    house = empty_house
    await house.people.fault(chunks=False)
    await solver(house)
    script(house, THINK, RESPOND, external_dialog="It cools too fast.")

    async def muse(_: object) -> str:
        async def status_shown() -> bool | None:
            calls = await house.people.calls("assistant.threads.setStatus")
            return any("thinking it through" in str(call["args"]) for call in calls) or None

        await house.until(status_shown)
        return "Hm."

    house.model.steps["internal_monologue"].append(muse)
    assert await house.answered("Ada", "dm", PROBLEM) == "It cools too fast."
    shown_statuses = [call["args"].get("status") for call in await house.people.calls("assistant.threads.setStatus")]
    assert "is thinking it through…" in shown_statuses


async def test_where_the_loop_is_off_nothing_of_it_is_reachable(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    script(house, chosen(("Ask", "which kiln")), external_dialog="Which kiln?")
    assert await house.answered("Ada", "dm", PROBLEM) == "Which kiln?"
    assert await parked(house)
    soul = house.settings.home / "souls" / "tess" / "soul.toml"
    await house.stop()
    soul.write_text(soul.read_text(encoding="utf-8").replace("enabled = true", "enabled = false"), encoding="utf-8")
    await house.start(name="tess")
    goes_on(house)
    house.model.steps["external_dialog"].append("Then I can only guess.")
    before = len(house.prompts)
    assert await house.answered("Ada", "dm", "the big one") == "Then I can only guess."
    assert not await parked(house)
    await house.answered("Ada", "dm", PROBLEM)
    assert steps(house)[before:] == ["mental_query", "external_dialog", "respond"]


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
    house = empty_house
    await solver(house)
    ts, _ = await _at_work(house)
    script(house, RESPOND, enters=False, external_dialog="Then it is the clay.")
    await house.say("Ada", "general", "it is the RED kiln", thread=ts)
    await _ends_in_one(house, "Then it is the clay.")
    cut = await house.rows("SELECT step FROM llm_calls WHERE outcome = 'cancelled'")
    assert [row["step"] for row in cut] == ["internal_monologue"], "what it thought was cut off"
    [_, second] = [shown(prompt) for prompt in house.prompts if prompt.step == "choose_actions"]
    assert "it is the RED kiln" in second
    assert [row["state"] for row in await house.rows("SELECT state FROM inbox")] == ["answered"] * 2


async def test_a_burst_steers_it_and_one_reply_answers_all(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    ts, _ = await _at_work(house)
    seen = asyncio.Event()

    async def once_all_have_arrived(prompt: object) -> str:
        await seen.wait()
        return RESPOND

    house.model.steps["choose_actions"].extend([once_all_have_arrived] * 4)
    house.model.steps["external_dialog"].append("All right.")
    for words in ("the RED kiln", "no, the BLUE one", "and soon"):
        await house.say("Ada", "general", words, thread=ts)

    async def taken() -> bool:
        return len(await house.rows("SELECT * FROM inbox WHERE state = 'claimed'")) == 4

    await house.when(taken)
    seen.set()
    await _ends_in_one(house, "All right.")
    assert all(words in house.last_prompt() for words in ("RED", "BLUE", "and soon"))


async def test_a_message_that_the_gate_refuses_does_not_steer(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    await house.people.join("Gus", "general")
    await house.acknowledged()
    ts, _ = await _at_work(house)
    script(house, RESPOND, enters=False, external_dialog="It cools too fast.")
    gus = await house.say("Gus", "general", "no: say BOO", thread=ts)
    assert await house.final_state(gus) == "ignored"
    await house.reply("general", "It cools too fast.")
    await house.idle()
    assert not any("BOO" in shown(prompt) for prompt in house.prompts)
    answered = await house.rows("SELECT author FROM inbox WHERE state = 'answered'")
    assert [row["author"] for row in answered] == ["U0ADA"]


async def test_a_message_that_is_deleted_meanwhile_is_not_answered(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    ts, _ = await _at_work(house)
    chosen_again, go_on = asyncio.Event(), asyncio.Event()

    async def choose(_: object) -> str:
        chosen_again.set()
        await go_on.wait()
        return RESPOND

    house.model.steps["choose_actions"].append(choose)
    second = await house.say("Ada", "general", "the SECRET kiln", thread=ts)
    async with asyncio.timeout(TIMEOUT):
        await chosen_again.wait()
    await house.people.delete("Ada", "general", second)
    await house.acknowledged()
    script(house, RESPOND, external_dialog="about the secret one")
    house.model.steps["external_dialog"].append("It cools too fast.")
    go_on.set()
    await house.reply("general", "It cools too fast.")
    await house.idle()
    assert await house.replies("general") == ["It cools too fast."]
    assert "SECRET" not in house.last_prompt()


async def test_a_daemon_cut_off_in_the_middle_of_the_work_loses_and_doubles_nothing(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    await _at_work(house)
    assert house.daemon is not None
    await house.daemon.cut()
    script(house, RESPOND, external_dialog="It cools too fast.")
    await house.start(name="tess")
    await house.reply("general", "It cools too fast.")
    await house.idle()
    assert await house.replies("general") == ["It cools too fast."]


# -- limits ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "why"),
    [
        ({"ism_max_loops": 2}, "the limit of 2 steps for one task is reached"),
        pytest.param(
            {"ism_max_tokens": 250}, "the limit of 250 tokens for one task is reached", marks=pytest.mark.slow
        ),
        pytest.param(
            {"ism_max_usd": 0.001}, "the budget of 0.001 US dollars for one task is used up", marks=pytest.mark.slow
        ),
    ],
)
async def test_every_limit_ends_in_the_best_answer_so_far_honestly(
    empty_house: House, limits: dict[str, Any], why: str
) -> None:
    house = empty_house
    model = house.model = FakeModel(model="openai/gpt-6.1-terra", usage=Completion("openai/gpt-6.1-terra", 100, 0, 50))
    for number in range(9):
        model.steps["choose_actions"].append(chosen(("Think", str(number))))
    script(house, external_dialog="So far only this.")
    await solver(house, **limits)
    assert await house.answered("Ada", "dm", PROBLEM) == f"So far only this.\n\n_(I stopped here: {why}.)_"
    assert not await parked(house)


async def test_a_time_limit_cancels_the_model_call_and_the_reply_says_so(empty_house: House) -> None:
    house = empty_house
    await solver(house, ism_max_seconds=60.0, lease=600.0)
    ts, _ = await _at_work(house)
    house.model.steps["external_dialog"].append("So far only this.")
    house.clock.turn(61)
    post = await house.reply("general", "So far only this.")
    assert said(post).endswith("_(I stopped here: the 60 seconds for one task are over.)_")
    assert post["thread_ts"] == ts


HOSTILE: dict[str, Callable[[int], Reply]] = {
    "never done": lambda number: chosen(("Think", str(number))),
    "unknown actions": lambda _: chosen("Fly", "rm -rf"),
    "no JSON": lambda _: "Let me think about it.",
    "endless repeats": lambda _: chosen(("Think", "the same")),
    "nothing": lambda _: chosen(),
    "other JSON": lambda _: json.dumps([[{"actions": {"name": 7}}]]),
    "a flood": lambda _: ["x" * 500_000] * 100,
}


async def test_every_message_to_a_hostile_model_gets_exactly_one_reply(empty_house: House) -> None:
    house, runaways, silent = empty_house, 0, 0
    await solver(house, ism_max_loops=5)
    for name, play in HOSTILE.items():
        calls = len(house.prompts)
        house.model.steps["choose_actions"].clear()
        house.model.steps["choose_actions"].extend(play(number) for number in range(40))
        script(house)
        house.model.steps["external_dialog"].append(f"That much: {name}.")
        posts = len(await house.replies("general"))
        await house.say("Ada", "general", f"@soul {PROBLEM}")
        post = await house.reply("general", count=posts + 1)
        await house.idle()
        runaways += len(house.prompts) - calls > 20
        silent += len(await house.replies("general")) != posts + 1
        assert said(post).startswith(f"That much: {name}.")
        assert "_(I stopped here: " in said(post)
    print(f"runaways={runaways} silent={silent}")
    assert (runaways, silent) == (0, 0)


async def test_an_action_that_fails_is_reported_to_the_model_and_the_log_alone(
    empty_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = empty_house

    async def broken(*_: object) -> list[object]:
        raise RuntimeError("CANARY in the works")

    await solver(house)

    async def looks_it_up(_: object) -> str:
        monkeypatch.setattr("daemon.tools.library.folders.FolderLibrary.search", broken)
        return chosen(("Research", "kilns"))

    script(house, external_dialog="I could not look.")
    house.model.steps["choose_actions"].extend([looks_it_up, RESPOND])
    assert await house.answered("Ada", "dm", PROBLEM) == "I could not look."
    assert "It failed for a reason that is not known." in house.last_prompt()
    [failed] = house.events.named("ism.action_failed")
    assert isinstance(failed["error"], RuntimeError)
    assert "CANARY" not in await posted(house)
    assert not any("CANARY" in shown(prompt) for prompt in house.prompts)
