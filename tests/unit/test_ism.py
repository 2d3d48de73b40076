"""The Implicit Semantic Machine: every way to go on and to end, what it shows and may be cut by, and hostile models."""

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
from msgspec.structs import replace

from daemon.core.errors import DaemonError, LostLease, ModelRefused, ModelUnavailable, ToolFailed
from daemon.core.expectations import Limits, Spent
from daemon.core.ports.services import Completion, Prompt
from daemon.core.working_memory import Memory, Role, WorkingMemory, estimate_tokens, thought
from daemon.ism import CIRCLES, LOST, REACHED, run_ism
from daemon.ism.machine import Action, ActionUse, End, ISMResult, Machine, Progress, Recurse
from daemon.ism.problem import ACTIONS, GOAL, LOG, LOG_TOKENS, OBSERVATION_CAP, PLAYBOOK, REGIONS
from daemon.mind.cognition import READ_CAP
from daemon.mind.process import Interrupted, Stay, Transition
from daemon.mind.steps.choose_actions import MOST, choose_actions
from daemon.mind.steps.internal_monologue import internal_monologue
from daemon.soul import Soul
from daemon.soul_engine import RESULTS, begin
from tests.given import shown
from tests.models import Piece, Reply
from tests.unit.ism_parts import MEMORY, PLENTY, USAGE, Bench, actions, bench, chosen, flowing, respond, said, think


async def test_an_action_that_returns_memory_answers_and_one_that_returns_a_transition_moves() -> None:
    one, llm = bench(chosen("Think"), chosen("Respond", "Think"))
    result = await one.run()
    assert (result.end, said(result), result.why) == (End.ANSWERED, "There are none.", "")
    assert isinstance(result.outcome, Stay)
    assert result.outcome.memory == result.memory
    assert len(llm.prompts) == 2
    assert [(event.kind, event.action) for event in one.events if event.place] == [
        (Progress.STARTED, "Think"),
        (Progress.FINISHED, "Think"),
        (Progress.STARTED, "Respond"),
        (Progress.FINISHED, "Respond"),
    ]
    one, _ = bench(chosen("Escalate"))
    result = await one.run()
    assert result.end is End.MOVED
    assert isinstance(result.outcome, Transition)
    assert (result.outcome.to, result.outcome.execute_now) == ("expert", True)
    assert result.outcome.memory == result.memory == MEMORY


async def test_done_is_concluded_after_the_actions_beside_it_unless_one_of_them_answers() -> None:
    one, llm = bench(chosen("DONE"), chosen("Fly", "DONE"))
    for _ in range(2):
        result = await one.run()
        assert (result.end, result.why) == (End.DONE, REACHED)
        assert REACHED in said(result)
    assert (len(llm.prompts), one.concluded) == (2, [REACHED] * 2)
    one, llm = bench(chosen("DONE", ("Think", "a"), ("Think", "b")))
    assert (await one.run()).end is End.DONE
    assert [event.kind for event in one.events].count(Progress.FINISHED) == 2
    assert [kept.content for kept in one.shown_to_conclude[0].region(RESULTS)] == ["thought of b", "thought of a"]
    assert len(llm.prompts) == 1
    one, _ = bench(chosen("Respond", "DONE"))
    assert (await one.run()).end is End.ANSWERED
    assert not one.concluded


async def test_a_malformed_choice_is_repaired_once_and_the_work_goes_on_or_is_concluded() -> None:
    one, llm = bench("Respond", '```json\n{"actions": ["Respond"]}\n```')
    assert (await one.run()).end is End.ANSWERED
    assert len(llm.prompts) == 2
    one, llm = bench("Let me think.", "I don't do JSON.")
    result = await one.run()
    assert (result.end, result.why, len(llm.prompts)) == (End.CONCLUDED, LOST, 2)
    assert [call.repair for call in one.calls] == [False, True]


async def test_a_model_that_cannot_be_reached_is_concluded_and_a_conclusion_that_fails_is_raised() -> None:
    one, _ = bench(chosen("Think"), ModelUnavailable("no answer"))
    result = await one.run()
    assert (result.end, result.why, result.spent.loops) == (End.CONCLUDED, LOST, 1)

    async def conclude(_: WorkingMemory, __: str) -> Stay:
        raise ModelUnavailable("no answer at all")

    one, _ = bench(ModelUnavailable("no answer"))
    machine = Machine("g", "p", actions(), PLENTY, conclude)
    with pytest.raises(ModelUnavailable, match="at all"):
        await run_ism(machine, MEMORY, mind=one.mind, interrupt=one.interrupt, usage=one.usage, note=one.note)


async def test_every_limit_ends_in_a_conclusion_with_its_reason() -> None:
    table: tuple[tuple[Limits, int, str], ...] = (
        (replace(PLENTY, loops=3), 3, "3 steps"),
        (replace(PLENTY, loops=0), 0, "0 steps"),
        (replace(PLENTY, tokens=200), 2, "200 tokens"),
        (replace(PLENTY, tokens=120), 1, "120 tokens"),
        (replace(PLENTY, usd=0.03), 3, "0.03 US dollars"),
        (replace(PLENTY, seconds=0.0), 0, "0 seconds"),
    )
    for limits, calls, why in table:
        one, llm = bench(*(chosen(("Think", str(number))) for number in range(9)))
        result = await one.run(limits=limits)
        assert (result.end, len(llm.prompts)) == (End.CONCLUDED, calls), why
        assert why in result.why
        assert one.concluded == [result.why]
    one, _ = bench(chosen("Respond"))
    await one.run(limits=replace(PLENTY, tokens=120))
    assert Progress.STARTED not in {event.kind for event in one.events}, "the choice itself met the limit"


async def test_work_counts_on_from_what_it_spent_and_an_invalid_account_is_refused() -> None:
    one, llm = bench(chosen("Think"), chosen("Respond"))
    before = Spent(loops=4, tokens=90_000, usd=1.0, seconds=60.0)
    result = await one.run(spent=Spent.from_json(json.loads(json.dumps(before.to_json()))))
    assert (result.end, len(llm.prompts)) == (End.CONCLUDED, 1)
    assert replace(result.spent, usd=0.0) == Spent(loops=5, tokens=90_120, seconds=60.0)
    assert result.spent.usd == pytest.approx(1.012)
    assert "5 of at most 5" in shown(llm.prompts[0])
    one, _ = bench(chosen("Think"), chosen("Respond"), chosen("Respond"))
    await one.run()
    again = await one.run()
    assert (again.spent.loops, again.spent.tokens) == (1, 120)
    assert again.spent.usd == pytest.approx(0.012)
    infinite, wrong = (("usd", float("nan")), ("seconds", float("inf"))), (("tokens", "many"), ("loops", None))
    for name, value in (*infinite, *wrong, ("loops", -1)):
        with pytest.raises(ValueError, match="Expected"):
            Spent.from_json({name: value})
    assert Spent.from_json({}) == Spent()


async def test_a_model_call_or_a_handler_that_outlasts_the_limit_is_cut_and_time_adds_up() -> None:
    one, model, stream = flowing()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(one.run(limits=replace(PLENTY, seconds=30.0)))
        await stream.asked.wait()
        await one.clock.advance(29.0)
        assert not running.done()
        await one.clock.advance(1.0)
    result = running.result()
    assert (result.end, model.closed, result.spent.seconds) == (End.CONCLUDED, 1, 30.0)
    assert "30 seconds" in result.why
    cleaned = asyncio.Event()

    async def dawdle(use: ActionUse) -> Recurse:
        try:
            await one.clock.sleep(1_000)
        finally:
            cleaned.set()
        return use.recurse()

    one, _ = bench(chosen("Dawdle"))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(one.run(actions(Dawdle=dawdle), spent=Spent(seconds=590.0)))
        await one.clock.sleepers(2)
        await one.clock.advance(10.0)
    result = running.result()
    assert (result.end, result.spent.seconds) == (End.CONCLUDED, 600.0)
    assert cleaned.is_set()
    assert [event.kind for event in one.events[-2:]] == [Progress.CUT, Progress.CONCLUDING]


async def test_repeated_unknown_no_and_too_many_actions_are_refused_and_reported() -> None:
    one, llm = bench(chosen(("Think", "the  Limits")), chosen(("think", "The limits ")), chosen("Respond"))
    result = await one.run()
    assert result.end is End.ANSWERED
    assert "tried already" in shown(llm.prompts[2])
    assert [event.kind for event in one.events].count(Progress.REFUSED) == 1
    replies = [chosen("Think"), chosen("Think"), chosen(("Think", "b")), chosen("Think"), chosen("Respond")]
    one, _ = bench(*replies)
    assert (await one.run()).end is End.ANSWERED
    one, llm = bench(chosen("Fly me to Bob's secret"), chosen("Respond"))
    assert (await one.run()).end is End.ANSWERED
    assert "The actions are: Think, Respond, Escalate." in shown(llm.prompts[1])
    assert "Fly me to Bob's secret" not in repr(one.events)
    one, llm = bench(chosen(), chosen("Respond"))
    result = await one.run()
    assert (result.end, result.spent.loops) == (End.ANSWERED, 2)
    assert "Nothing was chosen" in shown(llm.prompts[1])
    one, llm = bench(chosen(*(("Think", str(number)) for number in range(6))), chosen("Respond"))
    await one.run()
    assert [event.kind for event in one.events].count(Progress.FINISHED) == 5
    assert "last 2 of the chosen actions" in shown(llm.prompts[1])


async def test_results_and_memory_pass_on_as_data_and_a_huge_observation_is_cut() -> None:
    one, llm = bench(chosen(("Think", "a"), ("Think", "b")), chosen("Respond"))
    await one.run()
    text = llm.prompts[1].messages[-1].text
    assert '<note-n0nce about="Think: b">\nthought of b\n</note-n0nce>' in text
    assert text.index("thought of b") < text.index("\nthought of a\n")

    async def learn(use: ActionUse) -> Recurse:
        memory = use.memory.with_memory(Memory(Role.ASSISTANT, "I looked it up."))
        return use.recurse(memory, use.internal.with_memory(thought("They seem to be in a hurry.")))

    one, llm = bench(chosen("Learn"), chosen("Respond"))
    result = await one.run(actions(Learn=learn))
    assert "I looked it up." in shown(llm.prompts[1])
    assert "hurry" in shown(llm.prompts[1])
    assert "It is done." in shown(llm.prompts[1])
    assert [kept.content for kept in result.memory] == ["What are the limits?", "I looked it up.", "There are none."]

    async def flood(use: ActionUse) -> Recurse:
        return use.recurse(observation="\ud800" + "x" * 50_000_000)

    one, llm = bench(chosen("Flood"), chosen("Respond"))
    result = await one.run(actions(Flood=flood))
    assert len(shown(llm.prompts[1])) < 20_000
    assert max(len(kept.content) for kept in result.internal) < OBSERVATION_CAP + 100
    assert WorkingMemory.from_json(result.internal.to_json()) == result.internal


def failing(error: BaseException) -> tuple[Action, ...]:
    async def fail(_: ActionUse) -> Recurse:
        raise error

    return actions(Fail=fail)


async def test_a_handlers_failure_becomes_a_plain_observation_unless_it_ends_a_cycle() -> None:
    for error, observed in (
        (ToolFailed("the shelf is empty", hint="ask for something else"), "It failed: the shelf is empty (ask for"),
        (ZeroDivisionError("secret token 42"), "It failed for a reason that is not known."),
        (ModelUnavailable("no answer"), "It failed: no answer."),
    ):
        one, llm = bench(chosen("Fail", ("Think", "on")), chosen("Respond"))
        assert (await one.run(failing(error))).end is End.ANSWERED
        assert observed in shown(llm.prompts[1])
        assert "secret token" not in shown(llm.prompts[1])
        assert "thought of on" in shown(llm.prompts[1])
        assert [event.error for event in one.events if event.kind is Progress.FAILED] == [error]
    for ending in (LostLease("another worker has it"), asyncio.CancelledError()):
        one, _ = bench(chosen("Fail"))
        with pytest.raises(type(ending)):
            await one.run(failing(ending))
        assert not one.concluded


async def test_goal_playbook_and_actions_are_regions_behind_the_talk_and_the_log_grows() -> None:
    one, llm = bench(chosen("Think", ("Think", "b")), chosen("Respond"))
    begun = begin(Soul(name="tess", display_name="Tess", personality="You are Tess."))
    result = await one.run(memory=begun.concat(MEMORY))
    text = shown(llm.prompts[1])
    places = [text.index(f"## {head}") for head in ("Goal", "Playbook", "Actions", "Log", "Results")]
    assert places == sorted(places)
    assert text.index("What are the limits?") < places[0]
    assert text.count("## Results") == 1
    assert result.memory.regional_order == begun.regional_order


async def test_handlers_see_the_work_without_the_actions_and_the_log_keeps_its_newest_lines() -> None:
    seen: list[ActionUse] = []

    async def look(use: ActionUse) -> Recurse:
        seen.append(use)
        return use.recurse(use.memory, observation="found it")

    one, _ = bench(chosen("Look"), chosen(("Look", "again")), chosen("DONE"))
    result = await one.run(actions(Look=look))
    assert (seen[1].input, seen[1].loop) == ("again", 2)
    assert [kept.content for kept in seen[1].memory.region(RESULTS)] == ["found it"]
    assert all(seen[1].memory.region(region) for region in (GOAL, PLAYBOOK, LOG))
    assert not seen[1].memory.region(ACTIONS)
    assert not any(kept.region in REGIONS for kept in result.memory)
    internal = WorkingMemory("Kothar").concat(Memory(Role.USER, f"entry {n} " + "é" * 400) for n in range(60))
    one, _ = bench(chosen("DONE"))
    await one.run(internal=internal)
    (log,) = one.shown_to_conclude[0].region(LOG)
    assert "entry 59" in log.content
    assert "entry 0 " not in log.content
    assert log.content.startswith("(")
    assert "earlier entries are left out" in log.content
    assert estimate_tokens(log.content) < LOG_TOKENS + 20


async def test_a_machine_may_choose_with_the_souls_creativity_among_actions_that_can_be_told_apart() -> None:
    one, llm = bench(chosen("Respond"))
    machine = Machine(
        "g", "p", actions(), PLENTY, one.conclude, lambda names: replace(choose_actions(names), creativity=0.1)
    )
    await run_ism(machine, MEMORY, mind=one.mind, interrupt=one.interrupt, usage=one.usage, note=one.note)
    assert llm.prompts[0].creativity == 0.1
    one, _ = bench()
    twins = (Action("Think", "a", think), Action("THINK", "b", respond))
    with pytest.raises(ValueError, match="all different"):
        Machine("g", "p", twins, PLENTY, one.conclude)


async def test_after_a_perception_no_further_chunk_is_read_of_a_choice_and_none_is_begun() -> None:
    one, model, stream = flowing()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(one.run())
        stream.say('{"actions": [')
        await stream.read.wait()
        one.interrupt.call()
        result = await running
        stream.say('"Respond"]}')
        await asyncio.sleep(0)
    assert result.end is End.INTERRUPTED
    assert (stream.taken, model.closed) == (['{"actions": ['], 1)
    assert [call.outcome for call in one.calls] == ["cancelled"]
    assert result.spent.loops == 0
    one, llm = bench(chosen("Respond"))
    one.interrupt.call()
    result = await one.run()
    assert (result.end, result.outcome, result.memory) == (End.INTERRUPTED, None, MEMORY)
    assert not llm.prompts


async def test_a_perception_cuts_a_handler_and_the_work_goes_on_from_there() -> None:
    begun, cleaned = asyncio.Event(), asyncio.Event()

    async def wait(use: ActionUse) -> Recurse:
        begun.set()
        if cleaned.is_set():
            return use.recurse(observation="waited at last")
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()
        return use.recurse()

    one, llm = bench(chosen(("Think", "a"), "Wait", ("Think", "b")), chosen("Wait"), chosen("Respond"))
    async with asyncio.TaskGroup() as group:
        running = group.create_task(one.run(actions(Wait=wait)))
        await begun.wait()
        one.interrupt.call()
    cut = running.result()
    assert (cut.end, cut.spent.loops) == (End.INTERRUPTED, 1)
    assert cleaned.is_set()
    assert [(event.kind, event.place) for event in one.events[-2:]] == [(Progress.STARTED, 2), (Progress.CUT, 2)]
    one.interrupt.clear()
    news = cut.memory.with_memory(Memory(Role.USER, "Never mind the first.", name="Ada"))
    result = await one.run(actions(Wait=wait), memory=news, internal=cut.internal, spent=cut.spent)
    assert (result.end, result.spent.loops) == (End.ANSWERED, 3)
    assert "Wait: It was cut off" in shown(llm.prompts[1])
    assert "Never mind the first." in shown(llm.prompts[1])
    assert "waited at last" in shown(llm.prompts[2])


async def test_a_perception_is_noticed_between_two_handlers_and_before_the_conclusion_and_may_come_from_a_handler() -> (
    None
):
    async def ring(use: ActionUse) -> Recurse:
        one.interrupt.call()
        return use.recurse(observation="rang")

    for after in ("Respond", "DONE"):
        one, llm = bench(chosen("Ring", after))
        result = await one.run(actions(Ring=ring))
        assert (result.end, result.why, one.concluded) == (End.INTERRUPTED, "", [])
        assert (len(llm.prompts), said(result)) == (1, "")
        assert "Respond" not in {event.action for event in one.events}
    one, _ = bench(chosen("Fail"))
    assert (await one.run(failing(Interrupted()))).end is End.INTERRUPTED


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
