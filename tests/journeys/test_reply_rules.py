"""The rules of a reply in a DM: code on a phone, the role's way of stating things, brevity on the alert."""

import json

import pytest

from daemon.core.perception import Audience, AudienceKind
from daemon.memory.database import open_database
from daemon.memory.knowledge.records.kinds import Qualia, Sense, Trust
from daemon.memory.knowledge.records.store import put
from tests.given import tagged
from tests.journeys.house import House, said
from tests.models import Flow

_ROLE = (
    '[roles."Senior Dev"]\nprocesses = ["greeting", "curious", "engaged"]\nepistemic_modes = ["assert", "caution"]\n'
)


@pytest.fixture
async def senior(empty_house: House) -> House:
    """A daemon with a soul that is a Senior Dev in most of its processes."""
    folder = empty_house.settings.home / "souls" / "dev"
    folder.mkdir(parents=True)
    (folder / "soul.toml").write_text(f'name = "dev"\ndisplay_name = "Dev"\n{_ROLE}')
    (folder / "soul.md").write_text("Dev is exact.")
    await empty_house.start(name="dev")
    return empty_house


async def test_the_model_is_told_what_holds_on_a_phone_and_no_word_of_its_reply_is_cut(house: House) -> None:
    code = "Run this:\n```sh\none\ntwo\nthree\nfour\nfive\n```\nIt lists them."
    house.model.replies.append(tagged(code))
    assert "five" in await house.answered("Ada", "dm", "I'm on my phone. How do I list them?")
    assert "at most three lines of code" in house.last_prompt()
    assert "on the alert" not in house.last_prompt()


async def test_a_way_of_stating_foreign_to_the_role_is_asked_for_anew_once_before_a_word_shows(senior: House) -> None:
    senior.model.replies += [
        tagged("Perhaps a canary.", stated='epistemic_mode="explore"'),
        tagged("It is the cache.", stated='epistemic_mode="assert"'),
    ]
    assert await senior.answered("Ada", "dm", "Why is it slow?") == "It is the cache."
    assert "canary" not in str(await senior.people.calls())
    assert [prompt.step for prompt in senior.prompts] == ["respond", "respond"]
    assert "stated as 'explore', which is not your part here; state it as assert or caution" in senior.last_prompt()
    assert senior.events.named("rule_broken.epistemic_mode")
    senior.model.replies += [tagged("No.", stated='epistemic_mode="explore"')] * 2 + [tagged("Yes.")]
    assert await senior.answered("Ada", "dm", "Why is it slow?") == "No."
    assert await senior.answered("Ada", "dm", "Is it?") == "Yes."
    assert len(senior.prompts) == 5, "the second one stands, and a missing mode is no fault"


async def test_a_foreign_mode_ends_the_call_at_the_opening_tag(senior: House) -> None:
    flow = Flow()
    senior.model.flows.append(flow)
    senior.model.replies.append(tagged("Surely.", stated='epistemic_mode="assert"'))
    ts = await senior.say("Ada", "dm", "Why is it slow?")
    flow.say('<calls_for>nothing</calls_for><external_dialogue verb="said" epistemic_mode="reflect">')
    post = await senior.reply("D0ADA")
    assert (post["thread_ts"], said(post)) == (ts, "Surely.")


@pytest.mark.slow
async def test_after_something_sharp_and_intense_a_brief_reply_is_asked_for(house: House) -> None:
    await house.answered("Ada", "dm", "Hello")
    conversation = (await house.one("SELECT id FROM conversations WHERE channel = 'D0ADA'"))["id"]
    soul, workspace, channel, _ = conversation.split("/")
    sense = Sense(
        soul=soul,
        workspace=workspace,
        audience=Audience(AudienceKind.DM, channel),
        channel=channel,
        text="A red alarm",
        at_ms=house.clock.now_ms(),
        trust=Trust.DOCUMENT,
        conversation=conversation,
        data_type="image",
        qualia=Qualia(texture="sharp", intensity=0.95),
    )
    async with open_database(house.settings.database_path, house.clock) as database:
        await database.write(lambda transaction: put(transaction, sense, house.clock.now_ms()))
    house.model.replies += [tagged("Shut the valve now. " * 60)] * 2
    reply = await house.answered("Ada", "dm", "What now?")
    assert reply == ("Shut the valve now. " * 60).strip(), "no word of it is cut off"
    assert "on the alert" in house.last_prompt()
    assert json.loads((await house.one("SELECT qualia FROM senses"))["qualia"])["texture"] == "sharp"
    house.clock.turn(house.settings.visit_silence + 60)
    await house.idle()
    await house.answered("Ada", "dm", "And today?")
    assert "on the alert" not in house.last_prompt(), "it was felt in another visit"
