"""A workflow asks the soul: one answer for its next steps, or a clear error, once, from what everybody may know."""

import asyncio
import re

import pytest

from daemon.core.errors import ModelUnavailable
from daemon.core.sentences import SENTENCES
from daemon.local_slack.model import Json
from tests.fakes import TIMEOUT
from tests.given import shown
from tests.journeys.house import House
from tests.models import FakeModel, Flow

QUESTION, ANSWER = "When is the kiln fired?", "On Thursdays, at dawn."
_CALLS = ("functions.completeSuccess", "functions.completeError")


@pytest.fixture
def empty_house(empty_house: House) -> House:
    """The workspace whose admin lets workflows ask, and no daemon yet."""
    empty_house.settings = empty_house.settings.model_copy(update={"workflow_step": True})
    return empty_house


async def _ended(house: House, step: str) -> Json:
    """Wait until a step has ended; gives it."""

    async def look() -> Json | None:
        found = await house.people.step(step)
        return found if found["state"] != "running" else None

    return await house.until(look)


async def _completions(house: House) -> list[tuple[str, Json]]:
    calls = await house.people.calls()
    return [(call["method"], call["answer"]) for call in calls if call["method"] in _CALLS]


async def _asked(held: Flow) -> None:
    async with asyncio.timeout(TIMEOUT):
        await held.asked.wait()


def _event(house: House, **changes: object) -> Json:
    """A `function_executed` made by hand."""
    function = {"callback_id": "ask_soul", "app_id": house.workspace.workspace.state.app.app_id}
    event = {"type": "function_executed", "function": function, "function_execution_id": "FxHAND", "event_ts": "1.0"}
    return {**event, "inputs": {"question": QUESTION}, **changes}


async def test_a_workflow_gets_one_answer_and_its_question_is_data(house: House) -> None:
    house.model.replies.append(ANSWER)
    step = await house.people.run_step(QUESTION)
    assert await _ended(house, step) == {
        "execution": step,
        "state": "succeeded",
        "outputs": {"answer": ANSWER},
        "error": "",
    }
    await house.idle()
    assert len(house.prompts) == 1
    assert "direct message" not in house.last_prompt()
    assert re.search(rf'<note-\w+ about="from a workflow">\s*{re.escape(QUESTION)}\s*</note-', shown(house.prompts[0]))
    assert await house.posting_calls() == [], "no message is posted"
    assert await house.rows("SELECT 1 FROM turns WHERE speaker <> 'soul'") == []
    assert await house.rows("SELECT 1 FROM user_models") == []
    assert await house.rows("SELECT 1 FROM jobs") == []
    assert await house.rows("SELECT 1 FROM intentions") == []
    files = [one.read_bytes() for one in house.settings.home.rglob("*") if one.is_file()]
    assert any(QUESTION.encode() in one for one in files)
    assert not any(b"xwfp-" in one for one in files), "the token of a step is kept nowhere"
    assert "xwfp-" not in str(house.events.emitted)


async def test_a_step_that_slack_tells_of_twice_is_answered_once(house: House) -> None:
    house.model.replies.append(ANSWER)
    for _ in range(2):
        await house.people.emit(_event(house))
    await house.events.until("workflow.step_over")
    await house.idle()
    await house.heard(house.people.emit(_event(house)))
    await house.idle()
    assert len(house.prompts) == 1
    assert len(await _completions(house)) == 1


@pytest.mark.slow
async def test_of_two_daemons_one_answers_a_step(house: House) -> None:
    await house.start()
    house.model.replies.append(ANSWER)
    for _ in range(2):
        await house.people.emit(_event(house))
    step = await house.people.run_step(QUESTION)
    assert (await _ended(house, step))["state"] == "succeeded"
    await house.acknowledged()
    await house.idle()
    assert len(house.prompts) == 2, "one step made by hand, which the workspace does not know, and one of a workflow"
    assert [call for call, answer in await _completions(house) if answer["ok"]] == [_CALLS[0]]


async def test_what_a_workflow_asks_is_answered_by_what_all_may_know_and_known_nowhere_else(house: House) -> None:
    await house.answered("Ada", "dm", "my locker code is nightingale")
    await house.answered("Ada", "founders", "@soul we buy the nightingale works")
    await house.answered("Ada", "general", "@soul the kiln is fired on Thursdays")
    step = await house.people.run_step("What do you know of the nightingale, and when is the kiln fired?")
    await _ended(house, step)
    prompt = house.last_prompt()
    assert "locker" not in prompt
    assert "we buy" not in prompt
    assert "fired on Thursdays" in prompt
    house.model.replies.append(ANSWER)
    await _ended(house, await house.people.run_step("Is the salary of Ben 90 drachmas?"))
    await house.answered("Ada", "general", "@soul what is the salary of Ben in drachmas?")
    assert "90 drachmas" not in house.last_prompt()
    assert ANSWER not in house.last_prompt()


async def test_a_model_that_fails_or_a_blank_question_ends_the_step_with_an_error(house: House) -> None:
    house.model.replies.append(ModelUnavailable("down"))
    ended = await _ended(house, await house.people.run_step(QUESTION))
    assert (ended["state"], ended["error"]) == ("failed", SENTENCES["step_unanswered"])
    await house.idle()
    assert len(await _completions(house)) == 1
    calls = len(house.prompts)
    ended = await _ended(house, await house.people.run_step(" \n "))
    assert (ended["state"], ended["error"]) == ("failed", SENTENCES["step_empty"])
    assert len(house.prompts) == calls


async def test_a_cap_of_nothing_ends_the_step_with_an_error(empty_house: House) -> None:
    model = FakeModel(model="anthropic/claude-sonnet-5-5")
    await empty_house.start(model, max_usd_a_day=0.0)
    ended = await _ended(empty_house, await empty_house.people.run_step(QUESTION))
    assert (ended["state"], ended["error"]) == ("failed", SENTENCES["step_unanswered"])
    assert not model.prompts


async def test_where_the_admin_has_not_allowed_it_a_step_ends_with_an_error(empty_house: House) -> None:
    await empty_house.start(workflow_step=False)
    ended = await _ended(empty_house, await empty_house.people.run_step(QUESTION))
    assert (ended["state"], ended["error"]) == ("failed", SENTENCES["step_off"])
    await empty_house.idle()
    assert empty_house.prompts == []
    assert await empty_house.rows("SELECT 1 FROM inbox") == []


async def test_a_question_that_waited_too_long_ends_with_an_error(house: House) -> None:
    held = house.flow()
    step = await house.people.run_step(QUESTION)
    await _asked(held)
    await house.cut()
    house.clock.turn(house.settings.stale_after + 60)
    await house.start()
    ended = await _ended(house, step)
    assert (ended["state"], ended["error"]) == ("failed", SENTENCES["step_late"])


@pytest.mark.slow
async def test_an_answer_that_was_made_before_a_kill_completes_the_step_after_it(house: House) -> None:
    house.model.replies.append(ANSWER)
    await house.people.fault("functions.completeSuccess", times=1_000, mode="reset_before")
    step = await house.people.run_step(QUESTION)
    await house.events.until("outbox.in_doubt")
    await house.cut()
    await house.people.clear_faults()
    await house.start()
    assert (await _ended(house, step))["outputs"] == {"answer": ANSWER}
    assert len(house.prompts) == 1


async def test_an_answer_that_slack_refuses_ends_the_step_with_an_error(house: House) -> None:
    house.model.replies.append(ANSWER)
    refusal = {"ok": False, "error": "parameter_validation_failed"}
    await house.people.fault("functions.completeSuccess", times=1, mode="answer", body=refusal)
    ended = await _ended(house, await house.people.run_step(QUESTION))
    assert (ended["state"], ended["error"]) == ("failed", SENTENCES["note_dead"])


async def test_a_step_whose_workflow_was_cancelled_is_dropped(house: House) -> None:
    held = house.flow()
    step = await house.people.run_step(QUESTION)
    await _asked(held)
    await house.people.post("cancel_step", execution=step)
    held.end(ANSWER)
    await house.events.until("workflow.step_over")
    await house.idle()
    assert (await house.people.step(step))["state"] == "cancelled"
    assert [row["state"] for row in await house.rows("SELECT state FROM outbox")] == ["sent"]


async def test_a_strange_step_or_that_of_another_app_is_acknowledged_and_dropped(house: House) -> None:
    strange: list[dict[str, object]] = [
        {"function": {"callback_id": "another"}},
        {"function": {"callback_id": "ask_soul", "app_id": "A0OTHER"}},
        {"function": "ask_soul"},
        {"function_execution_id": 7},
        {"function_execution_id": "a/b"},
    ]
    for changes in strange:
        await house.heard(house.people.emit(_event(house, **changes)))
        await house.idle()
        assert await house.rows("SELECT 1 FROM inbox") == [], changes
    assert house.prompts == []
