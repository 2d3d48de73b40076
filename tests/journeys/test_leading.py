"""The wish leads: 300 messages in eight languages go where the model says, whatever their words look like."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from daemon.core.ports.services import Prompt
from daemon.llm.placeholder import newest_messages
from tests.given import tagged, wanting
from tests.journeys.house import House
from tests.journeys.souls import CONTACTS, POETIC, write_soul
from tests.models import Reply

LANGUAGES = tomllib.loads(Path(__file__).with_name("leading.toml").read_text(encoding="utf-8"))
LEADS = {"poem": "poetic", "scholarship": "academic", "person": "ready", "research": "problem_solving"}
OTHER_STEPS = {
    "intend": json.dumps({"when": "in 20h", "what": "it", "drop": []}),
    "choose_actions": json.dumps({"reasoning": "", "actions": [{"name": "Respond", "input": ""}]}),
    "decision": json.dumps({"choice": "hymn"}),
    "mental_query": json.dumps({"holds": False}),
}


def sayings(language: str) -> Iterator[tuple[str, str]]:
    """The messages of a language, each with what it calls for; after a mode they turn to other matters."""
    table = LANGUAGES[language]
    for thing in table["things"]:
        for wish in ("nothing", *LEADS, "reminder"):
            for line in table[wish]:
                yield line.format(thing), wish
            if wish in ("poem", "scholarship"):
                yield f"({thing})", "other_matters"


def _is_cut(call: Mapping[str, object]) -> bool:
    return "<external_dialogue" not in str(call["response"])


def pieces(answer: str) -> list[str]:
    """An answer as a model sends it, a few characters at a time."""
    return [answer[at : at + 5] for at in range(0, len(answer), 5)]


async def tess(house: House, more: str = "") -> None:
    """Start Tess, who may follow every wish and has met Ada."""
    ism = "[ism]\nenabled = true\n"
    write_soul(
        house.settings.home, more=f"subprocesses = []\n{more}{ism}{CONTACTS}", modes={"academic": "", "poetic": POETIC}
    )
    await house.start(name="tess")
    for words in ("hello", "it's me", "Ada is what they call me"):
        await house.answered("Ada", "dm", words)


def test_there_are_three_hundred_messages_in_eight_languages() -> None:
    assert len(LANGUAGES) == 8
    assert sum(1 for language in LANGUAGES for _ in sayings(language)) >= 300


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_path_is_what_the_model_says_in_every_language(empty_house: House, language: str) -> None:
    house, wishes = empty_house, dict(sayings(language))
    chosen = list(wishes.items())[::2]  # half of them are enough: what is expected follows from the state before

    async def model(prompt: Prompt) -> Reply:
        if prompt.step != "respond":
            return OTHER_STEPS.get(prompt.step, "Said aloud.")
        wish = wishes.get(newest_messages(prompt)[-1], "nothing")
        return pieces(tagged("A reply of some length. " * 20, calls_for=wish))

    house.model.default = model
    await tess(house)
    by_pattern, ordinary, cut = 0, list[int](), list[int]()
    for words, wish in chosen:
        before, prompts = await house.process(), len(house.prompts)
        steps, calls = len(await house.path()), len(house.events.named("step.completed"))
        await house.answered("Ada", "dm", words)
        led = [step for step in (await house.path())[steps:] if step.startswith("move") and ", model" in step]
        target = "engaged" if wish == "other_matters" and before != "engaged" else LEADS.get(wish, before)
        expected = [] if target == before else [f"move: {before} → {target}, model"]
        by_pattern += led != expected or any(one.step == "mental_query" for one in house.prompts[prompts:])
        made = house.events.named("step.completed")[calls:]
        if wish == "nothing":
            ordinary.append(len(made))
        ended = [int(str(one["tokens_out"])) for one in made if one["step"] == "respond" and _is_cut(one)]
        assert len(ended) == (wish == "reminder" or bool(expected)), words
        cut += ended
    reminders = await house.rows("SELECT id FROM intentions WHERE slot <> 'idle'")
    assert len(reminders) == sum(wish == "reminder" for _, wish in chosen)
    assert by_pattern == 0
    assert set(ordinary) == {1}
    assert max(cut) <= 40


# -- what a wish must not do -------------------------------------------------------------------------------------------


async def test_a_refused_wish_is_recorded_and_the_same_answer_goes_on(empty_house: House) -> None:
    await tess(empty_house)
    empty_house.model.steps["respond"].append(tagged("The very answer.", calls_for="other_matters"))
    before = len(empty_house.prompts)
    assert await empty_house.answered("Ada", "dm", "and now to something else") == "The very answer."
    assert [prompt.step for prompt in empty_house.prompts[before:]] == ["respond"]
    assert not [step for step in await empty_house.path() if "refuse" in step], "it is there already"
    empty_house.model.steps["respond"] += [wanting("person"), tagged("Ben can.", calls_for="poem")]
    assert await empty_house.answered("Ada", "dm", "whom do I ask, and in verse?") == "Ben can."
    assert (await empty_house.path())[-3:] == [
        "move: engaged → ready, model",
        "refuse: ready → poetic, model",
        "move: ready → engaged, rule",
    ]
    assert "the message was led to another process already" in await empty_house.command("mind", "trace", "D0ADA")


NO_WISHES = (
    (tagged("Hello.", calls_for="banquet"), "its word is none of those that were offered"),
    (tagged("Hello.", calls_for=""), "the element is empty"),
    (tagged("Hello.", calls_for="poem, reminder"), "its word is none of those that were offered"),
    (tagged("Hello.", monologue="They wrote <calls_for>poem</calls_for>."), "another one stands further down"),
    (tagged("Hello. <calls_for>poem</calls_for>"), "another one stands further down"),
    (
        tagged("Hello.").replace("</calls_for>", "</calls_for><calls_for>poem</calls_for>"),
        "another one stands further down",
    ),
    ("Well: " + tagged("Hello.", calls_for="poem"), "another one stands further down"),
)


async def test_a_wish_that_means_nothing_is_one_line_in_the_log_and_an_answer_all_the_same(empty_house: House) -> None:
    await tess(empty_house)
    for number, (answer, reason) in enumerate(NO_WISHES, 1):
        empty_house.model.steps["respond"].append(answer)
        before = len(empty_house.prompts)
        said = await empty_house.answered("Ada", "dm", "write <calls_for>poem</calls_for>")
        assert said.startswith("Hello."), answer
        assert await empty_house.process() == "engaged", answer
        events = empty_house.events.named("wish.ignored")
        assert len(events) == number, answer
        assert str(events[-1]["reason"]).startswith(reason), answer
        assert "banquet" not in str(events), "never in the model's words"
        assert [prompt.step for prompt in empty_house.prompts[before:]] == ["respond"], answer
    assert not [step for step in await empty_house.path() if "poetic" in step]
    for only in ("<calls_for>nothing</calls_for>", "<calls_for>poem", "<calls_for/>"):
        empty_house.model.steps["respond"].append(only)
        empty_house.model.steps["external_dialog"].append("In plain words.")
        assert await empty_house.answered("Ada", "dm", "hello again") == "In plain words.", only
        rows = await empty_house.rows("SELECT outcome FROM llm_calls ORDER BY seq DESC LIMIT 2")
        assert [row["outcome"] for row in rows] == ["ok", "malformed"], only


# -- what stays --------------------------------------------------------------------------------------------------------


async def test_what_a_message_called_for_stays_with_its_reply_and_the_same_is_offered(empty_house: House) -> None:
    await tess(empty_house)
    empty_house.model.steps["respond"].append(wanting("poem"))
    empty_house.model.steps["respond"].append(tagged("O loom!", calls_for="poem"))
    await empty_house.answered("Ada", "dm", "a hymn about the sea, please")
    empty_house.model.steps["respond"] += [wanting("other_matters"), tagged("Yes.", calls_for="other_matters")]
    await empty_house.answered("Ada", "dm", "thanks")
    await empty_house.answered("Ada", "dm", "and now?")
    talk = "\n".join(one.text for one in empty_house.prompts[-1].messages)
    assert '<calls_for>poem</calls_for>\n<external_dialogue verb="said">O loom!</external_dialogue>' in talk
    assert '<calls_for>nothing</calls_for>\n<external_dialogue verb="said">Echo: hello</external_dialogue>' in talk
    for wish in ("scholarship", "person", "reminder"):
        empty_house.model.steps["respond"].append(wanting(wish))
        await empty_house.answered("Ada", "dm", f"this calls for {wish}")
    offered = {
        "\n" + prompt.system[1].text.partition("The words:\n\n")[2]
        for prompt in empty_house.prompts
        if prompt.step == "respond"
    }
    assert len(offered) == 1
    assert all(f"\n- {wish}: " in next(iter(offered)) for wish in ("nothing", *LEADS, "reminder", "other_matters"))
