"""A link to a message is followed where its author and all who read the answer may; else the link is named, and why."""

from daemon.core.sentences import SENTENCES
from tests.given import tagged
from tests.journeys.house import House, said
from tests.journeys.own_memory import files_with

CANARY = "heliotrope"
SECRET = f"the {CANARY} deal closes on Friday"
HIDDEN, GONE, LATE = SENTENCES["link_hidden"], SENTENCES["link_gone"], SENTENCES["link_late"]
FOUNDERS, GENERAL = "C0FOUNDERS", "C0GENERAL"


def address(house: House, channel: str, ts: str, *, thread: str = "") -> str:
    """The address of a message, as Slack gives it."""
    query = f"?thread_ts={thread}&cid={channel}" if thread else ""
    return f"{house.workspace.url}/archives/{channel}/p{ts.replace('.', '')}{query}"


async def secret(house: House, room: str = "founders", channel: str = FOUNDERS) -> str:
    """The address of what Ben says in a room."""
    return address(house, channel, await house.say("Ben", room, SECRET))


def refused(link: str, why: str) -> str:
    """The line that names a link that was not read."""
    return SENTENCES["file_refused"].format(names=f"`{link}`", why=why)


async def asked(house: House, person: str, link: str, room: str = "dm") -> str:
    """The answer to a question about a link; nothing private that stands there is in it, or in the prompt."""
    answer = await house.answered(person, room, f"{'' if room == 'dm' else '@soul '}what does {link} say?")
    assert CANARY not in answer
    assert CANARY not in house.last_prompt()
    return answer


async def test_a_linked_message_is_quoted_with_author_and_origin(house: House) -> None:
    link = address(house, GENERAL, await house.say("Ben", "general", "the release slips to Friday"))
    answer = await house.answered("Ada", "dm", f"what does {link} say?")
    assert 'about="Ben in #general"' in house.last_prompt()
    assert "the release slips to Friday" in house.last_prompt()
    assert "could not read" not in answer
    root = await house.say("Ben", "general", "who takes the release?")
    reply = await house.say("Chloe", "general", "I do, on Friday", thread=root)
    await house.say("Ben", "general", "thanks a lot", thread=root)
    await house.answered("Ada", "dm", address(house, GENERAL, root))
    assert all(words in house.last_prompt() for words in ("who takes the release?", "I do, on Friday", "thanks a lot"))
    await house.answered("Ben", "dm", address(house, GENERAL, reply, thread=root))
    assert "I do, on Friday" in house.last_prompt()
    assert "thanks a lot" not in house.last_prompt()
    root = await house.say("Ben", "general", "the release slips")
    await house.answered("Ada", "general", f"@soul sum up {address(house, GENERAL, root)}", thread=root)
    [quoted] = [line for line in house.last_prompt().splitlines() if 'about="Ben in #general"' in line]
    assert quoted
    links = [address(house, GENERAL, await house.say("Ben", "general", f"line {number}")) for number in range(6)]
    answer = await house.answered("Ada", "dm", " ".join(links))
    assert "line 3" in house.last_prompt()
    assert "line 4" not in house.last_prompt()
    names = ", ".join(f"`{one}`" for one in links[4:])
    why = SENTENCES["link_one_too_many"].format(most=4)
    assert answer.endswith(SENTENCES["file_refused"].format(names=names, why=why))
    link = await secret(house, "general", GENERAL)
    await house.people.fault("conversations.replies", status=429, headers={"Retry-After": "30"})
    assert (await asked(house, "Chloe", link)).endswith(refused(link, LATE))


async def test_a_member_gets_a_private_channel_quoted_in_their_dm_and_it_is_kept_nowhere(house: House) -> None:
    await house.answered("Ada", "dm", f"what is {await secret(house)} about?")
    assert SECRET in house.last_prompt()
    assert 'about="Ben in #founders"' in house.last_prompt()
    assert files_with(house.settings.home, CANARY) == []


async def test_who_is_not_in_a_private_channel_hears_the_same_as_of_one_that_is_not_there(house: House) -> None:
    there, nowhere = await secret(house), address(house, "C0NOSUCH", "1750000000.000100")
    answers = [(await asked(house, "Chloe", link)).replace(link, "LINK") for link in (there, nowhere)]
    assert answers[0] == answers[1]
    assert answers[0].endswith(refused("LINK", HIDDEN))
    link = address(house, "D0BEN", await house.say("Ben", "dm", SECRET))
    await house.settled("D0BEN", CANARY)
    assert (await asked(house, "Ada", link)).endswith(refused(link, HIDDEN))
    link = address(house, "C0RANDOM", await house.say("Ben", "random", SECRET))
    assert (await asked(house, "Ada", link)).endswith(refused(link, SENTENCES["link_not_in"]))
    link = "https://elsewhere.slack.com/archives/C0GENERAL/p1750000000000100"
    assert (await asked(house, "Ada", link)).endswith(refused(link, SENTENCES["link_elsewhere"]))
    other = link.replace("slack.com", "example.org")
    assert "could not read" not in await asked(house, "Ada", other)
    for path, why in (
        ("acme.slack.com/docs/T1/F2", "link_canvas"),
        ("acme.slack.com/lists/T1/F2", "link_list"),
        ("acme.slack.com/files/U1/F2/plan.pdf", "link_file"),
        ("app.slack.com/huddle/T1/C2", "link_huddle"),
    ):
        link = f"https://{path}"
        assert (await asked(house, "Ada", link)).endswith(refused(link, SENTENCES[why]))
    alone, root = [await house.say("Ben", "general", SECRET) for _ in range(2)]
    await house.say("Chloe", "general", "fine", thread=root)
    for ts in (alone, root):
        await house.people.post("delete", person="Ben", channel="general", ts=ts)
        link = address(house, GENERAL, ts)
        assert (await asked(house, "Ada", link)).endswith(refused(link, GONE))


async def test_no_private_channel_is_quoted_where_others_read(house: House) -> None:
    link = await secret(house)
    for kind in ("channel", "group", "mpim"):
        room = await house.people.add_channel("" if kind == "mpim" else kind, kind=kind, members=["Ada", "Ben"])
        await house.people.join("U0SOUL", str(room["id"])) if kind != "mpim" else None
        assert (await asked(house, "Ada", link, str(room["id"]))).endswith(refused(link, HIDDEN)), kind


async def test_who_leaves_while_the_soul_thinks_gets_nothing_of_it(house: House) -> None:
    link, flow = await secret(house), house.flow()
    ts = await house.say("Ada", "dm", f"what is {link} about?")
    await flow.asked.wait()
    await house.noticed(house.people.leave("Ada", "founders"))
    flow.end(tagged("A deal, I think."))
    assert said(await house.reply("D0ADA")).endswith(refused(link, HIDDEN))
    assert CANARY not in house.last_prompt()
    assert await house.final_state(ts) == "answered"


async def test_a_link_in_a_forwarded_message_is_followed_by_the_same_rule(house: House) -> None:
    link = await secret(house)
    await house.say("Ben", "general", f"see {link}")
    post = (await house.people.messages("general"))[-1]
    for person, may in (("Ada", True), ("Chloe", False)):
        room = await house.people.open_dm(person)
        await house.people.post("forward", person=person, source="general", ts=post["ts"], channel="dm", text="and?")
        answer = said(await house.reply(room))
        assert (CANARY in house.last_prompt()) is may
        assert answer.endswith(refused(link, HIDDEN)) is not may


async def test_words_of_who_was_forgotten_and_of_a_shared_channel_are_not_quoted(house: House) -> None:
    await house.answered("Ben", "general", "@soul I am leaving")
    link = address(house, GENERAL, (await house.people.messages("general"))[0]["ts"])
    await house.answered("Ben", "dm", "forget me")
    assert (await house.answered("Ben", "dm", "yes, forget me")).startswith("Forgotten:")
    assert (await asked(house, "Ada", link)).endswith(refused(link, GONE))
    link = await secret(house, "general", GENERAL)
    await house.noticed(house.people.share("general"))
    assert (await asked(house, "Ada", link)).endswith(refused(link, HIDDEN))
