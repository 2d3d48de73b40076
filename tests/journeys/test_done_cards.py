"""Cards say how much was found for an answer that grows: in memory, and at links; as a count, and only where it was."""

from daemon.local_slack.model import Json
from tests.given import CLOSING, OPENING, shown
from tests.journeys.house import House

FIRST = "It is a long story, and these first words of it are more than enough to be shown at once. "
LINKED = ("Read linked messages: 1", "complete")


async def growing(house: House, person: str, room: str, text: str) -> tuple[Json, list[tuple[str, str]]]:
    """Let an answer grow and end; gives its post, and the title and state of each card that stood there meanwhile."""
    flow, _ = await house.asking(person, room, text)
    channel = "D0ADA" if room == "dm" else "C0GENERAL"
    before = len(await house.replies(channel, thread="*"))
    flow.say(OPENING, FIRST)
    draft = await house.draft(channel, "long story")
    cards = [(one["title"], one["status"]) for one in draft.get("chunks", ()) if one["type"] == "task_update"]
    flow.end("The end.", CLOSING)
    post = await house.reply(channel, count=before + 1)
    await house.idle()
    return post, cards


async def test_a_count_says_that_it_remembered_something_and_not_what_and_nothing_is_no_card(house: House) -> None:
    post, cards = await growing(house, "Ada", "dm", "what about the silver loom?")
    assert cards == []
    assert not [one for one in post.get("chunks", ()) if one["type"] != "markdown_text"]
    await house.answered("Ada", "general", "@soul the purple kiln cracks on Mondays")
    _, cards = await growing(house, "Ada", "dm", "what about the purple kiln?")
    read = [shown(one) for one in house.prompts if one.step == "respond"][-1]
    assert "cracks on Mondays" in read
    [(title, state)] = cards
    assert title.startswith("Looked up what I know: ")
    assert state == "complete"
    assert "kiln" not in title


async def test_links_that_were_read_are_counted_and_those_that_were_not_are_no_card(house: House) -> None:
    ts = await house.say("Ben", "general", "the release slips to Friday")
    secret = await house.say("Ben", "founders", "the heliotrope deal closes")
    link, hidden = (
        f"{house.workspace.url}/archives/{channel}/p{one.replace('.', '')}"
        for channel, one in (("C0GENERAL", ts), ("C0FOUNDERS", secret))
    )
    _, cards = await growing(house, "Ada", "general", f"@soul what does {hidden} say?")
    assert cards == []
    _, cards = await growing(house, "Ada", "general", f"@soul what do {link} and {hidden} say?")
    assert LINKED in cards
    await house.people.add_person("Dora", locale="de-DE", zone="Europe/Berlin")
    await house.people.join("Dora", "general")
    await house.acknowledged()
    _, cards = await growing(house, "Dora", "general", f"@soul was sagt {link} ?")
    assert ("Verlinkte Nachrichten gelesen: 1", "complete") in cards
