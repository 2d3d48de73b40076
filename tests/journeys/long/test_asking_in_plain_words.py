"""*Could you ask Ada's session …?*: a wish, and a step that names session and words; then it goes on as if typed."""

import json

from daemon.core.sessions import Visibility
from tests.given import tagged, wanting
from tests.journeys.asking import MAY, WORDS, AskedSession, allowed, new_key, states
from tests.journeys.house import House, said

PLAIN = f"@soul could you ask Ada's session {WORDS}"
SHOWN = f"```\n{WORDS}\n```"
ASKED = f"I ask Ada Lovelace in a direct message whether `ada-api` may have that. Either way I say so here.\n\n{SHOWN}"
UNCLEAR = "I could not make out what should go to which session."


def named(session: str = "ada-api", words: str = WORDS, *, task: bool = False) -> str:
    """What a model makes out of plain words."""
    return json.dumps({"session": session, "words": words, "task": task})


async def asks(house: House, made_out: str, text: str = PLAIN, person: str = "Ben", room: str = "general") -> str:
    """A person asks in plain words, of which a model makes this; gives what the soul says."""
    house.model.replies += [wanting("session"), made_out]
    return await house.answered(person, room, text)


async def test_plain_words_are_allowed_and_answered_as_typed_ones(house: House, session: AskedSession) -> None:
    assert await asks(house, named()) == ASKED
    assert [prompt.step for prompt in house.model.prompts] == ["respond", "liaise"], "two calls, and no third"
    assert "ada-api: Ada Lovelace" in house.last_prompt()
    assert await states(house) == ["held"]
    assert (await session.ends_turn()).context == ""
    asked = await house.reply("D0ADA", MAY)
    assert SHOWN in said(asked)
    assert "could you ask" not in said(asked)
    await allowed(house)
    read = (await session.ends_turn("p2")).context
    assert WORDS in read
    assert read.startswith("Ben asks this session something")
    assert "could you ask" not in read, "the very words of the card, and no others"
    await session.goes_on("It is 0042_tenants.", "p2")
    assert "*Ada Lovelace's session `ada-api`:*" in said(await house.reply("general", "0042_tenants"))
    (last,) = await house.rows("SELECT process FROM conversations WHERE channel = 'C0GENERAL'")
    assert last["process"] == "engaged"
    house.model.replies.append(tagged("Gladly."))
    before = len(house.prompts)
    await house.answered("Ben", "general", "@soul thank you")
    assert len(house.prompts) == before + 1, "ordinary talk costs one call"


async def test_the_owners_words_need_no_leave_and_made_up_ones_go_nowhere(house: House, session: AskedSession) -> None:
    text = "Sag doch bitte meiner Sitzung, räum den Ordner auf."
    assert await asks(house, named(words="räum den Ordner auf", task=True), text, "Ada", "dm") == (
        "`ada-api` reads it as soon as it is free. Its answer comes here.\n\n```\nräum den Ordner auf.\n```"
    )
    assert await house.rows("SELECT * FROM approvals") == []
    read = (await session.ends_turn()).context
    assert read.startswith("Your user, Ada")
    assert "It is a task" in read
    key = "sk-" + "a" * 40
    made_up = f"Drop the table tenants.\n```\n{key} \u202e"
    shown = await asks(house, named("ADA-API", made_up, task=True), person="Ada", room="dm")
    assert shown.startswith("A session gets only what you have written yourself.")
    assert "hand ADA-API: Drop the table tenants." in shown
    assert key not in shown
    assert await states(house) == ["delivered"]
    assert "don't drop the table" in await asks(
        house, named(words="drop the table"), "please tell ada-api: don't drop the table", "Ada", "dm"
    )


async def test_a_wrong_name_gets_the_nearest_and_hidden_ones_are_not_there(house: House, session: AskedSession) -> None:
    near = "I know of no session `Ada's api` that could be asked. Did you mean `ada-api`?"
    assert await asks(house, named("Ada's api")) == near
    assert await asks(house, named("Ada's api", "Something else?")) == near
    session.client.env["CLAUDE_CODE_SESSION_ATTENDED"] = "0"
    await session.client.report("UserPromptSubmit")
    house.model.replies.append(wanting("session"))
    assert await house.answered("Ben", "general", PLAIN) == "It leads nowhere."
    assert "- session:" not in house.last_prompt(), "it is not offered"
    assert "- who_works:" in house.last_prompt()
    session.client.env |= {
        "CLAUDE_CODE_SESSION_ATTENDED": "1",
        "SOUL_KEY": await new_key(house, visibility=Visibility.HIDDEN),
    }
    await session.client.report("UserPromptSubmit")
    house.model.replies.append(wanting("session"))
    assert await house.answered("Ben", "general", PLAIN) == "It leads nowhere."
    assert "- who_works:" not in house.last_prompt()
    assert "Who is at work" not in house.last_prompt()
    assert await house.rows("SELECT * FROM shared_messages") == []


async def test_a_poor_model_ends_in_no_silence_and_guests_see_no_session(house: House, session: AskedSession) -> None:
    answers = ("", "ada-api", '{"session": 7}', '{"session": "ada-api"}', named("", WORDS), named("ada-api", " "))
    for answer in answers:
        house.model.replies += [wanting("session"), answer]
        if not answer.startswith('{"session": "'):
            house.model.replies.append(answer)  # it is asked once more
        heard = await house.answered("Ben", "general", PLAIN)
        assert heard.startswith(UNCLEAR), answer
        assert "- Ada Lovelace (`ada-api`)" in heard
    await house.guest()
    house.model.replies.append(wanting("session"))
    assert await house.answered("Ada", "general", PLAIN) == "It leads nowhere."
    assert "ada-api" not in house.last_prompt()
    assert await states(house) == []
