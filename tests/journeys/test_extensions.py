"""What another package brings is found by its entry points, used where a soul names it, and refused in plain words."""

import json
import sys
from pathlib import Path

import pytest

from daemon.core.config import Settings
from daemon.core.errors import ConfigError, SoulError
from daemon.llm.router import build_llm, choose_models
from tests.fakes import TurnableClock
from tests.given import tagged, wanting
from tests.journeys.house import House
from tests.journeys.packages import brings
from tests.journeys.problems import PROBLEM, script
from tests.journeys.souls import write_soul
from tests.unit.ism_parts import chosen

NAMED = '[extensions]\nactions = ["count"]\nprocesses = ["standup"]\n'


async def test_the_soul_uses_an_action_of_another_package_at_a_hard_problem(empty_house: House, extras: Path) -> None:
    house = empty_house
    looms = house.settings.home / "looms"
    looms.mkdir()
    (looms / "looms.md").write_text("# Looms\n\nLooms squeak.\n")
    write_soul(house.settings.home, more=f"subprocesses = []\n{NAMED}[ism]\nenabled = true\n")
    await house.start(name="tess", library_public=(looms,))
    script(house, chosen(("Count", "one two three")), chosen("Respond"), external_dialog="Three words.")
    assert await house.answered("Ada", "dm", PROBLEM) == "Three words."
    choices = [prompt for prompt in house.prompts if prompt.step == "choose_actions"]
    assert "count the words of a text" in str(choices[0])
    assert "It has 3 words." in str(choices[1])


async def test_a_process_of_another_package_is_entered_by_its_wish_and_left_again(
    empty_house: House, extras: Path
) -> None:
    house = empty_house
    write_soul(house.settings.home, more=f"subprocesses = []\n{NAMED}")
    await house.start(name="tess")
    house.model.steps["respond"].append(wanting("standup"))
    house.model.steps["standup_line"].append("Fixed the kiln; next the loom; no blockers.")
    line = await house.answered("Ada", "dm", "I fixed the kiln, put that into a line for the standup")
    assert line == "Fixed the kiln; next the loom; no blockers."
    assert "they want their work put into a line for the standup" in str(house.prompts[0])
    path = await house.path()
    assert any("→ standup, model" in step for step in path)
    assert await house.process() == "engaged"
    assert "Echo" in await house.answered("Ada", "dm", "thanks")


async def test_a_soul_that_names_nothing_has_none_of_it_and_nothing_is_imported(
    empty_house: House, extras: Path
) -> None:
    house = empty_house
    write_soul(house.settings.home, more="subprocesses = []")
    await house.start(name="tess")
    await house.answered("Ada", "dm", "hello")
    assert "standup" not in str(house.prompts[0])
    assert not any(name.startswith("soul_extras") for name in sys.modules)


async def test_a_step_of_another_package_is_thought_before_the_reply_and_never_shown(
    empty_house: House, extras: Path
) -> None:
    house = empty_house
    write_soul(house.settings.home, more='subprocesses = []\n[extensions]\nsteps = ["tide"]\n')
    await house.start(name="tess")
    house.model.steps["tide"] += ["It ebbs, gently.", "It turns."]
    house.model.steps["respond"] += [tagged("Good night."), tagged("Good morning.")]
    assert await house.answered("Ada", "dm", "I am tired") == "Good night."
    assert [prompt.step for prompt in house.prompts] == ["tide", "respond"]
    assert "felt the tide: It ebbs, gently." in str(house.prompts[-1])
    assert await house.answered("Ada", "dm", "I slept well") == "Good morning."
    assert "felt the tide: It turns." in str(house.prompts[-1])
    assert "It ebbs" not in str(house.prompts[-1]), "it was of that reply alone"
    assert {row["step"] for row in await house.rows("SELECT step FROM llm_calls")} == {"tide", "respond"}


async def test_a_step_that_fails_is_left_out_of_the_reply(empty_house: House, site: Path) -> None:
    house = empty_house
    code = """
from daemon.core.step import Step
from daemon.mind.extended_steps import StepExtension
IT = StepExtension(lambda soul: Step(name="odd", command="Think.", read=lambda _: 1 / 0, remember=lambda _: ()))
"""
    brings(site, code, "steps")
    write_soul(house.settings.home, more='subprocesses = []\n[extensions]\nsteps = ["odd"]\n')
    await house.start(name="tess")
    house.model.steps["odd"].append("A thought.")
    house.model.steps["respond"].append(tagged("Here I am."))
    assert await house.answered("Ada", "dm", "hello") == "Here I am."
    assert (await house.events.until("extension.failed"))["reason"] == "ZeroDivisionError"


@pytest.mark.parametrize(("name", "code"), [("odd", "IT = 3"), ("feel", "IT = 3"), ("odd", None)])
async def test_a_step_that_cannot_be_used_stops_the_start_with_its_file_and_field(
    empty_house: House, site: Path, name: str, code: str | None
) -> None:
    if code is not None:
        brings(site, code, "steps", name)
    write_soul(empty_house.settings.home, more=f'[extensions]\nsteps = ["{name}"]\n')
    with pytest.raises(SoulError, match=r"soul.toml:\d+ extensions.steps: "):
        await empty_house.start(name="tess")


async def test_the_doctor_names_providers_with_their_package(empty_house: House, extras: Path) -> None:
    said = await empty_house.command(
        "doctor", "--offline", env={"SOUL_PERSONA_MODEL": "extension/parrot/grey", "SOUL_STEP_MODELS": ""}
    )
    assert "the provider parrot is soul-extras 1.1.0" in said


async def test_calls_go_to_a_provider_of_another_package(empty_house: House, extras: Path) -> None:
    house = empty_house
    write_soul(house.settings.home, more="subprocesses = []")
    settings = house.settings.model_copy(update={"persona_model": "extension/parrot/grey"})
    llm = build_llm(settings, TurnableClock(), lambda _event, /, **_fields: None)
    await house.start(llm, name="tess")
    assert await house.answered("Ada", "dm", "polly") == "Squawk: polly"
    models = await house.rows("SELECT DISTINCT model FROM llm_calls")
    assert {row["model"] for row in models} == {"extension/parrot/grey"}


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("", "can't be imported: AttributeError"),
        ("import no_such_module_at_all", "can't be imported: ModuleNotFoundError: No module named"),
        ("1 / 0", "can't be imported: ZeroDivisionError: division by zero"),
        ("IT = 3", "'odd' is a int, no ActionExtension"),
        (
            "from daemon.ism.extended import ActionExtension\nIT = ActionExtension('think', 'x', None)",
            "calls its action think, as one of the house's",
        ),
        (None, "no installed package brings 'odd' in soul_daemon.actions"),
    ],
)
async def test_an_action_that_cannot_be_used_stops_the_start_with_its_file_and_field(
    empty_house: House, site: Path, code: str | None, why: str
) -> None:
    if code is not None:
        brings(site, code)
    write_soul(empty_house.settings.home, more='[extensions]\nactions = ["odd"]\n')
    with pytest.raises(SoulError) as caught:
        await empty_house.start(name="tess")
    assert why in caught.value.message
    assert "soul.toml" in caught.value.message
    assert "extensions.actions" in caught.value.message


async def test_a_process_with_a_name_of_the_house_and_one_that_two_packages_bring_are_refused(
    empty_house: House, extras: Path
) -> None:
    code = "from soul_extras.standup import STANDUP as IT"
    brings(extras, code, "processes", "engaged")
    brings(extras, code, "processes", "standup", "brought_again")
    write_soul(empty_house.settings.home, more='[extensions]\nprocesses = ["engaged", "standup"]\n')
    with pytest.raises(SoulError) as caught:
        await empty_house.start(name="tess")
    assert "'engaged' is a process of the house" in caught.value.message
    assert "several packages bring 'standup'" in caught.value.message


async def test_an_edit_that_names_what_is_not_there_leaves_the_soul_as_it_was(empty_house: House, extras: Path) -> None:
    house = empty_house
    write_soul(house.settings.home, more=f"subprocesses = []\n{NAMED}")
    await house.start(name="tess")
    write_soul(house.settings.home, more='subprocesses = []\n[extensions]\nprocesses = ["standpu"]\n')
    await house.answered("Ada", "dm", "hello")
    assert "their work put into a line" in str(house.prompts[0])
    assert "no installed package brings 'standpu'" in str(house.events.named("soul.broken")[0]["reason"])


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("extension/parrot", "names no model of a provider"),
        ("extension/magpie/x", "no installed package brings 'magpie'"),
        ("extension/count/x", "no installed package brings 'count' in soul_daemon.providers"),
    ],
)
def test_a_model_whose_provider_is_not_there_is_a_wrong_setting(extras: Path, model: str, why: str) -> None:
    settings = Settings(_env_file=None, persona_model=model)
    with pytest.raises(ConfigError, match=why):
        choose_models(settings)


async def test_the_doctor_names_each_extension_with_its_package(empty_house: House, extras: Path) -> None:
    house = empty_house
    write_soul(house.settings.home, name="minoan", shown="Minoan", more=NAMED)
    await house.start()
    found = json.loads(await house.command("doctor", "--offline", "--json"))
    said = json.dumps(found)
    assert "is extended by count (soul-extras 1.1.0), standup (soul-extras 1.1.0)" in said
