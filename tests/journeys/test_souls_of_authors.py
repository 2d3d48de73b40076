"""What a soul's author writes into its folder is what the model reads and what people see."""

from pathlib import Path

from tests.given import shown, wanting
from tests.journeys.house import House
from tests.journeys.souls import write_soul
from tests.unit.ism_parts import chosen


def write_state(home: Path, state: str, text: str, soul: str = "tess") -> None:
    folder = home / "souls" / soul / "states"
    folder.mkdir(exist_ok=True)
    (folder / f"{state}.md").write_text(text, encoding="utf-8")


async def test_a_states_file_changes_what_the_model_reads_without_a_restart(empty_house: House) -> None:
    write_soul(empty_house.settings.home)
    write_state(empty_house.settings.home, "greeting", "Offer them a thread and ask its colour.")
    await empty_house.start(name="tess")
    await empty_house.answered("Ada", "dm", "hello")
    assert "Offer them a thread and ask its colour." in empty_house.last_prompt()
    assert "You have not met this person here before" not in empty_house.last_prompt(), "it stands in the house's place"
    write_state(empty_house.settings.home, "curious", "Look at their hands.")
    await empty_house.answered("Ada", "dm", "I weave")
    assert "Look at their hands." in empty_house.last_prompt()
    write_state(empty_house.settings.home, "curius", "Look away.")
    await empty_house.answered("Ada", "dm", "still here")
    assert "Look at their hands." in empty_house.last_prompt(), "the last valid soul stays in use"
    [broken] = empty_house.events.named("soul.broken")
    assert "states/curius.md: there is no state 'curius'; did you mean curious.md?" in str(broken["reason"])


async def test_a_playbook_a_goal_and_a_stance_of_the_soul_lead_its_work(empty_house: House) -> None:
    house = empty_house
    write_soul(house.settings.home, more='[ism]\nenabled = true\ngoal = "Weave it so that it holds."\n')
    (house.settings.home / "souls" / "tess" / "playbook.md").write_text("Pull each thread once.", encoding="utf-8")
    write_state(house.settings.home, "problem_solving", "Name the knot first.")
    await house.start(name="tess")
    house.model.replies.append(wanting("research"))
    house.model.steps["choose_actions"].append(chosen("Respond"))
    await house.answered("Ada", "dm", "why does the cloth tear?")
    choosing = next(shown(prompt) for prompt in house.prompts if prompt.step == "choose_actions")
    assert "## Goal\n\nWeave it so that it holds." in choosing
    assert "## Playbook\n\nPull each thread once." in choosing
    assert "Name the knot first." in house.last_prompt()
