"""The rehearsal model in the local workspace: a soul that thinks whole thoughts, without a language model."""

import pytest

from daemon.core.ports.models import Prompt
from daemon.llm.rehearsal import rehearsal_answer
from tests.journeys.house import House, said
from tests.journeys.souls import write_soul
from tests.models import Reply


async def rehearse(prompt: Prompt) -> Reply:
    """Answer as the rehearsal model does."""
    return rehearsal_answer(prompt)


@pytest.fixture
async def house(empty_house: House) -> House:
    """A daemon whose soul thinks whole thoughts, as the lines of messages say."""
    empty_house.model.default = rehearse
    await empty_house.start(name=write_soul(empty_house.settings.home, more='mind = "cycle"\n'))
    return empty_house


async def test_it_remembers_and_looks_up_before_it_speaks(house: House) -> None:
    await house.answered("Ada", "dm", "say: fine\nremember: the import runs at night")
    reply = await house.answered("Ada", "dm", "recall: the import")
    assert reply == "This is a rehearsal without a language model. Done as the lines say: recall."
    assert [prompt.step for prompt in house.prompts] == ["think", "think", "think"]
    assert "the import runs at night" in house.last_prompt()


async def test_it_keeps_what_it_promised_when_it_is_due(house: House) -> None:
    await house.restart(name="tess", cycle_enabled=True, cycle_tokens_hour=100_000, quiet_hours="")
    assert "I'll come back to “the import”" in await house.answered(
        "Ada", "dm", "say: fine\nfollow up: the import by 2h"
    )
    house.clock.turn(2 * 3_600 + 1)
    assert said(await house.reply("D0ADA", "You wanted: the import")) == "You wanted: the import"
    assert (await house.one("SELECT state FROM goals"))["state"] == "done"
