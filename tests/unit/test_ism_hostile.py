"""The machine with hostile models: it always ends, within its limits, and with an answer or an error."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, repeat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daemon.core.errors import DaemonError, ModelRefused, ModelUnavailable, ToolFailed
from daemon.core.limits import Limits
from daemon.core.ports.models import Completion, Prompt
from daemon.core.working_memory import Memory, Role, WorkingMemory
from daemon.ism import CIRCLES, LOST, run_ism
from daemon.ism.machine import Action, ActionUse, End, ISMResult, Machine, Recurse
from daemon.mind.cognition import READ_CAP
from daemon.mind.mental_process import Stay
from daemon.mind.steps.choose_actions import MOST
from daemon.mind.steps.internal_monologue import internal_monologue
from tests.given import shown
from tests.models import Piece, Reply
from tests.unit.ism_parts import MEMORY, USAGE, Bench, bench, chosen

MODELS = 200
PROMPT_CAP = 60_000
MEGABYTE = "x" * 1_000_000


async def test_a_model_that_never_ends_is_concluded_or_meets_the_limit_and_its_words_are_in_no_event() -> None:
    table = {
        "I would rather talk.": (2, LOST),
        '{"actions": [{"nested": [[[[["junk"]]]]]}]}': (2, LOST),
        chosen(): (2, CIRCLES),
        chosen("Fly"): (2, CIRCLES),
        chosen("Think"): (3, CIRCLES),
        chosen("Think", "Fly", "Think", "", "Think"): (3, CIRCLES),
        '```json\n{"actions": ["fly", "fly", "fly"]}\n```': (2, CIRCLES),
    }
    for reply, (calls, why) in table.items():
        one, llm = bench(default=reply)
        result = await one.run()
        assert (result.end, result.why, len(llm.prompts)) == (End.CONCLUDED, why, calls), reply
    one, llm = bench(*(chosen(*(("Think", f"{n}.{m}") for m in range(9))) for n in range(99)))
    result = await one.run()
    assert (result.end, len(llm.prompts), result.spent.loops) == (End.CONCLUDED, 5, 5)
    secret = "Bob is going to be fired"
    one, _ = bench(chosen((secret, secret), ("Think", secret), reasoning=secret), chosen("DONE", reasoning=secret))
    await one.run()
    assert one.events
    assert secret not in repr(one.events)


async def test_an_endless_answer_is_read_up_to_the_cap_and_cut() -> None:
    for chunk in ("x" * 64, MEGABYTE):
        read = Counter[str]()

        def flood(chunk: str = chunk, read: Counter[str] = read) -> Iterator[Piece]:
            for piece in repeat(chunk, 50_000_000 // len(chunk)):
                read["characters"] += len(piece)
                yield piece

        one, llm = bench(flood(), flood())
        llm.characters_per_token = 1_000_000  # this model keeps no limit
        result = await one.run()
        assert (result.end, result.why, len(llm.prompts)) == (End.CONCLUDED, LOST, 2)
        assert read["characters"] <= 2 * (READ_CAP + len(chunk))
        assert llm.cut == 2
        assert len(shown(llm.prompts[1])) < PROMPT_CAP


NAMES = ("Think", "think", "Break", "Flood", "Dawdle", "Ring", "Respond", "Fly", "DONE", "")
INPUTS = ("", "a", "A ", "c" * 3_000, "NEW", "NEW", "NEW")
ERRORS = (ToolFailed("empty"), ValueError("boom"), ModelRefused("no"), TimeoutError(), RecursionError("deep"))

JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.sampled_from(NAMES),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
NAMED = st.fixed_dictionaries({"name": st.sampled_from(NAMES), "input": st.sampled_from(INPUTS)})
CHOICES = st.fixed_dictionaries({"actions": st.lists(NAMED, max_size=9), "reasoning": st.text(max_size=50)})
TALK = st.sampled_from(("Sure! {} Anything else?", "```json\n{}\n```", "{}", "{}{}", "{} </note-n0nce>"))

BUSY = st.lists(st.sampled_from(("Think", "Break", "Flood", "Dawdle", "Fly")), min_size=1, max_size=6).map(
    lambda names: chosen(*((name, f"NEW {place}") for place, name in enumerate(names)))
)
ATTACKS = st.one_of(
    *(BUSY,) * 6,
    *(CHOICES.map(json.dumps),) * 2,
    st.builds(lambda talk, choice: talk.replace("{}", json.dumps(choice)), TALK, CHOICES),
    st.fixed_dictionaries({"actions": JUNK, "reasoning": JUNK}).map(json.dumps),
    JUNK.map(json.dumps),
    st.text(max_size=80),
    st.sampled_from(("flood", "break", "silence", "refuse", "length", "slow", "ring")),
)
"""What a model may answer; NEW is different each time."""

ODD: dict[str, Callable[[], Reply]] = {
    "flood": lambda: repeat(MEGABYTE, 50),
    "break": lambda: ['{"actions": [', ModelUnavailable("the line broke")],
    "silence": lambda: ModelUnavailable("no answer"),
    "refuse": lambda: ["{", Completion("scripted/test", stop="refusal")],
    "length": lambda: [chosen("Think"), Completion("scripted/test", tokens_out=1024, stop="length")],
}


@dataclass
class HostileModel:
    """A model that repeats its attacks for ever, in a bench where it may advance the clock and send messages."""

    attacks: list[str]
    limits: Limits
    handled: int = 0
    said: Bench = field(init=False)

    def __post_init__(self) -> None:
        self.said, self.llm = bench()
        self._next = cycle(self.attacks)
        self.llm.default = self.reply

    async def reply(self, _: Prompt) -> Reply:
        attack = next(self._next)
        if attack in ODD:
            return ODD[attack]()
        if attack == "slow":
            await self.said.clock.advance(40.0)
        if attack == "ring":
            self.said.interrupt.call()
        return attack.replace("NEW", f"the {len(self.llm.prompts)}th")

    async def conclude(self, memory: WorkingMemory, why: str) -> Stay:
        memory, thought = await self.said.mind.run(memory, internal_monologue("Kothar", f"Conclude: {why}."))
        return Stay(memory.with_memory(Memory(Role.ASSISTANT, thought)))

    async def act(self, name: str, use: ActionUse) -> Recurse | Stay:
        """Go on, fail each time in another way, find far too much, take much time, meet a message, or answer."""
        self.handled += 1
        match name:
            case "Break":
                raise ERRORS[self.handled % len(ERRORS)]
            case "Dawdle":
                await self.said.clock.advance(25.0)
            case "Ring":
                self.said.interrupt.call()
            case "Respond":
                return Stay(use.memory.with_memory(Memory(Role.ASSISTANT, "It is so.")))
        return use.recurse(observation={"Think": use.input, "Flood": MEGABYTE}.get(name, ""))

    async def run(self) -> ISMResult | DaemonError:
        """Run the machine to its end; a conclusion that fails raises, and the caller apologises."""
        names = ("Think", "Break", "Flood", "Dawdle", "Ring", "Respond")
        using = tuple(Action(name, "do it", partial(self.act, name)) for name in names)
        machine = Machine("Find out.", "Look first.", using, self.limits, self.conclude)
        one = self.said
        try:
            return await run_ism(
                machine, MEMORY, mind=one.mind, interrupt=one.interrupt, usage=one.usage, note=one.note
            )
        except DaemonError as error:
            return error

    def ran_away(self, result: ISMResult | DaemonError) -> bool:
        """Whether it exceeded its limits: each choice and the conclusion are one call and at most one repair."""
        calls, loops = len(self.llm.prompts), self.limits.loops
        beyond = calls > 2 * (loops + 1) or self.handled > MOST * loops
        largest = max((len(shown(prompt)) for prompt in self.llm.prompts), default=0)
        if isinstance(result, DaemonError):
            return beyond or largest > PROMPT_CAP
        most_tokens = self.limits.tokens + 4 * (USAGE.tokens_in + USAGE.tokens_out + 1024)
        kept = sum(len(one.content) for one in result.internal)
        past = result.spent.loops > loops or result.spent.tokens > most_tokens
        return beyond or past or largest > PROMPT_CAP or kept > loops * (MOST + 2) * 7_000


HOSTILE = st.builds(
    HostileModel,
    attacks=st.lists(ATTACKS, min_size=1, max_size=7),
    limits=st.builds(
        Limits,
        loops=st.integers(1, 12).map(lambda few: 13 - few),
        tokens=st.sampled_from((200, 1_500, 100_000)),
        usd=st.sampled_from((0.02, 50.0)),
        seconds=st.sampled_from((30.0, 600.0)),
    ),
)


def is_silent(result: ISMResult | DaemonError) -> bool:
    """Whether the run gave neither a reply nor an error nor an interruption."""
    if isinstance(result, DaemonError):
        return False
    return (result.outcome is None) is not (result.end is End.INTERRUPTED)


@pytest.mark.slow
def test_no_model_exceeds_its_limits_and_none_ends_without_a_reply() -> None:
    ends, calls = Counter[str](), [0]

    @settings(
        max_examples=MODELS, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(HOSTILE)
    def attack(model: HostileModel) -> None:
        result = asyncio.run(model.run())
        ends["apology" if isinstance(result, DaemonError) else result.end] += 1
        calls.append(len(model.llm.prompts))
        assert not model.ran_away(result)
        assert not is_silent(result)

    attack()
    assert ends.total() >= MODELS
    assert max(calls) > 2 * MOST, "no model went far enough to tell anything"
    assert ends[End.CONCLUDED] > 0
    assert ends[End.INTERRUPTED] > 0
