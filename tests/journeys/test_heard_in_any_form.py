"""What the soul hears of a message that isn't plain text: forwarded messages, alerts of bots, words about oneself."""

from daemon.channels.slack.installation import GROUPS_SCOPE, manifest
from tests.given import tagged
from tests.journeys.house import House, said

ALL_SCOPES: tuple[str, ...] = tuple(manifest()["oauth_config"]["scopes"]["bot"])  # type: ignore[index] # a manifest's shape


async def _platform(house: House, *members: str) -> None:
    """Give the user group `platform` these members."""
    await house.people.post("group", handle="platform", members=members)


async def test_a_forwarded_message_and_names_in_place_of_ids_are_in_the_prompt(house: House) -> None:
    await house.people.say("Ben", "general", "the release slips to Friday")
    told = (await house.people.messages("general"))[-1]
    await house.people.post("forward", person="Ada", source="general", ts=told["ts"], channel="dm", text="what now?")
    await house.reply("D0ADA")
    heard = house.last_prompt()
    assert "> [a message of Ben in #general, forwarded:]" in heard
    assert "> the release slips to Friday" in heard
    await house.people.post("forward", person="Ben", source="general", ts=told["ts"], channel="dm", text="")
    assert "the release slips to Friday" in said(await house.reply("D0BEN"))
    await house.people.open_dm("Chloe")
    gone = {"is_share": True, "author_name": "Ben", "channel_id": "C0GENERAL", "channel_name": "general", "text": ""}
    await house.people.post("say", person="Chloe", channel="dm", text="what now?", attachments=[gone])
    await house.reply("D0CHLOE")
    heard = house.last_prompt()
    assert "> [a message of Ben in #general, forwarded:]" in heard
    assert "> [nothing of it can be read here: it may have been deleted since, or hold no words]" in heard
    await house.people.say("Ada", "dm", "/me waves")
    assert "/me waves" in said(await house.reply("D0ADA", "waves"))
    await house.answered("Ada", "dm", "ask @Ben about #general, please")
    assert "ask @Ben about #general, please" in house.last_prompt()
    assert "U0BEN" not in house.last_prompt()
    house.model.replies.append(tagged("Ask <@U0BEN> in <#C0GENERAL>, not <@U0NOBODY> or <!channel>."))
    answer = await house.answered("Ada", "general", "@soul whom do I ask?")
    assert answer.replace("\u2060", "") == "Ask @Ben in #general, not <@U0NOBODY> or <!channel>."
    assert not [
        call for call in await house.posting_calls() if "<@U0" in str(call["args"]) or "<!" in str(call["args"])
    ]
    await house.people.post("channel", name="takeover", kind="group", members=["Chloe"], app=True)
    await house.answered("Chloe", "dm", "see #takeover")
    assert "takeover" not in house.last_prompt()
    await house.answered("Ada", "dm", "I work with @Ben on billing")
    body = (await house.one("SELECT body FROM turns WHERE speaker = 'person' AND body LIKE '%billing'"))["body"]
    assert body == "I work with <@U0BEN> on billing"


async def test_an_alert_is_known_to_who_is_asked_in_its_thread(house: House) -> None:
    await house.restart(allow_bots=("U0BOT",))
    await house.people.post("person", display_name="Grafana", user="U0BOT", standing="bot")
    await house.people.join("U0BOT", "general")
    alert = {"title": "Disk usage", "text": "91 %", "fields": [{"title": "host", "value": "web-1"}]}
    fields = {"person": "U0BOT", "channel": "general", "text": "", "attachments": [alert]}
    ts = (await house.people.post("say", **fields))["ts"]
    await house.answered("Ada", "general", "@soul what is this about?", thread=ts)
    assert all(f"> {line}" in house.last_prompt() for line in ("Disk usage", "91 %", "host: web-1"))


async def test_a_mention_of_a_group_that_holds_the_soul_is_answered(house: House) -> None:
    await _platform(house, "Ben", "U0SOUL")
    await house.events.until("slack.own_groups", groups=1)
    await house.say("Ada", "general", "@platform is it lunch yet?")
    assert said(await house.reply("general")) == "Echo: @platform is it lunch yet?"
    [group] = house.workspace.workspace.state.groups
    row = {"type": "rich_text_section", "elements": [{"type": "usergroup", "usergroup_id": group}]}
    table = {"type": "table", "rows": [[{"type": "rich_text", "elements": [row]}]]}
    table_of = {"person": "Ada", "channel": "general", "text": "@soul who is on duty?"}
    await house.people.post("say", **table_of, attachments=[{"blocks": [table]}])
    await house.reply("general", "on duty?")
    assert "> @platform" in house.last_prompt()
    await house.people.post("group", handle="design", members=["Ben"])
    ts = await house.say("Ada", "general", "@soul hello")
    await house.reply("general", "hello")
    aside = await house.say("Ada", "general", "@design what do you think?", thread=ts)
    assert await house.final_state(aside) == "ignored"
    await _platform(house, "Ben")
    await house.events.until("slack.own_groups", groups=0)
    aside = await house.say("Ada", "general", "@platform and you?", thread=ts)
    assert await house.final_state(aside) == "ignored"


async def test_without_the_scope_groups_are_other_people(house: House) -> None:
    await house.people.scopes(*(one for one in ALL_SCOPES if one != GROUPS_SCOPE))
    await house.restart()
    await house.events.until("slack.groups_unknown")
    await _platform(house, "Ben", "U0SOUL")
    ts = await house.say("Ada", "general", "@soul hello")
    await house.reply("general", "hello")
    aside = await house.say("Ada", "general", "@platform lunch?", thread=ts)
    assert await house.final_state(aside) == "ignored"
