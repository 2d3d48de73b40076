"""A thought moves the mood before its audience; what it felt fades, and its words go with the thought's own."""

import pytest
from msgspec.structs import replace

from daemon.memory.knowledge.soul_states import NewState, SoulState, SoulStates
from daemon.memory.mind.world_model import MoodShift
from daemon.memory.stream.emptying import empty_thoughts_since
from tests.fakes import FakeClock
from tests.given import DM
from tests.store.parts import WORKER, Stores
from tests.store.thinking import Thinker, members, new_thought

MINE = members("dm:D1")
HOUR = 60 * 60
GLAD = MoodShift(0.5, 0.25, -0.5, "warm", "glad", half_life_minutes=60.0)


@pytest.fixture
def soul(stores: Stores) -> Thinker:
    return Thinker(stores)


async def feel(soul: Thinker, shift: MoodShift) -> None:
    await soul.thinks("go on", DM, MINE, thoughts=[replace(new_thought("hm"), parts=(shift,))])


async def known(soul: Thinker, clock: FakeClock) -> SoulState:
    state = await SoulStates(soul.database, clock, WORKER).known(MINE.audience, DM)
    assert state is not None
    return state


async def counted(soul: Thinker) -> tuple[str, str]:
    row = (await soul.database.rows("SELECT did, refused FROM thoughts ORDER BY seq"))[-1]
    return row["did"], row["refused"]


async def test_a_thought_moves_the_mood_and_what_is_left_of_the_axes_later(soul: Thinker, clock: FakeClock) -> None:
    await feel(soul, GLAD)
    state = await known(soul, clock)
    assert (state.emotional_state, state.felt_ms, state.moved_ms) == ("glad", clock.now_ms(), clock.now_ms())
    assert (state.valence, state.arousal, state.dominance, state.felt_quality) == (0.5, 0.25, -0.5, "warm")
    assert await counted(soul) == ('{"emotional_state": 1}', "[]")
    clock.set_back(-HOUR)
    await feel(soul, replace(GLAD, valence=1.0, arousal=0.0, dominance=-1.0, mood="", felt_quality=""))
    state = await known(soul, clock)
    assert (state.valence, state.arousal, state.dominance) == (1.0, 0.125, -1.0)
    assert (state.emotional_state, state.felt_quality) == ("glad", "")
    assert clock.now_ms() - state.felt_ms == HOUR * 1000, "a shift alone makes the mood no younger"


async def test_an_unknown_mood_is_refused_and_the_rest_stands(soul: Thinker, clock: FakeClock) -> None:
    await feel(soul, replace(GLAD, mood="", unknown=True))
    assert (await known(soul, clock)).valence == 0.5
    assert (await known(soul, clock)).emotional_state == ""
    assert await counted(soul) == ('{"emotional_state": 1}', '[["emotional_state", "unknown"]]')


async def test_its_words_go_with_those_of_the_thought(soul: Thinker, clock: FakeClock) -> None:
    await feel(soul, GLAD)
    await soul.database.write(lambda transaction: empty_thoughts_since(transaction, str(DM), 0))
    state = await known(soul, clock)
    assert (state.felt_quality, state.felt_by, state.valence) == ("", "", 0.5), "numbers stay"


async def test_its_words_go_when_the_channel_is_made_private(soul: Thinker, clock: FakeClock) -> None:
    await feel(soul, GLAD)
    await soul.database.run("UPDATE thoughts SET audience = 'dm:D9'")
    assert (await known(soul, clock)).felt_quality == ""


async def test_a_mood_found_after_a_reply_in_words_keeps_the_axes(soul: Thinker, clock: FakeClock) -> None:
    await feel(soul, GLAD)
    states = SoulStates(soul.database, clock, WORKER)
    before = await known(soul, clock)
    assert await states.revise(MINE.audience, DM, NewState("weary"), instead_of=before)
    after = await known(soul, clock)
    assert (after.emotional_state, after.valence, after.felt_quality) == ("weary", 0.5, "warm")
    assert not await states.revise(MINE.audience, DM, NewState("calm"), instead_of=before), "it is outdated"
