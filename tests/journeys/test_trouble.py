"""A failing model causes an apology with a reference and no private text; the next message works (P14, P34)."""

import errno
import re

import pytest

from daemon.core.errors import ConfigError, ModelUnavailable, NoAccess
from tests.given import tagged
from tests.journeys.house import House, said
from tests.models import Flow, Script

_CANARY = "canary"
_THOUGHT = f'<internal_monologue verb="thought">{_CANARY}</internal_monologue>'

TROUBLE: dict[str, tuple[list[Script], list[str]]] = {
    "endless": ([["<x>" + _CANARY * 1000] * 100, ["<x>" + _CANARY * 1000] * 100], ["malformed", "malformed"]),
    "unreachable": ([ModelUnavailable(f"dead host {_CANARY}")], ["unavailable"]),
    "with a wrong key": ([NoAccess(f"no such key: {_CANARY}")], ["refused"]),
    "breaking off twice": (
        [[_THOUGHT, ModelUnavailable("cut")], [_THOUGHT, ModelUnavailable("cut")]],
        ["unavailable", "unavailable"],
    ),
    "only a thought": ([_THOUGHT, _THOUGHT], ["malformed", "malformed"]),
    "an empty reply": ([tagged(""), tagged("  ")], ["malformed", "malformed"]),
    "malformed, then gone": ([_THOUGHT, ModelUnavailable("gone")], ["malformed", "unavailable"]),
}

_EVERY_DAY = ("unreachable", "only a thought")


@pytest.mark.parametrize(
    "trouble",
    [pytest.param(one, marks=() if one in _EVERY_DAY else pytest.mark.slow) for one in TROUBLE],
)
async def test_a_failing_model_means_an_apology_with_reference_and_nothing_private(house: House, trouble: str) -> None:
    replies, outcomes = TROUBLE[trouble]
    house.model.replies.extend(replies)
    words = await house.answered("Ada", "general", "@soul what now?")
    reference = re.search(r"\(Reference ([0-9a-f]{12})\)", words)
    assert words.startswith("I'm sorry: ")
    assert reference
    calls = await house.rows("SELECT outcome, trace_id FROM llm_calls ORDER BY seq")
    assert [call["outcome"] for call in calls] == outcomes
    assert {call["trace_id"] for call in calls} == {reference[1]}
    assert _CANARY not in str(await house.posting_calls())
    assert await house.answered("Ada", "general", "@soul and now?") == "Echo: and now?"


async def test_a_model_that_drips_past_the_deadline_is_cut_off_and_its_draft_an_apology(empty_house: House) -> None:
    await empty_house.start(deadline=60.0, lease=600.0)
    flow = Flow()
    empty_house.model.flows.append(flow)
    await empty_house.say("Ada", "dm", "hello?")
    await flow.asked.wait()
    flow.say('<external_dialogue verb="said">', "Let me think about this for a long, long while, " * 4)
    await empty_house.draft("D0ADA", "long while")
    empty_house.clock.turn(60)
    post = await empty_house.reply("D0ADA", "I took too long")
    await empty_house.idle()
    assert empty_house.model.cut == 1
    assert len(await empty_house.people.posts_by_bot("D0ADA")) == 1
    assert "long while" not in said(post)


async def test_a_fault_of_the_daemon_and_a_wrong_setup_mean_one_apology_and_touch_no_other_talk(house: House) -> None:
    async def broken(_: object) -> str:
        raise KeyError(_CANARY)

    house.model.replies.append(broken)
    assert "something inside me broke" in await house.answered("Ada", "dm", "hello")
    assert await house.answered("Ben", "dm", "hello") == "Echo: hello"
    assert _CANARY not in str(await house.posting_calls())
    failed = house.events.named("cycle.failed")[0]
    assert failed["kind"] == "KeyError"
    assert isinstance(failed["error"], KeyError)
    assert "reason" not in failed  # the error of a library may quote its input; the log decides what shows of it
    house.model.replies.append(ConfigError(f"the key {_CANARY} is wrong"))
    words = await house.answered("Ada", "dm", "hello")
    assert "something in my set-up is wrong" in words
    assert _CANARY not in words


async def test_a_message_waits_uncounted_while_the_machine_lacks_something(house: House) -> None:
    async def lacking(_: object) -> str:
        raise OSError(errno.EMFILE, "Too many open files")

    house.model.replies += [lacking] * 5
    await house.say("Ada", "dm", "hello")
    for tried in range(1, 6):
        await house.events.until("loop.failed", tried, reason="OSError")
        house.clock.turn(6)
    assert said(await house.reply("D0ADA", "Echo")) == "Echo: hello"
    assert len(await house.people.posts_by_bot("D0ADA")) == 1
    assert (await house.one("SELECT attempts FROM inbox"))["attempts"] == 1
    assert not {"inbox.failed", "cycle.failed", "llm.circuit_opened"} & set(house.events.names)


@pytest.mark.slow
async def test_a_message_that_crashes_its_daemon_repeatedly_is_given_up_with_an_apology(house: House) -> None:
    await house.answered("Ada", "dm", "hello")
    await house.stop()
    ts = await house.say("Ada", "dm", "the poison")
    house.clock.turn(600)
    await house.start(max_cycles=1, lease=600.0)
    await house.reply("D0ADA", "the poison")
    await house.stop()
    await house.change("UPDATE inbox SET state = 'claimed', attempts = 3 WHERE ts = ?", ts)
    await house.start()
    post = await house.reply("D0ADA", "I stumbled over this message several times")
    await house.idle()
    assert "Reference" in said(post)
    assert len(house.prompts) == 2
