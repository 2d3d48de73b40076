"""A run ends by itself: at its bounds, when a daemon dies, when it is interrupted; and tells what was played."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest

from daemon.core.config import Settings
from daemon.core.errors import ConfigError
from daemon.soul import load_soul
from evals.environment import configured_model
from evals.house import RunningDaemon
from evals.play import Limits, play
from evals.run import Order, Rehearsal, Run, exit_code
from evals.scenario import FOLDER, Scenario, read_scenario
from evals.seen import Played
from evals.spending import BoundReached, Spending, estimate
from tests.evals.inside import MODEL, ROOT, launch_inside
from tests.evals.parts import HEAD, TURN, call, scenario
from tests.fakes import TIMEOUT

GREETING = read_scenario(FOLDER / "greeting.toml")


class Dead:
    """A daemon that ended before it was connected."""

    ended = "it ended with status 78"

    async def stop(self) -> None:
        """There is nothing to stop."""


async def launch_dead(home: Path, _: Mapping[str, str]) -> RunningDaemon:
    """A `Launch` whose daemon leaves its last words in the log."""
    (home / "log").write_text("level=error message='settings are wrong'\n", encoding="utf-8")
    return Dead()


def order(*scenarios: Scenario, spending: Spending | None = None) -> Order:
    """Scenarios to be played with their right samples, one after the other."""
    return Order(scenarios, MODEL, spending=spending or Spending(), rehearsal=Rehearsal.RIGHT)


async def test_a_daemon_that_does_not_live_is_reported_with_the_end_of_its_log_and_knew_every_contact(
    tmp_path: Path,
) -> None:
    played = await play(GREETING, MODEL, Limits(TIMEOUT), launch=launch_dead)
    assert played.broke_off.startswith("the daemon is gone: it ended with status 78; its log ends: level=error")
    assert not played.passed
    contact = '[[setup.contacts]]\nname = "Zoë"\nslack = "U0ZOE"\ncan = "fires the 🚀 \\"Ada\\""\n'
    listed: list[str] = []

    async def launch(home: Path, settings: Mapping[str, str]) -> RunningDaemon:
        listed.extend(one.can for one in load_soul(home / "souls", settings["SOUL_NAME"]).contacts)
        return await launch_dead(home, settings)

    await play(scenario(tmp_path, HEAD + contact + TURN), MODEL, Limits(TIMEOUT), launch=launch)
    assert 'fires the 🚀 "Ada"' in listed


async def test_a_daemon_that_dies_or_an_interruption_leaves_what_was_played_before() -> None:
    daemons: list[RunningDaemon] = []

    async def launch(home: Path, settings: Mapping[str, str]) -> RunningDaemon:
        daemons.append(await launch_inside(home, settings))
        return daemons[0]

    def strike(number: int) -> None:
        if number == 1:
            asyncio.get_running_loop().create_task(daemons[0].stop())

    one = read_scenario(FOLDER / "correction.toml")
    played = await play(one, MODEL, Limits(TIMEOUT), launch=launch, on_turn=strike)
    assert played.broke_off.startswith("the daemon is gone")
    assert len(played.turns) == 1
    kept = list[Played]()

    def interrupt(number: int) -> None:
        if number == 1:
            playing.cancel()

    one, limits = read_scenario(FOLDER / "correction.toml"), Limits(TIMEOUT)
    playing = asyncio.create_task(play(one, MODEL, limits, launch=launch_inside, on_turn=interrupt, keep=kept.append))
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert [(each.broke_off, len(each.turns)) for each in kept] == [("cut short", 1)]


async def test_money_or_time_that_is_used_up_or_an_interruption_ends_the_run_with_what_there_is(tmp_path: Path) -> None:
    async def launch(home: Path, settings: Mapping[str, str]) -> RunningDaemon:
        playing.cancel()
        return await launch_inside(home, settings)

    run = Run(order(GREETING), lambda _: None, launch)
    playing = asyncio.create_task(run.play())
    await playing
    assert run.stopped == "interrupted"
    assert exit_code(run) == 2
    spending = Spending(most_usd=0.000001)
    run = Run(order(GREETING, scenario(tmp_path), spending=spending), lambda _: None, launch_inside)
    await run.play()
    assert "--max-usd 1e-06 is used up" in run.stopped
    assert len(run.plays) == 1
    assert exit_code(run) == 2
    run = Run(Order([GREETING], MODEL, seconds=0.05), lambda _: None, launch_inside)
    await run.play()
    assert "the time is over" in run.stopped


async def test_a_step_that_slack_would_not_allow_is_reported(tmp_path: Path) -> None:
    text = 'title = "T"\nabout = "A"\n[[turn]]\nwho = "zoe"\nsays = "Hi"\n[turn.right]\nreply = "Hi."\n'
    one = scenario(tmp_path, f'{text}[turn.wrong]\nfails = ["words"]\nreply = "No."\n')
    played = await play(one, MODEL, Limits(TIMEOUT), launch=launch_inside)
    assert played.broke_off.startswith("turn 1 is not possible in the workspace")


def test_the_plan_says_what_it_costs_and_a_call_that_used_nothing_known_costs_nothing() -> None:
    spending = Spending()
    spending.add([call(cost=None), call(cost=0.5)])
    assert spending.usd == 0.5
    with pytest.raises(BoundReached):
        Spending(most_usd=0.4).add([call(cost=0.5)])
    priced = estimate(configured_model(paid()), [GREETING], 3)
    assert "1 scenarios, 3 times each: 3 messages" in priced
    assert "$" in priced
    unheard = configured_model(paid(persona_model="openai/unheard-of"))
    assert "the price of this model is not known" in estimate(unheard, [GREETING], 1)
    assert "costs nothing" in estimate(MODEL, [GREETING], 1)


def paid(**settings: object) -> Settings:
    return Settings.model_validate({"openai_api_key": "sk-a-key-of-mine", "souls_dir": ROOT / "souls", **settings})


def test_the_models_of_the_settings_are_handed_on_and_only_those_elsewhere_cost() -> None:
    own = {"slack_bot_token": "xoxb-mine", "members": ("U1",), "library": (Path("/home/me"),)}
    given = paid(**own, persona_standby="groq/x", model_timeout=7.0)
    model = configured_model(given)
    assert model.settings == {
        "OPENAI_API_KEY": "sk-a-key-of-mine",
        "SOUL_MODEL_TIMEOUT": "7.0",
        "SOUL_PERSONA_MODEL": model.persona,
        "SOUL_THINKING_MODEL": model.thinking,
    }
    assert model.paid
    assert "xoxb-mine" in model.secrets
    assert not configured_model(paid(openai_base_url="http://127.0.0.1:9/v1")).paid
    assert not configured_model(paid(), model="ollama/qwen3").paid
    assert not configured_model(paid(), model="placeholder/echo").paid
    assert configured_model(paid(), roles=["persona=ollama/qwen3", "thinking=openai/gpt-x"]).paid
    with pytest.raises(ConfigError, match="--role speaker=x is not understood"):
        configured_model(paid(), roles=["speaker=x"])
