"""How many conversations are worked on at once: fewer while the model struggles, and some slots for DMs alone."""

from daemon.runtime.slots import Slots
from tests.fakes import FakeClock


async def _taken(slots: Slots, number: int) -> Slots:
    for _ in range(number):
        await slots.acquire()
    return slots


async def test_a_model_that_struggles_gets_half_as_many_calls_and_a_quarter_of_the_slots_is_for_dms() -> None:
    clock = FakeClock()
    slots = Slots(16, clock)
    for _ in range(5):
        slots.struggled()
    assert slots.limit == 8
    await clock.advance(10)
    slots.struggled()
    assert slots.limit == 4
    for most, fewest in ((16, 2), (1, 1)):
        clock = FakeClock()
        slots = Slots(most, clock)
        for _ in range(8):
            slots.struggled()
            await clock.advance(10)
        assert slots.limit == fewest
    slots = Slots(8, FakeClock())
    slots.struggled()
    slots.went_well()
    assert slots.limit == 4
    for _ in range(20):
        slots.went_well()
    assert slots.limit == 8
    slots = await _taken(Slots(8, FakeClock()), 5)
    assert not slots.only_for_dms()
    await slots.acquire()
    assert slots.only_for_dms()
    assert not slots.only_for_dms(holding=1)
    assert not (await _taken(Slots(3, FakeClock()), 3)).only_for_dms()
