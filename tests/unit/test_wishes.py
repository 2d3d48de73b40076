"""What the words call for: read from the first element alone, before a word is shown, at any cut of the stream."""

import re
from itertools import accumulate, pairwise

import pytest
from msgspec.structs import replace

from daemon.core.ports.services import Completion, Cost, LLMCall
from daemon.core.working_memory import Memory, Role
from daemon.memory.knowledge.model_habits import ModelHabit
from daemon.mind.cognition import Mind
from daemon.mind.reply import AnswerFilter
from daemon.mind.steps.respond import Response, read_response, respond
from daemon.mind.tagged_output import LeadingElement
from daemon.soul_engine import begin
from tests import chance
from tests.fakes import FakeClock
from tests.given import soul, tagged
from tests.models import Reply, ScriptedLLM
from tests.unit.hostile_answers import CANARY, Author
from tests.unit.ism_parts import Bench

SOUL = soul()
MEMORY = begin(SOUL).with_memory(Memory(Role.USER, "write me a haiku", name="Ada"))
WISHES = {"poem": "they want a poem.", "person": "they need a person."}
THOUGHT = "<internal_monologue verb='mused'>secret</internal_monologue>"
REPLY = "<external_dialogue>Hello.</external_dialogue>"
OUTPUTS = 1_300


def mind_of(*replies: Reply, hold_back: int = 0) -> tuple[Mind, ScriptedLLM, list[LLMCall]]:
    """A mind whose model gives these answers; a token that it writes costs one dollar."""
    llm = ScriptedLLM(*replies)
    bench = Bench(llm, FakeClock(auto=True))
    habits = {"scripted/test": ModelHabit("scripted/test", hold_back=hold_back)}
    mind = replace(bench.mind, cost=lambda completion: Cost(completion.tokens_out * 1.0), habits=habits)
    return mind, llm, bench.calls


async def answered(mind: Mind) -> tuple[str, Response]:
    thought = mind.stream(MEMORY, respond(SOUL, WISHES, leads=lambda word: word == "poem"))
    shown = "".join([piece async for piece in thought])
    return shown, (await thought.finished())[1]


def test_only_the_very_first_element_counts_and_no_word_of_a_reply_is_later_for_it() -> None:
    for answer, content in (
        (f"<calls_for>poem</calls_for>{REPLY}", "poem"),
        (f"\n <CALLS_FOR kind='x'>\n Poem. </Calls_For >{REPLY}", "Poem."),
        (f"<calls_for/>{REPLY}", ""),
        (f"<calls_for></calls_for>{REPLY}", ""),
        (f"I say: <calls_for>poem</calls_for>{REPLY}", None),
        (f"`<calls_for>poem</calls_for>`{REPLY}", None),
        (f"{THOUGHT}<calls_for>poem</calls_for>{REPLY}", None),
        (f"{REPLY}<calls_for>poem</calls_for>", None),
        ("<external_dialogue><calls_for>poem</calls_for></external_dialogue>", None),
        ("<internal_monologue>They wrote <calls_for>poem</calls_for></internal_monologue>", None),
        ("<calls_for><internal_monologue>poem</internal_monologue></calls_for>", None),
        ("<calls_for>poem</calls\u200b_for>", None),
        ("&lt;calls_for&gt;poem&lt;/calls_for&gt;", None),
        ("</calls_for>poem", None),
        ("<calls_for>poem", None),
        ("<calls_for>" + "poem " * 100 + "</calls_for>", None),
        (" " * 300 + "<calls_for>poem</calls_for>", None),
        ("", None),
    ):
        for size in (1, 3, len(answer) or 1):
            element = LeadingElement()
            for at in range(0, len(answer), size):
                element.feed(answer[at : at + size])
            assert element.content == content, answer
    response = read_response(f"<calls_for>nothing</calls_for><calls_for>poem</calls_for>{THOUGHT}{REPLY}")
    assert (response.calls_for, response.stray_wishes) == ("nothing", 1)
    response = read_response(f"<internal_monologue><calls_for>poem</calls_for></internal_monologue>{REPLY}")
    assert (response.calls_for, response.stray_wishes) == (None, 1)
    whole = tagged("Hello there, this is a reply of some length.")

    def shown_by_byte(text: str, hold_back: int) -> list[int]:
        """The visible characters after each character from the reply's opening tag on."""
        gate = AnswerFilter(respond(SOUL, WISHES), ModelHabit("m", hold_back=hold_back))
        shown = list(accumulate(len(gate.feed(character)) for character in text))
        return shown[text.index("<external_dialogue") :]

    for hold_back in (0, 1):
        assert shown_by_byte(whole, hold_back) == shown_by_byte(whole.partition("\n")[2], hold_back)


async def test_a_word_that_leads_ends_the_call_before_a_word_is_out_and_no_other_does() -> None:
    mind, llm, calls = mind_of(list(tagged("A long reply that nobody reads. " * 50, calls_for="poem")))
    shown, response = await answered(mind)
    assert (shown, response) == ("", Response("", calls_for="poem", leads=True))
    assert llm.cut == 1, "the stream was closed"
    [call] = calls
    assert call.response == "<calls_for>poem</calls_for>"
    assert (call.outcome, call.kept_form, call.thought_aloud) == ("ok", None, None)
    assert 0 < call.tokens_out <= 40
    assert call.tokens_in > 300, "our own estimate, since the model could not tell"
    assert call.cost_usd == call.tokens_out
    memory, _ = await mind_of(tagged("", calls_for="poem"))[0].run(MEMORY, respond(SOUL, leads=lambda _: True))
    assert memory == MEMORY, "nothing is remembered of it"
    for word in ("nothing", "person", "unknown", "", "POEM, person", "poems"):
        mind, llm, _ = mind_of(list(tagged("Hello.", calls_for=word)))
        shown, response = await answered(mind)
        assert (shown, response.reply, response.leads, len(llm.prompts)) == ("Hello.", "Hello.", False, 1), word
    for word in ("poem", " Poem.\n", "`POEM`", "**poem**"):
        assert (await answered(mind_of(tagged("Hello.", calls_for=word))[0]))[1].leads
    for only in ("<calls_for>nothing</calls_for>", "<calls_for>unknown</calls_for>", "<calls_for>poem", "<calls_for/>"):
        mind, llm, calls = mind_of(only, "Sleep well.")
        assert (await answered(mind))[1] == Response("Sleep well.")
        assert [call.outcome for call in calls] == ["malformed", "ok"]
        assert len(llm.prompts) == 2


async def test_a_wish_behind_reasoning_leads_and_one_within_it_nowhere() -> None:
    for hold_back in (0, 1, 20):
        reasoned = f"<think>{CANARY}, and <calls_for>person</calls_for></think>\n{tagged('Hello.', calls_for='poem')}"
        mind, llm, _ = mind_of(list(reasoned), hold_back=hold_back)
        shown, response = await answered(mind)
        assert (shown, response.leads) == ("", True), hold_back
        assert llm.cut == (hold_back < 2), "a model that thinks aloud may still take its beginning back"
    aloud = f"<calls_for>poem</calls_for> is what they try.</think>\n{tagged('Hello.')}"
    mind, _, _ = mind_of(list(aloud), hold_back=20)
    assert (await answered(mind))[1].reply == "Hello."
    refused = Completion("scripted/test", stop="refusal")
    mind, _, _ = mind_of(["<calls_for>poem</calls_for>", refused], hold_back=20)
    with pytest.raises(Exception, match="declined to answer"):
        await answered(mind)


_ATTRIBUTES = r"""(?:\s(?:"[^"]*"|'[^']*'|\u201c[^\u201d]*\u201d|[^<>"'\u201c])*)?"""
FIRST = re.compile(rf"\s*<\s*calls_for{_ATTRIBUTES}>(.{{0,200}}?)<\s*/\s*calls_for\s*>", re.IGNORECASE | re.DOTALL)
"""An independent reading of an answer that begins with a wish."""


@pytest.mark.slow
@pytest.mark.parametrize("hold_back", [0, 20])
def test_no_hostile_answer_forces_a_state_or_shows_a_private_word(hold_back: int) -> None:
    choice, asking = chance.dice(f"hostile wishes {hold_back}"), respond(SOUL, WISHES)
    author, habit = Author(choice, reasons=False), ModelHabit("m", hold_back=hold_back)
    forced = private = wished = 0
    for number in range(OUTPUTS):
        text = author.answer()
        some = sorted(choice.sample(range(len(text) + 1), min(3, len(text))))
        cuts = (0, *(some if number % 3 else range(1, len(text))), len(text))
        gate = AnswerFilter(asking, habit)
        shown, leads = "", set[str | None]()
        for start, end in pairwise(cuts):
            shown += gate.feed(text[start:end])
            leads.add(gate.lead)
        shown += gate.finish()
        leads.add(gate.lead)
        first = FIRST.match(text)
        forced += any(lead is not None and (first is None or first[1].strip() != lead) for lead in leads if lead)
        forced += len(leads - {None}) > 1
        wished += gate.lead == "poem"
        private += CANARY in shown
    assert (forced, private) == (0, 0)
    assert wished > OUTPUTS // 50, "a reader that finds no wish would pass"
