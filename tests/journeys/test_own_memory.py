"""What people ask and decide about what is known of them, over Slack: no model is called for it."""

import json

from daemon.memory.knowledge.records.kinds import Topic
from tests.given import counted_anew, tagged
from tests.journeys.house import House
from tests.journeys.own_memory import KNOWN, content_of, note, shared_files
from tests.journeys.souls import write_soul
from tests.journeys.thinking import adding, expecting, thought


async def _bees(house: House) -> None:
    """Ada has spoken of her bees and her work, and both were noted."""
    await house.answered("Ada", "dm", "I keep bees on the roof")
    await house.answered("Ada", "dm", "I weave at the north loom")
    await note(house, "U0ADA", "keeps bees", "keep bees on the roof", topic=Topic.OTHER)
    await note(house, "U0ADA", "weaves at the north loom", "weave at the north loom")


async def test_what_is_known_is_listed_in_numbered_dated_groups_without_a_model(house: House) -> None:
    await _bees(house)
    calls = len(house.prompts)
    said = (await house.answered("Ada", "dm", f"  *{KNOWN.upper()}*  ")).splitlines()
    assert said[0] == "This is what I know about you:"
    assert [line.partition(" (")[0] for line in said if line[:1] == "#"] == [
        "#1. weaves at the north loom",
        "#2. keeps bees",
    ]
    assert not counted_anew("\n".join(said))
    assert said.index("*What you work on*") < said.index("*More about you*")
    assert "your messages (2)" in said[-2]
    assert "Europe/Athens" in said[-2]
    assert len(house.prompts) == calls
    told = await house.answered("Ada", "dm", "why 2?")
    assert told.splitlines()[0] == "#2. keeps bees. I know it from these words of yours:"
    assert "> keep bees on the roof" in told
    assert ", here)" in told
    assert await house.answered("Ada", "dm", "warum 9") == (
        "There is no 9 in the list that I showed you last. *what do you know about me* shows it."
    )
    assert await house.answered("Ada", "dm", "wrong 2") == (
        "Tell me what is right, like this: *wrong 2: what is right*"
    )
    await house.answered("Ada", "dm", "Wrong 2: I keep WASPS, in Berlin")
    assert "2. I keep WASPS, in Berlin" in await house.answered("Ada", "dm", KNOWN)
    assert "> I keep WASPS, in Berlin" in await house.answered("Ada", "dm", "why 2")
    rows = await house.rows("SELECT why_ended FROM facts WHERE valid_until_ms IS NOT NULL")
    assert [row["why_ended"] for row in rows] == ["wrong"]
    assert await house.answered("Ada", "dm", "forget 2") == "Forgotten: I keep WASPS, in Berlin"
    assert await house.answered("Ada", "dm", "forget 2") == (
        "There is no 2 in the list that I showed you last. *what do you know about me* shows it."
    )
    texts = [row["text"] for row in await house.rows("SELECT text FROM records WHERE kind = 'fact'")]
    assert texts == ["weaves at the north loom"]
    await house.answered("Ada", "dm", "why 1")
    assert await house.answered("Ada", "dm", "ok, forget that please 🙏") == "Forgotten: weaves at the north loom"
    await house.answered("Ada", "dm", KNOWN)
    await house.answered("Ada", "dm", "my key is under the mat")
    told = await house.answered("Ada", "dm", "Vergiss das.")
    assert told.startswith("Forgotten: your last message here")
    assert await house.rows("SELECT * FROM turns WHERE body LIKE '%under the mat%'") == []
    assert await house.rows("SELECT * FROM inbox WHERE body LIKE '%under the mat%'") == []
    assert await house.rows("SELECT * FROM outbox WHERE body LIKE '%under the mat%'") == []


async def test_forget_that_means_what_was_said_or_shown_last_in_this_talk_or_asks(house: House) -> None:
    await _bees(house)
    await house.answered("Ada", "dm", KNOWN)
    await house.answered("Ada", "dm", "why 1")
    await house.answered("Ada", "dm", "between us, Ben's contract ends in May.")
    assert (await house.answered("Ada", "dm", "forget that")).startswith("Forgotten: your last message here")
    assert await house.rows("SELECT 1 FROM turns WHERE body LIKE '%contract%'") == []
    asked = (
        "What do you mean by *that*? Nothing is forgotten yet; *what do you know about me* shows more.\n"
        "- *forget 1*: weaves at the north loom\n"
        "- *forget my last message*: I weave at the north loom"
    )
    assert await house.answered("Ada", "dm", "forget that") == asked
    await house.answered("Ada", "dm", "why 1")
    await house.answered("Ada", "dm", "help")
    assert await house.answered("Ada", "dm", "vergiss das") == asked
    await house.answered("Ada", "dm", "why 1")
    house.clock.turn(14 * 3600)
    assert await house.answered("Ada", "dm", "forget that") == asked
    await house.answered("Ada", "dm", "why 1")
    root = await house.say("Ben", "general", "anything new?")
    await house.answered("Ada", "general", "@soul the safe is behind the loom", thread=root)
    await house.answered("Ada", "general", "@soul forget that", thread=root)
    assert await house.rows("SELECT 1 FROM turns WHERE body LIKE '%safe%'") == []
    assert len(await house.rows("SELECT 1 FROM facts")) == 2
    assert await house.answered("Ada", "dm", "forget that") == "Forgotten: weaves at the north loom"
    await house.answered("Ada", "dm", "forget my last message")
    assert await house.rows("SELECT 1 FROM turns WHERE body LIKE '%north loom%'") == []


async def test_several_lines_are_forgotten_at_once_and_a_private_fact_is_for_members_alone(house: House) -> None:
    await house.answered("Ada", "founders", "@soul I plan to leave in May")
    await note(house, "U0ADA", "plans to leave", "plan to leave in May")
    assert "plans to leave" in await house.answered("Ada", "dm", KNOWN)
    await house.people.leave("Ada", "founders")
    await house.acknowledged()
    assert "plans to leave" not in await house.answered("Ada", "dm", KNOWN)
    await _bees(house)
    await house.answered("Ada", "dm", KNOWN)
    assert (await house.answered("Ada", "dm", "Forget 1, 2 and 9, please.")).splitlines() == [
        "Forgotten: weaves at the north loom",
        "Forgotten: keeps bees",
        "There is no 9 in the list that I showed you last. *what do you know about me* shows it.",
    ]
    assert [row["text"] for row in await house.rows("SELECT text FROM records WHERE kind = 'fact'")] == [
        "plans to leave"
    ]


async def test_while_paused_nothing_is_found_or_learned_and_the_words_go_with_the_visit(house: House) -> None:
    await _bees(house)
    assert (await house.answered("Ada", "dm", "pause remembering")).startswith("Paused:")
    house.model.replies.append(tagged("I see.", learned=True))
    await house.answered("Ada", "dm", "my secret is the word quincunx")
    assert await house.rows("SELECT * FROM turn_words WHERE words LIKE '%quincunx%'") == []
    assert await house.rows("SELECT * FROM jobs WHERE kind = 'models_the_visitor' AND state = 'ready'") == []
    assert "keeps bees" not in house.last_prompt().partition("my secret")[0].rpartition("<note")[2]
    house.clock.turn(house.settings.visit_silence + 60)
    await house.no_row("SELECT * FROM turns WHERE body LIKE '%quincunx%'")
    assert await house.rows("SELECT * FROM inbox WHERE body LIKE '%quincunx%'") == []
    assert len(await house.rows("SELECT * FROM turns WHERE body LIKE '%bees%' AND author = 'U0ADA'")) == 1
    await house.answered("Ada", "dm", "resume remembering")
    await house.answered("Ada", "dm", "I have a quagga")
    assert len(await house.rows("SELECT * FROM turn_words WHERE words LIKE '%quagga%'")) >= 1


async def test_the_first_direct_reply_says_once_that_the_soul_remembers(empty_house: House) -> None:
    await empty_house.start(tell_of_memory=True)
    assert "pause remembering" not in await empty_house.answered("Ada", "general", "@soul hello")
    assert "I remember what we talk about." in await empty_house.answered("Ada", "dm", "hello")
    assert "I remember" not in await empty_house.answered("Ada", "dm", "hello again")
    await empty_house.restart(tell_of_memory=True)
    assert "I remember" not in await empty_house.answered("Ada", "dm", "and now?")


async def test_the_export_is_a_file_that_holds_everything_and_is_sent_once(house: House) -> None:
    await _bees(house)
    await house.answered("Ada", "general", "@soul I sing too")
    assert await house.answered("Ada", "dm", "export my memory") == "Here is all that I keep of you, as a file."
    shared = await shared_files(house)
    assert [one["name"] for one in shared] == [shared[0]["name"]]
    made = json.loads(content_of(house, shared[0]["id"]))
    assert [one["text"] for one in made["facts"]] == ["weaves at the north loom", "keeps bees"]
    assert made["facts"][1]["quotations"][0]["text"] == "keep bees on the roof"
    assert [one["text"] for one in made["messages"] if one["speaker"] == "person"] == [
        "I keep bees on the roof",
        "I weave at the north loom",
        "I sing too",
    ]
    assert made["time_zone"] == "Europe/Athens"
    assert await house.rows("SELECT * FROM outbox WHERE file <> '' AND body <> ''") == []
    await house.people.fault("files.completeUploadExternal", mode="accept_then_drop", times=1)
    await house.answered("Ada", "dm", "exportiere meine Erinnerungen")
    await house.idle()
    assert len(await shared_files(house)) == 2
    house.model.replies += [tagged("…", calls_for="own_memory"), tagged("Here is what I know.")]
    said = await house.answered("Ada", "dm", "qu'est-ce que tu sais de moi ?")
    assert said.startswith("Here is what I know.")
    assert "2. keeps bees" in said
    assert "> keep bees on the roof" in await house.answered("Ada", "dm", "why 2")
    assert await house.rows("SELECT * FROM turns WHERE body LIKE '%2. keeps bees%'") == []
    assert await house.answered("Ada", "general", f"@soul {KNOWN}") == "I have answered you in a direct message."
    private = await house.reply("D0ADA", "This is what I know about you:")
    assert "keeps bees" in json.dumps(private)
    assert "keeps bees" not in json.dumps(await house.replies("general"))
    await house.answered("Ben", "general", "@soul Ada hates bees")
    await note(house, "U0ADA", "hates bees", "Ada hates bees", by="U0BEN")
    assert "bees" not in await house.answered("Ben", "dm", KNOWN)
    assert "hates" not in await house.answered("Ada", "dm", KNOWN)
    calls = len(house.prompts)
    await house.answered("Ada", "dm", "Ben asked me: what do you know about me?")
    assert len(house.prompts) == calls + 1


async def test_correcting_or_forgetting_a_fact_changes_what_quotes_it_and_nothing_else(empty_house: House) -> None:
    await empty_house.start(name=write_soul(empty_house.settings.home, more='mind = "cycle"\nsubprocesses = []\n'))
    first = thought(
        "Good to know: you run the pump-house rebuild. And a cat!",
        goal_updates=[adding("send Ada the tide table"), adding("ask how the pump house rebuild runs")],
        predictions=[expecting("Ada writes again", 0.8, "tomorrow", kind="reply", who="U0ADA")],
        self_model_updates={"current_state": "calm"},
        world_model_updates=[{"entity": "Ada", "attribute": "mood", "value": "glad"}],
        memory_ops=[{"type": "write_semantic", "content": "Runs the pump-house rebuild"}],
    )
    empty_house.model.replies.append(first)
    await empty_house.answered("Ada", "dm", "I run the pump-house rebuild. My cat is called Tom.")
    await note(empty_house, "U0ADA", "Ada runs the pump-house rebuild", "run the pump-house rebuild")
    await note(empty_house, "U0ADA", "has a cat called Tom", "My cat is called Tom", topic=Topic.OTHER)
    mind = (
        "SELECT goal AS w FROM goals UNION ALL SELECT words FROM mind_documents UNION ALL SELECT what FROM predictions"
    )

    async def held() -> list[str]:
        return sorted(row["w"] for row in await empty_house.rows(mind))

    before = await held()
    assert len(before) == 5
    assert len(await empty_house.rows("SELECT 1 FROM facts")) == 3, "the thought's note is the twin of what was learned"
    listed = await empty_house.answered("Ada", "dm", KNOWN)
    assert listed.count("pump-house") == 1
    await empty_house.answered("Ada", "dm", "wrong 2: My cat is called Tim")
    assert await held() == before
    assert await empty_house.answered("Ada", "dm", "forget 1") == "Forgotten: Ada runs the pump-house rebuild"
    assert await held() == [one for one in before if "pump" not in one]
    facts = await empty_house.rows("SELECT text FROM records r JOIN facts USING (id) WHERE valid_until_ms IS NULL")
    assert [row["text"] for row in facts] == ["My cat is called Tim"]
    empty_house.model.replies.append(thought("Fine."))
    await empty_house.answered("Ada", "dm", "how are things?")
    prompt = empty_house.last_prompt()
    assert "My cat is called Tom" in prompt
    assert "send Ada the tide table" in prompt
    assert "rebuild" not in prompt


async def test_what_is_noted_or_corrected_stands_in_the_talk_and_in_the_list_as_own_words(house: House) -> None:
    await house.answered("Ada", "dm", "I run the pump-house rebuild.")
    await note(house, "U0ADA", "Runs the pump-house rebuild.", "run the pump-house rebuild.")
    await house.answered("Ada", "dm", KNOWN)
    assert "1. Runs the pump-house rebuild. I know it" in await house.answered("Ada", "dm", "why 1")
    await house.answered("Ada", "dm", "wrong 1: I review the tide gate")
    await house.answered("Ada", "dm", "remember that I use tabs")
    listed = await house.answered("Ada", "dm", KNOWN)
    assert "I review the tide gate (" in listed
    assert all("in your own words)" in line for line in listed.splitlines() if line[:1].isdecimal())
    assert await house.rows("SELECT 1 FROM turns WHERE body LIKE 'wrong 1%'") == []
    await house.answered("Ada", "dm", "and now?")
    assert "Noted: I use tabs" in house.last_prompt()
    assert "Corrected: 1 now says: I review the tide gate" in house.last_prompt()


async def test_a_forgotten_fact_is_left_out_of_what_was_said(house: House) -> None:
    for person, said, fact, quote, left in (
        ("Ada", "I keep bees on the roof, and I sing.", "keeps bees", "keep bees on the roof", "I …, and I sing."),
        ("Ben", "Ich leite die Abrechnung. Danke!", "leitet die Abrechnung", "", "… Danke!"),
        ("Chloe", "My desk is blue. Bees are nice.", "keeps bees", "", "My desk is blue. Bees are nice."),
    ):
        await house.answered(person, "dm", said)
        await note(house, await house.person(person), fact, quote)
        for words in (KNOWN, "forget 1", "and now?"):
            await house.answered(person, "dm", words)
        first = await house.one("SELECT body FROM turns WHERE author = ? ORDER BY seq", await house.person(person))
        assert first["body"] == left, person
        assert (said in house.last_prompt()) == (said == left), person
