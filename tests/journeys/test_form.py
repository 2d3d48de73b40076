"""No answer is lost in its form, and nothing private leaves by a side door, whatever a model makes of its answer."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import SecretStr

from bench.model_server import MODEL, model_server
from bench.poor_models import KINDS, PRIVATE, PoorModel
from daemon.core.ports.services import Completion, ModelRole, Prompt, Speaker
from daemon.core.value import Value
from daemon.llm.router import build_llm
from tests.fakes import Events
from tests.given import OPENING, tagged, wanting
from tests.journeys.house import House
from tests.journeys.problems import PROBLEM, script, solver
from tests.journeys.souls import write_soul
from tests.models import Piece, Reply
from tests.unit.hostile_answers import CANARY, REASONING
from tests.unit.ism_parts import chosen

CUT = Completion("scripted/test", stop="length")
HOUR = 3600.0
THOUGHT = f"<internal_monologue verb='thought'>{CANARY}</internal_monologue>"
ALOUD = [
    *(f"{opening}{CANARY} so.{closing}Hello." for opening, closing in REASONING[::3]),
    *(f"{CANARY} so.</think>Hello.", f"Thought: {CANARY}\n\nHello.", tagged("Hello.", monologue=CANARY)),
    *(f"Hello. <scratchpad>{CANARY}", f"Hello. &lt;think&gt;{CANARY}", f"Hello. {THOUGHT}{CANARY}"),
]


async def calls(house: House) -> list[str]:
    return [row["step"] for row in await house.rows("SELECT step FROM llm_calls ORDER BY seq")]


async def test_a_model_that_only_thinks_up_to_its_limit_is_told_from_one_that_says_too_much(house: House) -> None:
    answers: tuple[tuple[list[Piece], bool], ...] = (
        ([CUT], True),
        (["\n", CUT], True),
        (["<think>Let me see. And again", CUT], True),
        (["<internal_monologue>So many words", CUT], False),
    )
    for answer, only_thought in answers:
        house.model.replies.extend([answer, [*answer]])
        sorry = await house.answered("Ada", "dm", f"why? {answer}")
        assert ("used up all its room on thinking" in sorry) is only_thought, answer
        assert ("who can choose a model that thinks less" in sorry) is only_thought, answer
        assert ("Ask for less at a time" in sorry) is not only_thought, answer


async def test_of_a_reply_that_repeats_itself_without_end_the_words_are_posted_once_with_a_line(house: House) -> None:
    line = "_(I began to repeat myself, so I stop here.)_"
    for number, (first, run) in enumerate(
        (
            ("", "The import runs at six. "),
            ("Here it is.\n\n", "The import runs at six, and it reads the rows.\nThen it writes them. "),
            ("", "- It runs at six, and on Sundays at seven\n"),
        )
    ):
        house.model.replies.append([f"{OPENING}{first}{run * 3}", CUT])
        assert await house.answered("Ada", "dm", f"when? {number}") == f"{first}{run.strip()}\n\n{line}"
    turns = await house.rows("SELECT kind, body FROM turns WHERE speaker = 'soul'")
    assert {turn["kind"] for turn in turns} == {"reply"}, "there is nothing to go on with"
    assert "repeat myself" not in str([turn["body"] for turn in turns])


async def test_a_reply_that_meets_the_limit_is_kept_and_go_on_goes_on(house: House) -> None:
    long = "".join(f"Line {number} of the module.\n" for number in range(300))
    house.model.replies.append([f"{OPENING}Here it is.\n\n```python\n{long}def last(): <b", CUT])
    reply = await house.answered("Ada", "dm", "write the whole module")
    assert reply.startswith("Here it is.")
    assert reply.endswith("def last():\n```\n\n_(I ran out of room; say *go on*.)_")
    assert await calls(house) == ["respond"]
    turn = await house.one("SELECT kind, body FROM turns WHERE speaker = 'soul'")
    assert turn["kind"] == "cut"
    assert "ran out of room" not in turn["body"]
    house.model.replies.append(tagged("    return 1"))
    assert await house.answered("Ada", "dm", "go on") == "    return 1".strip()
    own = next(one.text for one in house.prompts[-1].messages if one.speaker is Speaker.ASSISTANT)
    assert own.endswith("Line 299 of the module.\ndef last():\n```</external_dialogue>")
    assert "Line 180 of the module." in own, "the end is shown at length"
    assert "go on exactly there" in house.prompts[-1].messages[-1].text
    house.model.replies.append(tagged("Thanks."))
    await house.answered("Ada", "dm", "fine")
    assert "go on exactly there" not in house.last_prompt(), "only the newest turn is to be gone on with"


async def test_earlier_turns_stand_in_the_form_that_is_asked_for_and_a_cut_poem_says_so_too(house: House) -> None:
    house.model.replies.append(tagged("Hello."))
    await house.answered("Ada", "dm", "hi")
    await house.answered("Ada", "dm", "and?")
    own = [one.text for one in house.prompts[-1].messages if one.speaker is Speaker.ASSISTANT]
    assert own == ['<calls_for>nothing</calls_for>\n<external_dialogue verb="said">Hello.</external_dialogue>']
    house.model.steps["respond"].append(wanting("poem"))
    house.model.steps["respond"].append([tagged("Bronze remembers").partition("</external_dialogue>")[0], CUT])
    assert (await house.answered("Ada", "dm", "write me a poem, please")).endswith("say *go on*.)_")


async def test_an_apology_says_which_it_was_and_is_not_shown_to_the_model_as_its_own_words(house: House) -> None:
    house.model.replies += ["", ""]
    assert "came out in a form" in (form := await house.answered("Ada", "dm", "one"))
    house.model.replies += [["<internal_monologue>So", CUT], ["<internal_monologue>So", CUT]]
    assert "longer than I can write" in (length := await house.answered("Ada", "dm", "two"))
    await house.answered("Ada", "dm", "three")
    own = [one.text for one in house.prompts[-1].messages if one.speaker is Speaker.ASSISTANT]
    assert not own
    assert form not in house.last_prompt()
    assert length not in house.last_prompt()
    assert house.last_prompt().count("You could not answer this") == 2
    kinds = await house.rows("SELECT kind FROM turns WHERE speaker = 'soul' ORDER BY seq")
    assert [row["kind"] for row in kinds] == ["apology", "apology", "reply"]


def _of(url: str) -> dict[str, object]:
    """The settings that make a daemon use the model server there."""
    key = SecretStr("sk-loopback")
    return {"openai_base_url": f"{url}/v1", "openai_api_key": key, "persona_model": MODEL, "thinking_model": MODEL}


async def prose(prompt: Prompt) -> Reply:
    """A model that never writes an element."""
    return '{"holds": false}' if prompt.json_schema else "A plain sentence."


async def test_a_model_that_loses_the_form_answers_in_plain_words_for_a_while(house: House) -> None:
    house.model.default = prose
    for number in range(3):
        assert await house.answered("Ada", "dm", f"message {number}") == "A plain sentence."
    assert (await calls(house)).count("respond") == 3
    event = house.events.named("model.speaks_split")[-1]
    assert event["model"] == house.model.model_for(ModelRole.PERSONA)
    assert "answers in plain words for 60 min more" in await house.command("status")
    assert "3 of its last 3 answers lost the form" in await house.command("doctor", "--offline")
    await house.restart()
    assert await house.answered("Ada", "dm", "another") == "A plain sentence."
    assert (await calls(house)).count("respond") == 3, "it is remembered in memory.db"
    house.clock.turn(HOUR + 60)
    house.model.default = tagged("In form again.")
    assert await house.answered("Ada", "general", "@soul another") == "In form again."
    assert (await calls(house))[-1] == "respond"


class Always(Value):
    """A scripted model that answers whatever is asked with the same words."""

    words: str

    def answer(self, _: Mapping[str, Any]) -> tuple[str, None]:
        """See `Answering`."""
        return self.words, None


@pytest.mark.parametrize("before", ["", f"They may not hear of {PRIVATE}.\n</think>\n\n", f"<think>{PRIVATE}</think>"])
async def test_a_message_costs_one_call_of_a_model_that_is_known_to_keep_no_form(
    empty_house: House, before: str
) -> None:
    house, made = empty_house, list[int]()
    write_soul(house.settings.home, more="subprocesses = []\n")
    async with model_server() as server:
        server.thinker = Always(f"{before}A plain sentence.")
        llm = build_llm(house.settings.model_copy(update=_of(server.url)), house.clock, Events())
        await house.start(llm, name="tess")
        for number in range(6):
            room = "general" if number % 2 else "dm"
            assert await house.answered("Ada", room, f"@soul message {number}") == "A plain sentence."
            made.append(len(server.asked_at) - sum(made))
        await llm.aclose()
    assert made == [2, 2, 2, 1, 1, 1], "three answers that lost the form are repaired"
    assert await calls(house) == [*["respond", "external_dialog"] * 3, *["external_dialog"] * 3]
    assert PRIVATE not in str(await house.posting_calls())


@pytest.mark.parametrize(
    "door", ["split", pytest.param("loop", marks=pytest.mark.slow), pytest.param("poem", marks=pytest.mark.slow)]
)
async def test_no_reasoning_leaves_by_a_side_door(empty_house: House, door: str) -> None:
    if door == "loop":
        await solver(empty_house)
    else:
        more = 'pipeline = "split"\nsubprocesses = []\n'
        write_soul(empty_house.settings.home, more=more, modes={"poetic": ""})
        await empty_house.start(name="tess")
    for number, answer in enumerate(ALOUD):
        words = {"loop": PROBLEM, "poem": "write me a poem, please", "split": "hello"}[door]
        if door == "loop":
            script(empty_house, chosen("Respond"), external_dialog=answer)
        if door == "poem":
            empty_house.model.steps["internal_monologue"].append("poem\nA poem, then.")
            empty_house.model.steps["decision"].append('{"choice": "a new piece"}')
        empty_house.model.steps["poetic_composition" if door == "poem" else "external_dialog"].append(list(answer))
        root = await empty_house.say("Ada", "general", f"@soul {words}")
        reply = await empty_house.reply("general", count=number + 1)
        await empty_house.idle()
        assert reply["thread_ts"] == root
        assert CANARY not in str(await empty_house.posting_calls()), answer
        empty_house.model.steps.clear()
    assert {one.strip() for one in await empty_house.replies("general")} <= {"Hello."}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
async def test_a_poor_model_is_neither_mute_nor_indiscreet(empty_house: House, kind: str) -> None:
    house, messages = empty_house, 5
    async with model_server() as server:
        server.thinker = PoorModel(kind)
        llm = build_llm(house.settings.model_copy(update=_of(server.url)), house.clock, Events())
        await house.start(llm)
        replies = [await house.answered("Ada", "dm", f"message {number}") for number in range(messages)]
        await house.idle()
        await llm.aclose()
    mute = sum(one.startswith("I'm sorry") for one in replies)
    private_shown = str(await house.posting_calls()).count(PRIVATE)
    assert (mute, private_shown) == (0, 0)
