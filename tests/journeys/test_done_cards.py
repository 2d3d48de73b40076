"""Cards say how much was found for an answer that grows: in memory, and at links; as a count, and only where it was."""

from daemon.local_slack.model import Json
from tests.given import CLOSING, OPENING, shown
from tests.journeys.house import House
from tests.journeys.problems import cards

FIRST = "It is a long story, and these first words of it are more than enough to be shown at once. "
LINKED = ("Read linked messages: 1", "complete")


async def growing(house: House, person: str, room: str, text: str) -> tuple[Json, list[tuple[str, str]]]:
    """Let an answer grow and end; gives its post, and the title and state of each card that stood there meanwhile."""
    flow, _ = await house.asking(person, room, text)
    channel = "D0ADA" if room == "dm" else "C0GENERAL"
    before = len(await house.replies(channel, thread="*"))
    flow.say(OPENING, FIRST)
    draft = await house.draft(channel, "long story")
    stood = [(one["title"], one["status"]) for one in cards(draft)]
    flow.end("The end.", CLOSING)
    post = await house.reply(channel, count=before + 1)
    await house.idle()
    return post, stood


async def test_what_was_remembered_and_read_is_counted_and_not_named_and_nothing_is_no_card(house: House) -> None:
    post, stood = await growing(house, "Ada", "dm", "what about the silver loom?")
    assert stood == []
    assert not [one for one in post.get("chunks", ()) if one["type"] != "markdown_text"]
    await house.answered("Ada", "general", "@soul the purple kiln cracks on Mondays")
    _, stood = await growing(house, "Ada", "dm", "what about the purple kiln?")
    read = [shown(one) for one in house.prompts if one.step == "respond"][-1]
    assert "cracks on Mondays" in read
    [(title, state)] = stood
    assert title.startswith("Looked up what I know: ")
    assert state == "complete"
    assert "kiln" not in title
    ts = await house.say("Ben", "general", "the release slips to Friday")
    secret = await house.say("Ben", "founders", "the heliotrope deal closes")
    link, hidden = (
        f"{house.workspace.url}/archives/{channel}/p{one.replace('.', '')}"
        for channel, one in (("C0GENERAL", ts), ("C0FOUNDERS", secret))
    )
    _, stood = await growing(house, "Ada", "general", f"@soul what does {hidden} say?")
    assert stood == []
    _, stood = await growing(house, "Ada", "general", f"@soul what do {link} and {hidden} say?")
    assert LINKED in stood
    await house.people.add_person("Dora", locale="de-DE", zone="Europe/Berlin")
    await house.people.join("Dora", "general")
    await house.acknowledged()
    _, stood = await growing(house, "Dora", "general", f"@soul was sagt {link} ?")
    assert ("Verlinkte Nachrichten gelesen: 1", "complete") in stood
