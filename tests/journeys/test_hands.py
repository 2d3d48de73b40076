"""Before each reply the soul looks up what was said and written down: for those who read it, and for no one else."""

from pathlib import Path

import pytest

from bench.hands import grade, load
from tests.given import shown, tagged
from tests.journeys.house import House
from tests.journeys.problems import indexed
from tests.journeys.souls import write_soul


class HouseWorkspace:
    """The workspace of a journey, for the questions."""

    def __init__(self, house: House) -> None:
        self._house = house

    async def tell(self, room: str, person: str, text: str) -> None:
        """See `Workspace.tell`."""
        await self._house.answered(person, room, text if room == "dm" else f"@soul {text}")

    async def ask(self, room: str, person: str, text: str) -> str:
        """See `Workspace.ask`."""
        before = len(self._house.prompts)
        await self.tell(room, person, text)
        return next(shown(prompt) for prompt in self._house.prompts[before:] if prompt.step == "respond")


@pytest.mark.slow
async def test_the_passage_that_answers_is_in_the_prompt_and_no_private_word(
    empty_house: House, tmp_path: Path
) -> None:
    house, corpus = empty_house, load()
    await house.people.add_person("Dan")
    await house.people.join("Dan", "general")
    await house.people.add_channel("lab", kind="group", members=["Chloe", "Dan"])
    await house.people.add_channel("partners", members=["Chloe", "Dan", "Gus"])
    write_soul(house.settings.home, more="subprocesses = []")
    library = corpus.write(tmp_path / "library")
    house.model.default = tagged("Noted.")
    await house.start(name="tess", library=library)
    await indexed(house, len(corpus.library))
    found = await grade(corpus, HouseWorkspace(house))
    assert found.leaked == []
    assert found.asked == 60
    assert len(found.missed) <= 5
