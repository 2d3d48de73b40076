"""What another package brings is found by its entry points, used where a soul names it, and refused in plain words."""

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


async def test_a_step_is_thought_before_the_reply_and_a_process_entered(empty_house: House, extras: Path) -> None:
    write_soul(empty_house.settings.home, more=f'subprocesses = []\n{NAMED}steps = ["tide"]\n')
    await empty_house.start(name="tess")
    empty_house.model.steps["tide"] += ["It ebbs, gently.", "It turns."]
    empty_house.model.steps["respond"] += [tagged("Good night."), tagged("Good morning.")]
    assert await empty_house.answered("Ada", "dm", "I am tired") == "Good night."
    assert [prompt.step for prompt in empty_house.prompts] == ["tide", "respond"]
    assert "they want their work put into a line for the standup" in str(empty_house.prompts[-1])
    assert "felt the tide: It ebbs, gently." in str(empty_house.prompts[-1])
    assert await empty_house.answered("Ada", "dm", "I slept well") == "Good morning."
    assert "felt the tide: It turns." in str(empty_house.prompts[-1])
    assert "It ebbs" not in str(empty_house.prompts[-1]), "it was of that reply alone"
    assert {row["step"] for row in await empty_house.rows("SELECT step FROM llm_calls")} == {"tide", "respond"}
    empty_house.model.steps["respond"].append(wanting("standup"))
    empty_house.model.steps["standup_line"].append("Fixed the kiln; next the loom; no blockers.")
    line = await empty_house.answered("Ada", "dm", "I fixed the kiln, put that into a line for the standup")
    assert line == "Fixed the kiln; next the loom; no blockers."
    assert any("→ standup, model" in step for step in await empty_house.path())
    assert await empty_house.process() == "engaged", "it is left again"
    assert "Echo" in await empty_house.answered("Ada", "dm", "thanks")


async def test_a_soul_imports_only_what_it_names_and_what_is_there(empty_house: House, extras: Path) -> None:
    write_soul(empty_house.settings.home, more="subprocesses = []")
    await empty_house.start(name="tess")
    await empty_house.answered("Ada", "dm", "hello")
    assert "standup" not in str(empty_house.prompts[-1])
    assert not any(name.startswith("soul_extras") for name in sys.modules)
    write_soul(empty_house.settings.home, more=f"subprocesses = []\n{NAMED}")
    await empty_house.answered("Ada", "dm", "hello again")
    assert "their work put into a line" in str(empty_house.prompts[-1])
    write_soul(empty_house.settings.home, more='subprocesses = []\n[extensions]\nprocesses = ["standpu"]\n')
    await empty_house.answered("Ada", "dm", "and again")
    assert "their work put into a line" in str(empty_house.prompts[-1]), "what is not there leaves the soul as it was"
    assert "no installed package brings 'standpu'" in str(empty_house.events.named("soul.broken")[0]["reason"])


async def test_a_step_that_fails_is_left_out_of_the_reply(empty_house: House, site: Path) -> None:
    code = """
from daemon.core.step import Step
from daemon.mind.extended_steps import StepExtension
IT = StepExtension(lambda soul: Step(name="odd", command="Think.", read=lambda _: 1 / 0, remember=lambda _: ()))
"""
    brings(site, code, "steps")
    write_soul(empty_house.settings.home, more='subprocesses = []\n[extensions]\nsteps = ["odd"]\n')
    await empty_house.start(name="tess")
    empty_house.model.steps["odd"].append("A thought.")
    empty_house.model.steps["respond"].append(tagged("Here I am."))
    assert await empty_house.answered("Ada", "dm", "hello") == "Here I am."
    assert (await empty_house.events.until("extension.failed"))["reason"] == "ZeroDivisionError"


async def test_the_doctor_names_each_extension_with_its_package(empty_house: House, extras: Path) -> None:
    write_soul(empty_house.settings.home, name="minoan", shown="Minoan", more=NAMED)
    env = {"SOUL_PERSONA_MODEL": "extension/parrot/grey", "SOUL_STEP_MODELS": ""}
    said = await empty_house.command("doctor", "--offline", env=env)
    assert "is extended by count (soul-extras 1.1.0), standup (soul-extras 1.1.0)" in said
    assert "the provider parrot is soul-extras 1.1.0" in said


async def test_calls_go_to_a_provider_of_another_package(empty_house: House, extras: Path) -> None:
    write_soul(empty_house.settings.home, more="subprocesses = []")
    settings = empty_house.settings.model_copy(update={"persona_model": "extension/parrot/grey"})
    llm = build_llm(settings, TurnableClock(), lambda _event, /, **_fields: None)
    await empty_house.start(llm, name="tess")
    assert await empty_house.answered("Ada", "dm", "polly") == "Squawk: polly"
    models = await empty_house.rows("SELECT DISTINCT model FROM llm_calls")
    assert {row["model"] for row in models} == {"extension/parrot/grey"}


async def test_what_cannot_be_used_stops_the_start_with_its_file_and_field(empty_house: House, extras: Path) -> None:
    named_as_ours = "from daemon.ism.extended import ActionExtension\nIT = ActionExtension('think', 'x', None)"
    refused: tuple[tuple[str, str, str | None, str], ...] = (
        ("actions", "empty", "", "can't be imported: AttributeError"),
        ("actions", "misses", "import no_such_module", "can't be imported: ModuleNotFoundError: No module named"),
        ("actions", "fails", "1 / 0", "can't be imported: ZeroDivisionError: division by zero"),
        ("actions", "three", "IT = 3", "'three' is a int, no ActionExtension"),
        ("actions", "think", named_as_ours, "calls its action think, as one of the house's"),
        ("actions", "none", None, "no installed package brings 'none' in soul_daemon.actions"),
        ("steps", "odd", "IT = 3", "'odd'"),
        ("steps", "feel", "IT = 3", "'feel'"),
        ("steps", "lost", None, "no installed package brings 'lost'"),
        ("processes", "engaged", "from soul_extras.standup import STANDUP as IT", "is a process of the house"),
        ("processes", "standup", "IT = 3", "several packages bring 'standup'"),
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


_REMEMBERS = """
from daemon.core.step import AnswerForm, Step
from daemon.core.working_memory import Memory, Role, thought
from daemon.mind.extended_steps import StepExtension
def remember(mood):
    said = Memory(Role.ASSISTANT, f"plain {mood}"), Memory(Role.ASSISTANT, f"said {mood}", metadata={"verb": "said"})
    return (*said, thought(mood, "felt"))
IT = StepExtension(lambda soul: Step(
    name="odd", command="Think.", read=str.strip, remember=remember, form=AnswerForm.THOUGHT))
"""


async def test_what_a_private_step_remembers_is_a_thought_however_it_is_written(empty_house: House, site: Path) -> None:
    brings(site, _REMEMBERS, "steps")
    write_soul(empty_house.settings.home, more='subprocesses = []\n[extensions]\nsteps = ["odd"]\n')
    await empty_house.start(name="tess")
    empty_house.model.steps["odd"].append("gloomy")
    empty_house.model.steps["respond"].append(tagged("Good night."))
    assert await empty_house.answered("Ada", "dm", "I am tired") == "Good night."
    [own] = [one.text for one in empty_house.prompts[-1].messages if "gloomy" in one.text]
    assert own.splitlines()[::2] == ["Tess thought: plain gloomy", "Tess thought: said gloomy", "Tess felt: gloomy"]
