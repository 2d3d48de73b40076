"""Problems that wait or move on: questions and answers, the expert, a contact who can act, reminders."""

from tests.given import shown, tagged
from tests.journeys.house import House, said
from tests.journeys.problems import NO, PROBLEM, asked, buttons, goes_on, parked, press, script, solver
from tests.journeys.souls import CONTACTS
from tests.unit.ism_parts import chosen

ROOM = '[[contacts]]\nname = "the potters"\nslack = "C0FOUNDERS"\ncan = "repair kilns"\n'
ASK, RESPOND = chosen(("Ask", "which kiln")), chosen("Respond")
DAY = 86_400.0


async def _asked_back(house: House, person: str = "Ada") -> None:
    script(house, chosen(("Think", "kilns")), ASK, external_dialog="Which kiln?", internal_monologue="They CRACK.")
    assert await house.answered(person, "dm", PROBLEM) == "Which kiln?"
    assert await parked(house, f"D0{person.upper()}")


async def test_an_answer_goes_on_with_what_was_thought_and_something_else_ends_the_wait(empty_house: House) -> None:
    await solver(empty_house)
    await _asked_back(empty_house)
    await _asked_back(empty_house, "Ben")
    await _asked_back(empty_house, "Chloe")
    await empty_house.restart(name="tess")
    goes_on(empty_house)
    script(empty_house, RESPOND, enters=False, external_dialog="The big one cools too fast.")
    assert await empty_house.answered("Ada", "dm", "the big one") == "The big one cools too fast."
    assert "They CRACK." in empty_house.last_prompt()
    assert not await parked(empty_house)
    steps = [prompt.step for prompt in empty_house.prompts]
    assert steps[-3:] == ["mental_query", "choose_actions", "external_dialog"]
    goes_on(empty_house, answers=False)
    empty_house.model.steps["respond"].append(tagged("At noon."))
    assert await empty_house.answered("Ben", "dm", "when is lunch?") == "At noon."
    assert (await empty_house.path("D0BEN"))[-2:] == [
        "move: problem_solving → engaged, model",
        "stay: engaged → engaged, rule",
    ]
    assert not await parked(empty_house, "D0BEN")
    empty_house.model.steps["mental_query"].extend(["perhaps", "perhaps"])
    script(empty_house, RESPOND, enters=False, external_dialog="The small one is fine.")
    heard = await empty_house.answered("Chloe", "dm", "the small one")
    assert heard == "The small one is fine.", "where the model cannot judge it counts as the answer"


async def test_a_question_outlasts_a_reminder_and_lapses_with_the_visit(empty_house: House) -> None:
    house = empty_house
    await solver(house)
    script(house, chosen(("Remind", "in 2h: ask about the GLAZE"), ("Ask", "which")), external_dialog="Which kiln?")
    await house.answered("Ada", "dm", PROBLEM)
    house.model.steps["respond"].append(tagged("How is the GLAZE?"))
    house.clock.turn(7_300)
    await house.settled("D0ADA", "How is the GLAZE?")
    assert await parked(house)
    goes_on(house)
    script(house, RESPOND, enters=False, external_dialog="The big one cools too fast.")
    assert await house.answered("Ada", "dm", "the big one") == "The big one cools too fast."
    await _asked_back(house)
    house.clock.turn(3 * DAY)
    await house.idle()
    before = len(house.prompts)
    house.model.steps["respond"].append(tagged("Good morning, Ada."))
    assert await house.answered("Ada", "dm", "good morning") == "Good morning, Ada.", "days later it is no answer"
    assert [prompt.step for prompt in house.prompts[before:]] == ["respond"]
    assert "move: problem_solving → returning, rule" in await house.path()
    assert not await parked(house)


async def test_another_user_may_answer_if_the_gate_admits_them(empty_house: House) -> None:
    await solver(empty_house)
    script(empty_house, ASK, external_dialog="Which kiln?")
    root = await empty_house.say("Ada", "general", f"@soul {PROBLEM}")
    await empty_house.settled("general", "Which kiln?")
    await empty_house.people.join("Gus", "general")
    assert await empty_house.final_state(await empty_house.say("Gus", "general", "mine", thread=root)) == "ignored"
    assert await parked(empty_house, "C0GENERAL")
    goes_on(empty_house)
    script(empty_house, RESPOND, enters=False, external_dialog="The big one cools too fast.")
    await empty_house.say("Ben", "general", "the big one", thread=root)
    await empty_house.settled("general", "The big one cools too fast.")
    assert len(await empty_house.replies("general")) == 2
    (refusal,) = await empty_house.whispers("Gus")
    assert "I only talk with full members" in refusal


async def test_a_deleted_message_is_removed_from_the_problem_with_what_was_concluded(empty_house: House) -> None:
    await solver(empty_house)
    secret = await empty_house.say("Ada", "dm", "the kiln is SECRET")
    await empty_house.settled("D0ADA")
    script(empty_house, chosen(("Research", "kiln")), ASK, external_dialog="Which kiln?")
    assert await empty_house.answered("Ada", "dm", PROBLEM) == "Which kiln?"
    assert "SECRET" in str((await empty_house.one("SELECT process_memory FROM conversations"))["process_memory"])
    await empty_house.noticed(empty_house.people.delete("Ada", "dm", secret))
    script(empty_house, RESPOND, enters=False, external_dialog="The big one it is.")
    before = len(empty_house.prompts)
    assert await empty_house.answered("Ada", "dm", "the big one") == "The big one it is."
    assert [prompt.step for prompt in empty_house.prompts[before:]] == ["choose_actions", "external_dialog"]
    choice = shown(empty_house.prompts[before])
    assert "## Results" not in choice
    assert "the kiln is SECRET" not in choice.replace("Echo: the kiln is SECRET", "")
    remembered = chosen(("Remember", "The big kiln cools too fast"), ("Remember", " "))
    script(empty_house, remembered, RESPOND, external_dialog="It cools too fast.")
    assert await empty_house.answered("Ben", "dm", PROBLEM) == "It cools too fast."
    noted = "SELECT text, trust, person FROM records WHERE kind = 'fact'"
    assert [tuple(row) for row in await empty_house.rows(noted)] == [("The big kiln cools too fast", "inferred", "")]
    ts = (await empty_house.one("SELECT ts FROM turns WHERE author = 'U0BEN'"))["ts"]
    await empty_house.noticed(empty_house.people.delete("Ben", "D0BEN", ts))
    assert await empty_house.rows(noted) == []


async def _wants_to_hand_on(house: House, to: str, room: str = "D0ADA") -> str:
    """The soul asks to post these words elsewhere; gives the ts of the question."""
    script(house, chosen(("Escalate", to)), instruction="Ada's kiln cracks.\nPlease mend it.")
    await house.say("Ada", "dm" if room == "D0ADA" else room, PROBLEM if room == "D0ADA" else f"@soul {PROBLEM}")
    question = await asked(house, room)
    assert "```\nAda's kiln cracks.\nPlease mend it.\n```" in said(question)
    assert len(buttons(question)) == 2
    return str(question["ts"])


async def test_a_channel_gets_exactly_the_approved_words_once_and_only_where_it_is(empty_house: House) -> None:
    house = empty_house
    await solver(house, contacts=ROOM + ROOM.replace("the potters", "the glaziers").replace("C0FOUNDERS", "C0RANDOM"))
    ts = await _wants_to_hand_on(house, "The Potters please")
    assert await house.replies("founders") == []
    script(house, RESPOND, enters=False, external_dialog="They know now.")
    assert await press(house, "Ada", "D0ADA", ts) == "accepted"
    assert said(await house.reply("D0ADA", "They know now.")).endswith(
        "_(The message to the potters: on its way, word for word.)_"
    )
    await house.settled("founders", "Ada's kiln cracks.")
    await house.restart(name="tess")
    await house.idle()
    assert await house.replies("founders") == ["Ada's kiln cracks.\nPlease mend it."]
    assert [row["state"] for row in await house.rows("SELECT state FROM approvals")] == ["used"]
    key = "xoxb-123456789012-abcdefABCDEF0123"
    script(house, chosen(("Escalate", "the potters")), instruction=f"The kiln's token is {key}.")
    await house.say("Ben", "dm", PROBLEM)
    question = await asked(house, "D0BEN")
    assert key not in said(question)
    script(house, RESPOND, enters=False, external_dialog="They know now.")
    assert await press(house, "Ben", "D0BEN", str(question["ts"])) == "accepted"
    await house.reply("founders", "The kiln's token is")
    assert (await house.replies("founders"))[1:] == ["The kiln's token is [redacted]."]
    script(house, chosen(("Escalate", "the glaziers")), instruction="Please mend it.")
    await house.say("Chloe", "dm", PROBLEM)
    question = await asked(house, "D0CHLOE")
    script(house, RESPOND, enters=False, external_dialog="It did not work.")
    assert await press(house, "Chloe", "D0CHLOE", str(question["ts"])) == "accepted"
    assert said(await house.reply("D0CHLOE", "It did not work.")).endswith(
        "_(The message to the glaziers: it can't be written there just now; nothing was sent.)_"
    )


async def test_a_cross_post_that_its_asker_alone_approves_arrives_and_is_remembered(empty_house: House) -> None:
    await solver(empty_house, contacts=CONTACTS + ROOM, approvers=("U0BEN",))
    ts = await _wants_to_hand_on(empty_house, "Ben")
    script(empty_house, RESPOND, enters=False, external_dialog="He knows now.")
    assert await press(empty_house, "Ada", "D0ADA", ts) == "accepted"
    await empty_house.reply("D0ADA", "He knows now.")
    await empty_house.settled("D0BEN", "Ada's kiln cracks.")
    assert await empty_house.replies("D0BEN") == ["Ada's kiln cracks.\nPlease mend it."]
    await empty_house.answered("Ben", "dm", "what kiln?")
    assert "Please mend it." in empty_house.last_prompt()
    assert PROBLEM not in empty_house.last_prompt(), "nothing else of what Ada said"
    ts = await _wants_to_hand_on(empty_house, "the potters", "general")
    accepted = sum([await press(empty_house, person, "general", ts) == "accepted" for person in ("Ben", "Chloe")])
    print(f"not the asker: accepted={accepted}")
    assert accepted == 0
    script(empty_house, RESPOND, enters=False, external_dialog="Then not.")
    assert await press(empty_house, "Ada", "general", ts, NO) == "accepted"
    await empty_house.settled("general", "Then not.")
    assert await empty_house.replies("founders") == []
