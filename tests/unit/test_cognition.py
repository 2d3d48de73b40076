"""The Mind: one record for every call, one repair, thoughts that finish at last, and a second model."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest
from msgspec.structs import replace

from daemon.core.errors import CutShort, MalformedReply, ModelError, ModelRefused, ModelUnavailable
from daemon.core.perception import Audience, AudienceKind
from daemon.core.ports.services import Completion, LLMCall, ModelRole, Prompt
from daemon.core.step import Step
from daemon.core.working_memory import WorkingMemory
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.cognition import FAULTY_CAP, READ_CAP
from daemon.mind.steps.external_dialog import external_dialog
from daemon.soul_engine import FAULTY_REPLY
from tests.given import soul
from tests.models import Piece
from tests.unit.thinking import ECHO, END, MEMORY, Head, head, listen, read_echo, streaming, turns


def texts(memory: WorkingMemory) -> list[str]:
    return [one.content for one in memory.region("default")]


async def test_a_step_gives_its_value_and_the_memory_after_it_and_its_call_is_recorded_with_all_figures() -> None:
    h = head(["he", "llo", END])
    started = h.llm.clock.now_ms()
    memory, value = await h.mind.run(MEMORY, ECHO)
    assert value == "HELLO"
    assert [m.content for m in memory.region("default")] == ["hello", "HELLO"]
    assert [m.content for m in memory.region("echoes")] == ["HELLO"]
    assert len(MEMORY) == 1
    assert h.llm.closed == 1
    assert h.calls == [
        LLMCall(
            trace_id="trace",
            role=ModelRole.THINKING,
            step="echo",
            model="fake/one",
            started_ms=started,
            latency_ms=750,
            outcome="ok",
            tokens_in=10,
            tokens_cached=4,
            tokens_out=3,
            first_ms=250,
            cost_usd=0.003,
            thought_aloud=False,
        )
    ]


async def test_a_step_without_a_filter_shows_nothing() -> None:
    silent = Step(name="s", command="S", read=str.strip, remember=lambda _: ())
    h = head([" x ", END])
    unread, thought = h.mind.stream(MEMORY, silent), h.mind.stream(MEMORY, silent)
    await unread.aclose()
    assert (h.llm.prompts, h.calls) == ([], []), "the model is not called before the thought is read"
    assert await listen(thought) == []
    assert await thought.finished() == (MEMORY, "x")


async def test_a_thought_finishes_before_after_amid_and_during_its_iteration() -> None:
    thought = head(["he", "llo", END]).mind.stream(MEMORY, ECHO)
    assert (await thought.finished())[1] == "HELLO"
    assert await listen(thought) == ["H", "ELL", "O"]
    assert (thought.shown, thought.void) == ("HELLO", False)
    assert await listen(thought) == []
    assert (await thought.finished())[1] == "HELLO"
    abandoned = head(["he", "llo", END]).mind.stream(MEMORY, ECHO)
    async for piece in abandoned:
        assert piece == "H"
        break
    assert (await abandoned.finished())[1] == "HELLO"
    gate = asyncio.Event()
    thought = head(["he", gate, "llo", END]).mind.stream(MEMORY, ECHO)
    async with asyncio.TaskGroup() as group:
        pieces = group.create_task(listen(thought))
        value = group.create_task(thought.finished())
        again = group.create_task(thought.finished())
        await turns(5)
        gate.set()
    assert "".join(pieces.result()) == "HELLO"
    assert value.result() == again.result()


async def test_a_malformed_answer_is_shown_again_in_bounds_and_repaired_once_and_a_second_one_is_raised() -> None:
    h = head(["bad", END], ["fine", END])
    memory, value = await h.mind.run(MEMORY, ECHO)
    assert value == "FINE"
    assert not memory.region(FAULTY_REPLY)
    assert [(call.outcome, call.repair) for call in h.calls] == [("malformed", False), ("ok", True)]
    repair = h.llm.prompts[1]
    assert "<note-n0nce>\nbad\n</note-n0nce>" in repair.messages[-1].text
    assert "it is bad" in repair.messages[-1].text
    assert "say something good" in repair.messages[-1].text
    h = head(["bad" * FAULTY_CAP, END], ["fine", END])
    await h.mind.run(MEMORY, ECHO)
    assert len(h.llm.prompts[1].messages[-1].text) < FAULTY_CAP + 400
    h = head([END], ["fine", END])
    await h.mind.run(MEMORY, ECHO)
    assert "(it was empty)" in h.llm.prompts[1].messages[-1].text
    h = head(["bad", END], ["bad again", END])
    thought = h.mind.stream(MEMORY, ECHO)
    with pytest.raises(MalformedReply):
        await listen(thought)
    with pytest.raises(MalformedReply) as caught:
        await thought.finished()
    assert caught.value.reply == "bad again"
    assert [call.outcome for call in h.calls] == ["malformed", "malformed"]


async def test_text_shown_before_a_repair_is_void_and_the_value_replaces_it() -> None:
    thought = head(["so bad", END], ["fine", END]).mind.stream(MEMORY, ECHO)
    assert "".join(await listen(thought)) == thought.shown == "SO BA"
    memory, value = await thought.finished()
    assert (value, texts(memory)) == ("FINE", ["hello", "FINE"])
    assert thought.void
    thought = head([END], ["fi", "ne", END]).mind.stream(MEMORY, ECHO)
    assert "".join(await listen(thought)) == "FINE"
    assert not thought.void, "nothing was shown before"


async def test_a_failed_call_is_recorded_and_raised_to_all_readers_and_one_that_never_began_used_nothing() -> None:
    for failure, outcome in ((ModelUnavailable("down"), "unavailable"), (ModelRefused("no"), "refused")):
        h = head(["he", failure], [failure])
        thought = h.mind.stream(MEMORY, ECHO)
        with pytest.raises(type(failure)):
            await listen(thought)
        with pytest.raises(type(failure)):
            await thought.finished()
        call = h.calls[0]
        assert (call.outcome, call.model, call.cost_usd) == (outcome, "fake/thinking", 0.001)
        assert (call.tokens_in, call.tokens_out) == (120, 1), "its provider gave no figures, so they are estimated"
    h = head([ModelUnavailable("down")], ["fine", END])
    with pytest.raises(ModelUnavailable):
        await h.mind.run(MEMORY, ECHO)
    (call,) = h.calls
    assert (call.cost_usd, call.tokens_in, call.tokens_out) == (None, 0, 0)


async def test_a_refusal_at_the_end_is_a_refusal_and_an_answer_without_an_end_counts_as_unavailable() -> None:
    h = head(["I", Completion("fake/one", stop="refusal")], ["fine"], ["fine"])
    with pytest.raises(ModelRefused, match="fake/one"):
        await h.mind.run(MEMORY, ECHO)
    with pytest.raises(ModelUnavailable, match="broke off"):
        await h.mind.run(MEMORY, ECHO)
    assert [call.outcome for call in h.calls] == ["refused", "unavailable", "unavailable"]


async def test_an_answer_that_is_cut_off_or_endless_is_malformed_unless_the_step_accepts_it() -> None:
    cut = Completion("fake/one", stop="length")
    h = head(["fine", cut], ["short", END])
    assert (await h.mind.run(MEMORY, ECHO))[1] == "SHORT"
    tolerant = Step(name="t", command="T", read=read_echo, remember=lambda _: (), read_cut=read_echo)
    assert (await head(["fine", cut]).mind.run(MEMORY, tolerant))[1] == "FINE"
    piece = "x" * 10_000
    h = head([*[piece] * 50, END], ["fine", END])
    assert (await h.mind.run(MEMORY, ECHO))[1] == "FINE"
    assert h.calls[0].outcome == "malformed"
    assert h.llm.closed == 2
    assert h.llm.clock.slept[: READ_CAP // 10_000 + 1] == [0.25] * 7
    assert len(h.llm.clock.slept) == 7 + 2


async def test_the_call_of_a_cancelled_or_closed_thought_is_recorded_and_the_models_stream_closed() -> None:
    never = asyncio.Event()
    h = head(["he", never])
    thought = h.mind.stream(MEMORY, ECHO)
    assert await anext(aiter(thought)) == "H"
    finishing = asyncio.ensure_future(thought.finished())
    await turns(5)
    finishing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await finishing
    assert [call.outcome for call in h.calls] == ["cancelled"]
    assert h.llm.closed == 1
    with pytest.raises(ModelUnavailable, match="cut off"):
        await thought.finished()
    with pytest.raises(ModelUnavailable, match="cut off"):
        await listen(thought)
    h = head(["he", "llo", END])
    thought = h.mind.stream(MEMORY, ECHO)
    assert await anext(aiter(thought)) == "H"
    await thought.aclose()
    assert ([call.outcome for call in h.calls], h.llm.closed) == (["cancelled"], 1)
    with pytest.raises(ModelUnavailable):
        await thought.finished()


async def test_an_answer_that_broke_off_before_any_text_was_shown_is_requested_once_more() -> None:
    h = head(["h", ModelUnavailable("reset")], ["fi", "ne", END])
    thought = h.mind.stream(MEMORY, ECHO)
    assert "".join(await listen(thought)) == "FINE"
    assert not thought.void
    assert [(call.outcome, call.repair) for call in h.calls] == [("unavailable", False), ("ok", True)]
    twice = head(["h", ModelUnavailable("reset")], ["h", ModelUnavailable("reset again")])
    with pytest.raises(ModelUnavailable, match="reset again"):
        await twice.mind.run(MEMORY, ECHO)


SAY = external_dialog(soul(), "Speak.")
LIMIT = Completion("fake/one", stop="length")


async def test_a_model_that_is_not_known_yet_shows_its_words_at_the_end_and_then_they_stream() -> None:
    h = head(["Hello ", "there.", END], ["Hello ", "again, ", "you.", END])
    h.mind.habits.clear()
    assert await listen(h.mind.stream(MEMORY, SAY)) == ["Hello there."]
    h.mind.habits["fake/persona"] = h.mind.habits["fake/one"]
    assert len(await listen(h.mind.stream(MEMORY, SAY))) > 1


async def test_what_streamed_before_a_lone_closing_mark_is_void_and_the_next_answer_is_held_back() -> None:
    h = head(["They must not know. ", "So:", "</think>", "Hello.", END], ["They", "</think>", "Hi.", END])
    thought = h.mind.stream(MEMORY, SAY)
    await listen(thought)
    assert (await thought.finished())[1] == "Hello."
    assert thought.void
    assert h.calls[0].thought_aloud
    h.mind.habits["fake/persona"] = h.mind.habits["fake/one"]
    assert await listen(h.mind.stream(MEMORY, SAY)) == ["Hi."]


async def test_speech_that_met_the_limit_is_kept_only_of_a_model_that_is_known_not_to_think_aloud() -> None:
    h = head(["Hello and", LIMIT])
    thought = h.mind.stream(MEMORY, SAY)
    assert (await thought.finished())[1] == "Hello and"
    assert thought.cut
    h = head(["It may all be reasoning", LIMIT], ["And this", LIMIT])
    h.mind.habits.clear()
    with pytest.raises(CutShort):
        await listen(h.mind.stream(MEMORY, SAY))
    assert "be much shorter" in h.llm.prompts[1].messages[-1].text
    h = head(["<think>Hm.</think>Hello and", LIMIT])
    h.mind.habits.clear()
    assert (await h.mind.run(MEMORY, SAY))[1] == "Hello and", "its reasoning has ended, so this is speech"


HERE = Audience(AudienceKind.DM, "D1")
FIRST, SECOND = "fake/thinking", "other/second"
REFUSAL = replace(END, stop="refusal")


@dataclass
class Two:
    first: list[Piece]
    second: list[Piece]
    prompts: list[Prompt] = field(default_factory=list)

    def model_for(self, role: ModelRole) -> str:
        return FIRST

    def step_models(self) -> Mapping[str, str]:
        return {}

    def candidates(self, role: ModelRole, audience: Audience | None) -> tuple[str, ...]:
        return (FIRST, SECOND) if audience == HERE else (FIRST,)

    async def stream(self, prompt: Prompt) -> AsyncIterator[str | Completion]:
        self.prompts.append(prompt)
        for piece in self.first if prompt.model == FIRST else self.second:
            if isinstance(piece, Exception):
                raise piece
            yield piece


def both(
    *first: Piece, second: tuple[Piece, ...] = ("fine", END), audience: Audience | None = HERE
) -> tuple[Two, Head]:
    models, made = Two(list(first), list(second)), head()
    mind = replace(made.mind, llm=models, audience=audience, habits=streaming(FIRST, SECOND))
    return models, Head(made.llm, mind, made.calls)


async def test_what_a_model_does_not_answer_the_next_one_does() -> None:
    for first in (
        (ModelUnavailable("overloaded"),),
        (ModelRefused("no credit is left"),),
        (REFUSAL,),
        ("", ModelUnavailable("it broke off unseen")),
    ):
        models, made = both(*first)
        thought = made.mind.stream(MEMORY, ECHO)
        assert "".join(await listen(thought)) == "FINE", first
        assert not thought.void, first
        assert [prompt.model for prompt in models.prompts] == [FIRST, SECOND], first
        assert [prompt.standby for prompt in models.prompts] == [True, False], first
        assert [call.outcome == "ok" for call in made.calls] == [False, True], first
        assert not made.calls[-1].repair, first


async def test_a_second_model_answers_by_its_own_habits_and_only_before_a_word_was_shown() -> None:
    for failure in (ModelUnavailable("reset"), ModelRefused("no"), REFUSAL):
        models, made = both("hel", "lo ", failure)
        with pytest.raises(ModelError):
            await listen(made.mind.stream(MEMORY, ECHO))
        again = [FIRST] if isinstance(failure, ModelUnavailable) else []
        assert [prompt.model for prompt in models.prompts] == [FIRST, *again], failure
    for audience in (None, Audience(AudienceKind.CHANNEL, "C1")):
        models, made = both(ModelRefused("no"), audience=audience)
        with pytest.raises(ModelRefused):
            await made.mind.run(MEMORY, ECHO)
        assert [(prompt.model, prompt.standby) for prompt in models.prompts] == [(FIRST, False)], audience
    models, made = both(ModelUnavailable("down"), second=("bad", END))
    with pytest.raises(MalformedReply):
        await made.mind.run(MEMORY, ECHO)
    assert [prompt.model for prompt in models.prompts] == [FIRST, SECOND, SECOND]
    _, made = both(ModelUnavailable("the first is down"), second=(ModelUnavailable("the second is down"),))
    with pytest.raises(ModelUnavailable, match="the second is down"):
        await made.mind.run(MEMORY, ECHO)
    _, made = both(ModelUnavailable("down"), second=("hello", "</think>", "fine", END))
    made.mind.habits[SECOND] = ModelHabit(SECOND, hold_back=3)
    thought = made.mind.stream(MEMORY, ECHO)
    assert "".join(await listen(thought)) == "FINE", "the first model's speech would have streamed"
