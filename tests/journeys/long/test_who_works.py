"""*Who is working on what?*: the daemon's own list, before full members alone; other words lead to it by a wish."""

from typing import Any

from msgspec.structs import replace

from daemon.core.sessions import HookEvent, KeyOwner, Visibility
from tests.given import tagged, wanting
from tests.journeys.house import House

PATH = "/home/ada/quagga"
ADA = KeyOwner("", "U0ADA", "Ada Lovelace")
BEN = KeyOwner("", "U0BEN", "Ben")


async def works(
    house: House,
    owner: KeyOwner,
    session: str,
    *,
    hook: str = "UserPromptSubmit",
    root: str = f"{PATH}/api",
    process: str = "",
) -> None:
    """A session of a person reports that it works."""
    now = house.clock.now_ms()
    process = process or f"far/boot/1/{len(session) + 1}/1"
    place: dict[str, Any] = {"process": process, "host": "far", "cwd": root, "root": root, "branch": "main"}
    event = HookEvent(f"{session}-{hook}", session, hook, now, 0, now, **place, title="TOPIC")
    await house.built.store.sessions.take(event, owner, {})


async def test_the_exact_phrases_are_answered_by_the_daemon_without_a_model(house: House) -> None:
    assert await house.answered("Ada", "dm", "sessions") == (
        "I know of no running session of Claude Code that I may show."
    )
    await works(house, ADA, "s1")
    await works(house, replace(BEN, visibility=Visibility.TOPIC), "s22", root="/srv/web", hook="Stop")
    calls = len(house.prompts)
    for asked in ("sessions", "Who is working on what?", "wer arbeitet woran"):
        said = await house.answered("Ada", "general", f"@soul {asked}")
        assert "- Ada Lovelace (`ada-api`), branch `main`: working" in said
        assert "- Ben (`ben-web`), branch `main`: idle, on “TOPIC”" in said
        assert said.count("TOPIC") == 1
        assert "quagga" not in said
    only = await house.answered("Ben", "dm", "what is Ada working on?")
    assert "ada-api" in only
    assert "ben-web" not in only
    assert "I know of no running session of" in await house.answered(
        "Ben", "dm", "What is <@U0EVE> working on right now?"
    )
    assert len(house.prompts) == calls


async def test_a_name_that_leads_to_no_session_is_answered_by_the_soul(house: House) -> None:
    await works(house, ADA, "s1")
    house.model.replies += [tagged("The spring campaign."), tagged("On thresholds.")]
    assert await house.answered("Ben", "dm", "what is marketing working on?") == "The spring campaign."
    assert await house.answered("Ben", "dm", "woran arbeitet Eve gerade?") == "On thresholds."
    assert "ada-api" in await house.answered("Ben", "dm", "what is Ada working on?")


async def test_a_hidden_session_and_one_that_is_gone_are_not_there(house: House) -> None:
    await works(house, replace(ADA, visibility=Visibility.HIDDEN), "s1")
    await works(house, BEN, "s333")
    await works(house, BEN, "s333", hook="SessionEnd")
    for person in ("Ada", "Ben"):
        assert "I know of no running session" in await house.answered(person, "dm", "who is working on what?")
        house.model.replies.append(tagged("I can't say."))
        assert await house.answered(person, "dm", "what is Ada working on?") == "I can't say."
    await house.answered("Ben", "dm", "hello")
    assert "Who is at work" not in house.last_prompt()


async def test_other_words_lead_to_the_list_and_the_model_has_it_in_mind(house: House) -> None:
    await works(house, ADA, "s1")
    house.model.replies += [wanting("who_works"), tagged("Das steht hier.")]
    said = await house.answered("Ben", "dm", "Na, was treiben die anderen denn so?")
    assert said.startswith("Das steht hier.")
    assert "- Ada Lovelace (`ada-api`), branch `main`: working" in said
    prompt = house.last_prompt()
    assert "stands in a list below your reply" in prompt
    assert "ada-api: Ada Lovelace, branch main, working" in prompt.partition("## Who is at work")[2]
    assert "TOPIC" not in prompt
    assert "quagga" not in prompt


async def test_where_a_guest_reads_none_is_shown_and_none_is_in_mind(house: House) -> None:
    await works(house, ADA, "s1")
    await house.people.add_person("Gus", standing="guest")
    await house.noticed(house.people.join("Gus", "general"))
    refused = "I show who is working on what only where all readers are full members of the workspace."
    assert await house.answered("Ada", "general", "@soul who is working on what?") == refused
    assert await house.answered("Ada", "general", "@soul what is Ada working on?") == refused
    house.model.replies.append(tagged("Not here.", calls_for="who_works"))
    assert await house.answered("Ada", "general", "@soul what are the others at?") == "Not here."
    assert "Who is at work" not in house.last_prompt()
    assert "- who_works:" not in house.last_prompt(), "it is not offered"
    assert "ada-api" in await house.answered("Ada", "dm", "sessions")
