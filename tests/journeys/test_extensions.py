"""What another package brings is found by its entry points, used where a soul names it, and refused in plain words."""

import sys
from pathlib import Path

import pytest

from daemon.core.config import Settings
from daemon.core.errors import ConfigError, SoulError
from daemon.llm.router import build_llm, choose_models
from tests.fakes import TurnableClock
from tests.journeys.house import House
from tests.journeys.packages import brings
from tests.journeys.problems import PROBLEM, script
from tests.journeys.souls import write_soul
from tests.unit.ism_parts import chosen

NAMED = '[extensions]\nactions = ["count"]\n'


async def test_the_soul_uses_an_action_of_another_package_at_a_hard_problem(empty_house: House, extras: Path) -> None:
    looms = empty_house.settings.home / "looms"
    looms.mkdir()
    (looms / "looms.md").write_text("# Looms\n\nLooms squeak.\n")
    write_soul(empty_house.settings.home, more=f"subprocesses = []\n{NAMED}[ism]\nenabled = true\n")
    await empty_house.start(name="tess", library_public=(looms,))
    script(empty_house, chosen(("Count", "one two three")), chosen("Respond"), external_dialog="Three words.")
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "Three words."
    choices = [prompt for prompt in empty_house.prompts if prompt.step == "choose_actions"]
    assert "count the words of a text" in str(choices[0])
    assert "It has 3 words." in str(choices[1])


async def test_a_soul_imports_only_what_it_names_and_what_is_there(empty_house: House, extras: Path) -> None:
    write_soul(empty_house.settings.home, more="subprocesses = []")
    await empty_house.start(name="tess")
    await empty_house.answered("Ada", "dm", "hello")
    assert not any(name.startswith("soul_extras") for name in sys.modules)
    write_soul(empty_house.settings.home, more=f"subprocesses = []\n{NAMED}")
    await empty_house.answered("Ada", "dm", "hello again")
    assert "soul_extras.count" in sys.modules
    write_soul(empty_house.settings.home, shown="Tessa", more='subprocesses = []\n[extensions]\nactions = ["cuont"]\n')
    await empty_house.answered("Ada", "dm", "and again")
    assert "Tessa" not in empty_house.last_prompt(), "what is not there leaves the soul as it was"
    assert "no installed package brings 'cuont'" in str(empty_house.events.named("soul.broken")[0]["reason"])


async def test_the_doctor_names_each_extension_with_its_package(empty_house: House, extras: Path) -> None:
    write_soul(empty_house.settings.home, name="minoan", shown="Minoan", more=NAMED)
    env = {"SOUL_PERSONA_MODEL": "extension/parrot/grey", "SOUL_STEP_MODELS": ""}
    said = await empty_house.command("doctor", "--offline", env=env)
    assert "is extended by count (soul-extras 1.2.0)" in said
    assert "the provider parrot is soul-extras 1.2.0" in said


async def test_calls_go_to_a_provider_of_another_package(empty_house: House, extras: Path) -> None:
    write_soul(empty_house.settings.home, more="subprocesses = []")
    settings = empty_house.settings.model_copy(update={"persona_model": "extension/parrot/grey"})
    llm = build_llm(settings, TurnableClock(), lambda _event, /, **_fields: None)
    await empty_house.start(llm, name="tess")
    assert await empty_house.answered("Ada", "dm", "polly") == "Squawk: polly"
    models = await empty_house.rows("SELECT DISTINCT model FROM llm_calls")
    assert {row["model"] for row in models} == {"extension/parrot/grey"}


async def test_what_cannot_be_used_stops_the_start_with_its_file_and_field(empty_house: House, extras: Path) -> None:
    named_as_ours = "from daemon.ism.machine import ActionExtension\nIT = ActionExtension('think', 'x', None)"
    refused: tuple[tuple[str, str, str | None, str], ...] = (
        ("actions", "empty", "", "can't be imported: AttributeError"),
        ("actions", "misses", "import no_such_module", "can't be imported: ModuleNotFoundError: No module named"),
        ("actions", "fails", "1 / 0", "can't be imported: ZeroDivisionError: division by zero"),
        ("actions", "three", "IT = 3", "'three' is a int, no ActionExtension"),
        ("actions", "think", named_as_ours, "calls its action think, as one of the house's"),
        ("actions", "none", None, "no installed package brings 'none' in soul_daemon.actions"),
        ("actions", "count", "IT = 3", "several packages bring 'count'"),
    )
    for group, name, code, _ in refused:
        if code is not None:
            brings(extras, code, group, name, f"brought_{name}")
    for group, name, _, why in refused:
        write_soul(empty_house.settings.home, more=f'[extensions]\n{group} = ["{name}"]\n')
        with pytest.raises(SoulError) as caught:
            await empty_house.start(name="tess")
        for part in (why, "soul.toml", f"extensions.{group}"):
            assert part in caught.value.message, (group, name)


def test_a_model_whose_provider_is_not_there_is_a_wrong_setting(extras: Path) -> None:
    for model, why in {
        "extension/parrot": "names no model of a provider",
        "extension/magpie/x": "no installed package brings 'magpie'",
        "extension/count/x": "no installed package brings 'count' in soul_daemon.providers",
    }.items():
        with pytest.raises(ConfigError, match=why):
            choose_models(Settings(_env_file=None, persona_model=model))
