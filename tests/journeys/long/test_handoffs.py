"""A thread goes from one soul to another and back, in the local workspace: both say so, and one of them answers."""

from daemon.mind.steps.mental_query import mental_query
from tests.given import shown, tagged, wanting
from tests.journeys.handing import GIVEN, ROLF_THERE, TAKEN, TESS_THERE, goes_on, handed, talking, two, words
from tests.journeys.house import House
from tests.journeys.own_memory import files_with
from tests.journeys.problems import PROBLEM
from tests.journeys.souls import write_soul
from tests.unit.ism_parts import chosen


async def test_a_thread_goes_to_another_soul_and_back_without_a_model(empty_house: House) -> None:
    await two(empty_house)
    empty_house.model.replies += [tagged("A red kiln?"), tagged("Aye, red."), tagged("Red it is.")]
    ts = await empty_house.say("Ada", "general", "@soul my kiln is red")
    await empty_house.settled("general", "A red kiln?")
    calls = len(empty_house.prompts)
    await handed(empty_house, ts)
    assert len(empty_house.prompts) == calls, "no model is asked"
    assert (await words(empty_house))[1:] == [GIVEN, TAKEN]
    faces = [one.get("username") for one in await empty_house.people.posts_by_bot("C0GENERAL")]
    assert sorted(map(str, faces)) == ["None", "None", "Rolf"]
    await goes_on(empty_house, ts, "which colour?", "Aye, red.")
    assert ROLF_THERE in empty_house.last_prompt()
    assert "my kiln is red" in empty_house.last_prompt()
    assert TESS_THERE not in empty_house.last_prompt()
    await handed(empty_house, ts, "@soul hand this thread back to tess")
    await goes_on(empty_house, ts, "and now?", "Red it is.")
    assert TESS_THERE in empty_house.last_prompt()
    assert "Aye, red." in empty_house.last_prompt()
    assert len(await words(empty_house)) == 7


async def test_a_soul_hands_over_what_it_was_asked_to_and_says_goodbye(empty_house: House) -> None:
    await two(empty_house)
    empty_house.model.steps["respond"] += [wanting("research"), tagged("Here I am.")]
    empty_house.model.steps["choose_actions"] += [
        chosen(("Handoff", "cleo"), ("Handoff", " Rolf ")),
        chosen(("Respond", "x")),
    ]
    empty_house.model.steps["external_dialog"].append("Rolf knows the sea.")
    ts = await empty_house.say("Ada", "general", f"@soul {PROBLEM}")
    await empty_house.settled("general", TAKEN)
    assert await words(empty_house) == ["Rolf knows the sea.", GIVEN, TAKEN]
    observed = "\n".join(shown(one) for one in empty_house.prompts if one.step == "choose_actions")
    assert "There is no such soul here now. Give one of Rolf" in observed
    assert "Rolf answers here once you have" in observed
    await empty_house.say("Ada", "general", "ahoy", thread=ts)
    await empty_house.reply("general", "Here I am.")
    assert ROLF_THERE in empty_house.last_prompt()


async def test_a_soul_without_others_says_what_the_admin_can_do(empty_house: House) -> None:
    write_soul(empty_house.settings.home)
    await empty_house.start(name="tess")
    assert "SOUL_SOULS" in await empty_house.answered("Ada", "dm", "hand this thread to rolf")


async def test_direct_messages_go_to_the_other_soul_with_what_was_said_there_alone(empty_house: House) -> None:
    await two(empty_house)
    answer = await empty_house.answered("Ada", "dm", "hand this thread to cleo")
    assert answer.startswith("No soul named cleo is here now, so I go on answering. Say *hand this thread to* ")
    answer = await empty_house.answered("Ada", "dm", "Hand this thread over to Tess.")
    assert answer.startswith("I already answer here.")
    assert await empty_house.rows("SELECT 1 FROM conversations WHERE handed_to <> ''") == []
    empty_house.model.replies += [tagged("A canary."), tagged("It sings."), tagged("Who knows?")]
    await empty_house.answered("Ada", "dm", "my bird is a CANARY")
    await empty_house.say("Ada", "dm", "hand this thread to rolf")
    await empty_house.settled("D0ADA", TAKEN)
    await empty_house.answered("Ada", "dm", "what does it do?")
    assert ROLF_THERE in empty_house.last_prompt()
    assert "my bird is a CANARY" in empty_house.last_prompt()
    await empty_house.say("Ben", "dm", "hand this thread to rolf")
    await empty_house.settled("D0BEN", TAKEN)
    await empty_house.answered("Ben", "dm", "what is Ada's bird?")
    assert ROLF_THERE in empty_house.last_prompt()
    assert "CANARY" not in empty_house.last_prompt()


async def test_forget_me_reaches_what_was_handed_on(empty_house: House) -> None:
    await two(empty_house)
    ts = await talking(empty_house, "the quincunx is mine", "Aye.", "Nothing.")
    await handed(empty_house, ts)
    assert files_with(empty_house.settings.home, "quincunx") != []
    await empty_house.answered("Ada", "dm", "forget me")
    assert (await empty_house.answered("Ada", "dm", "yes, forget me")).startswith("Forgotten:")
    await empty_house.idle()
    assert files_with(empty_house.settings.home, "quincunx") == []
    row = await empty_house.one("SELECT summary FROM working_memory WHERE conversation LIKE 'rolf/%'")
    assert row["summary"] == ""


async def test_a_question_that_a_soul_parked_is_answered_to_the_one_that_got_it(empty_house: House) -> None:
    await two(empty_house)
    empty_house.model.steps["respond"].append(wanting("research"))
    empty_house.model.steps["choose_actions"] += [chosen(("Ask", "Which kiln?")), chosen(("Respond", "x"))]
    empty_house.model.steps["external_dialog"] += ["Which kiln do you mean?", "Then it is the flue."]
    empty_house.model.steps["mental_query"].append(mental_query("").placeholder.replace("false", "true"))
    ts = await empty_house.say("Ada", "general", f"@soul {PROBLEM}")
    await empty_house.settled("general", "Which kiln do you mean?")
    await handed(empty_house, ts)
    assert await empty_house.rows("SELECT 1 FROM conversations WHERE soul = 'rolf' AND process = 'problem_solving'")
    await empty_house.say("Ada", "general", "the old one", thread=ts)
    await empty_house.reply("general", "Then it is the flue.")
    solving = [shown(one) for one in empty_house.prompts if one.step == "choose_actions" and ROLF_THERE in shown(one)]
    assert len(solving) == 1
    assert PROBLEM in solving[0]


async def test_a_reply_that_streams_is_finished_before_the_thread_goes(empty_house: House) -> None:
    await two(empty_house)
    flow = empty_house.flow()
    ts = await empty_house.say("Ada", "general", "@soul tell me of kilns")
    await flow.asked.wait()
    await empty_house.say("Ada", "general", "@soul hand this thread to Rolf", thread=ts)
    await empty_house.acknowledged()
    refused = await empty_house.command("handoff", f"tess/T0LOCAL/C0GENERAL/{ts}", "rolf", fails=True)
    assert "tess is answering" in refused
    flow.end(tagged("Once there was a kiln."))
    await empty_house.settled("general", TAKEN)
    said = await words(empty_house)
    assert (said[0], said[-1], len(said)) == ("Once there was a kiln.", TAKEN, 3)
