"""Outputs of every kind through a whole soul: what is valid takes effect, nothing else, and nothing private shows."""

from tests import chance
from tests.outputs.play import play


async def test_of_valid_and_hostile_outputs_just_what_is_permitted_takes_effect_and_speech_alone_is_shown() -> None:
    count = await play(300, chance.SEED)
    print(count)
    assert not count.faults
    assert count.effects > count.outputs / 2
    assert count.ticks
